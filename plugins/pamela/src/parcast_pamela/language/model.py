"""A linked model: everything that its files declare, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from parcast.errors import did_you_mean
from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.tree import (
    Assume,
    Call,
    Declaration,
    Equation,
    Extern,
    Import,
    Let,
    Parameter,
    Resource,
    Root,
    walk,
)

#: Imports nested deeper than this go round in a circle.
_DEEPEST = 20


@attrs.frozen
class Model:
    """A model of a program, its machine substituted."""

    name: str
    parameters: Mapping[str, Parameter]
    lets: Mapping[str, Let]
    resources: Mapping[str, Resource]
    equations: Mapping[str, Equation]
    assumptions: tuple[Assume, ...]
    externs: Mapping[str, Extern]
    root: str
    warnings: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Return the equations that a machine must supply and none does."""
        return [name for name in self.externs if name not in self.equations]

    def assumption_lines(self) -> list[str]:
        """Return what the model assumes, as it is written there."""
        positions = [a.position for a in self.assumptions if a.position]
        lines = (position.line_text.removeprefix("assume ") for position in positions)
        return list(dict.fromkeys(lines))


#: Given a path as written and the position of its import, what is declared there.
Load = Callable[[Import], tuple[list[Declaration], list[str], "Load"]]


def link(
    name: str, declared: Iterable[Declaration], load: Load, warnings: Iterable[str] = ()
) -> Model:
    """Return the model of a file's declarations and of all that it imports.

    What a file declares itself wins over what it imports; of two imports the later wins.

    Raises
    ------
    ModelError
        If a name is declared twice in a file, an import cannot be read or goes in a circle,
        or the root is missing.
    """
    all_warnings = list(warnings)
    merged = _merged(list(declared), load, all_warnings, 0)
    by_kind: dict[type, dict[str, Any]] = {
        kind: {
            declaration.name: declaration for declaration in merged if isinstance(declaration, kind)
        }
        for kind in (Parameter, Let, Resource, Equation, Extern)
    }
    roots = [declaration for declaration in merged if isinstance(declaration, Root)]
    equations = by_kind[Equation]
    return Model(
        name=name,
        parameters=by_kind[Parameter],
        lets=by_kind[Let],
        resources=by_kind[Resource],
        equations=equations,
        assumptions=tuple(declaration for declaration in merged if isinstance(declaration, Assume)),
        externs=by_kind[Extern],
        root=_root(equations, roots),
        warnings=tuple(all_warnings),
    )


def refuse_same_names(program: Iterable[Declaration], machine: Import, load: Load) -> None:
    """Refuse a machine that means another thing by a name of the program's own file.

    What both import, such as an interface, is meant by both, and so is what the program leaves
    to the machine.

    Raises
    ------
    ModelError
        With the position in the program.
    """
    declared, _, _ = load(machine)
    of_machine = {
        _key(declaration): declaration
        for declaration in declared
        if not isinstance(declaration, Import | Assume | Root)
    }
    for declaration in program:
        if (
            isinstance(declaration, Import | Extern | Assume | Root)
            or _key(declaration) not in of_machine
        ):
            continue
        raise ModelError(
            f"{_key(declaration)[1]!r} is declared by the program and by the machine "
            f"{machine.path!r}; rename one",
            declaration.position,
        )


def _merged(
    declared: list[Declaration], load: Load, warnings: list[str], level: int
) -> list[Declaration]:
    """Return a file's declarations after those of its imports, each name once."""
    inherited: dict[Any, Declaration] = {}
    for declaration in declared:
        if isinstance(declaration, Import):
            if level >= _DEEPEST:
                raise ModelError(
                    f"importing {declaration.path!r} goes round in a circle", declaration.position
                )
            inner, new_warnings, below = load(declaration)
            warnings += new_warnings
            imported = _merged(inner, below, warnings, level + 1)
            if declaration.prefix:
                from parcast_pamela.language.renaming import with_prefix

                imported = with_prefix(imported, declaration.prefix)
            for foreign in imported:
                _refuse_other_formals(inherited.get(_key(foreign)), foreign, declaration)
                inherited[_key(foreign)] = foreign
    local: dict[Any, Declaration] = {}
    for declaration in declared:
        if isinstance(declaration, Import):
            continue
        key = _key(declaration)
        if key in local:
            raise ModelError(f"{key[1]!r} is declared twice; remove one", declaration.position)
        local[key] = declaration
    return list({**inherited, **local}.values())


def _refuse_other_formals(before: Declaration | None, after: Declaration, imported: Import) -> None:
    if isinstance(before, Extern) and isinstance(after, Extern):
        counts = len(before.formals), len(after.formals)
        if counts[0] != counts[1]:
            raise ModelError(
                f"{after.name!r} has {counts[0]} arguments for the program, and {counts[1]} for "
                f"{imported.path!r}, which is made for another interface",
                imported.position,
            )


def _key(declaration: Declaration) -> tuple[str, Any]:
    if isinstance(declaration, Assume):
        return "assume", id(declaration)
    if isinstance(declaration, Root):
        return "root", "root"
    kind = {Extern: "extern", Equation: "equation", Resource: "resource"}.get(
        type(declaration), "value"
    )
    return kind, getattr(declaration, "name", "")


def _root(equations: Mapping[str, Equation], roots: list[Root]) -> str:
    if roots:
        name = roots[-1].name
        if name not in equations:
            hint = did_you_mean(name, equations)
            raise ModelError(f"the root {name!r} is no equation.{hint}", roots[-1].position)
        return name
    if "L" in equations:
        return "L"
    called = {
        node.name
        for equation in equations.values()
        for node in walk(equation.body)
        if isinstance(node, Call)
    }
    free = [name for name in equations if name not in called and not equations[name].formals]
    if len(free) == 1:
        return free[0]
    return ""
