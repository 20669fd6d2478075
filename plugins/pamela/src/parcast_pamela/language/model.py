"""A linked model: everything that its files declare, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from parcast.errors import did_you_mean
from parcast_pamela.errors import ModelError
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


#: Given a path as written and the place of its import, what is declared there.
Load = Callable[[Import], tuple[list[Declaration], list[str], "Load"]]


def link(
    name: str,
    declared: Iterable[Declaration],
    load: Load,
    warnings: Iterable[str] = (),
) -> Model:
    """Return the model of a file's declarations and of all that it imports.

    What a file declares itself wins over what it imports; of two imports the later wins.

    Raises
    ------
    ModelError
        If a name is declared twice in a file, an import cannot be read or goes in a circle,
        or the root is missing.
    """
    said = list(warnings)
    merged = _merged(list(declared), load, said, 0)
    by_kind: dict[type, dict[str, Any]] = {
        kind: {one.name: one for one in merged if isinstance(one, kind)}
        for kind in (Parameter, Let, Resource, Equation, Extern)
    }
    roots = [one for one in merged if isinstance(one, Root)]
    equations = by_kind[Equation]
    return Model(
        name=name,
        parameters=by_kind[Parameter],
        lets=by_kind[Let],
        resources=by_kind[Resource],
        equations=equations,
        assumptions=tuple(one for one in merged if isinstance(one, Assume)),
        externs=by_kind[Extern],
        root=_root(equations, roots),
        warnings=tuple(said),
    )


def refuse_same_names(program: Iterable[Declaration], machine: Import, load: Load) -> None:
    """Refuse a machine that means another thing by a name of the program's own file.

    What both import, such as an interface, is meant by both, and so is what the program leaves
    to the machine.

    Raises
    ------
    ModelError
        With the place in the program.
    """
    declared, _, _ = load(machine)
    own = {_key(one): one for one in declared if not isinstance(one, Import | Assume | Root)}
    for one in program:
        if isinstance(one, Import | Extern | Assume | Root) or _key(one) not in own:
            continue
        raise ModelError(
            f"{_key(one)[1]!r} is declared by the program and by the machine {machine.path!r}; "
            "rename one",
            one.place,
        )


def _merged(
    declared: list[Declaration], load: Load, warnings: list[str], level: int
) -> list[Declaration]:
    """Return a file's declarations after those of its imports, each name once."""
    found: dict[Any, Declaration] = {}
    for one in declared:
        if isinstance(one, Import):
            if level >= _DEEPEST:
                raise ModelError(f"importing {one.path!r} goes round in a circle", one.place)
            inner, said, below = load(one)
            warnings += said
            imported = _merged(inner, below, warnings, level + 1)
            if one.prefix:
                from parcast_pamela.language.renaming import prefixed

                imported = prefixed(imported, one.prefix)
            for other in imported:
                _refuse_other_formals(found.get(_key(other)), other, one)
                found[_key(other)] = other
    own: dict[Any, Declaration] = {}
    for one in declared:
        if isinstance(one, Import):
            continue
        key = _key(one)
        if key in own:
            raise ModelError(f"{key[1]!r} is declared twice; remove one", one.place)
        own[key] = one
    return list({**found, **own}.values())


def _refuse_other_formals(before: Declaration | None, after: Declaration, imported: Import) -> None:
    if isinstance(before, Extern) and isinstance(after, Extern):
        counts = len(before.formals), len(after.formals)
        if counts[0] != counts[1]:
            raise ModelError(
                f"{after.name!r} has {counts[0]} arguments for the program, and {counts[1]} for "
                f"{imported.path!r}, which is made for another interface",
                imported.place,
            )


def _key(one: Declaration) -> tuple[str, Any]:
    if isinstance(one, Assume):
        return "assume", id(one)
    if isinstance(one, Root):
        return "root", "root"
    kind = {Extern: "extern", Equation: "equation", Resource: "resource"}.get(type(one), "value")
    return kind, getattr(one, "name", "")


def _root(equations: Mapping[str, Equation], roots: list[Root]) -> str:
    if roots:
        name = roots[-1].name
        if name not in equations:
            hint = did_you_mean(name, equations)
            raise ModelError(f"the root {name!r} is no equation.{hint}", roots[-1].place)
        return name
    if "L" in equations:
        return "L"
    called = {
        node.name for one in equations.values() for node in walk(one.body) if isinstance(node, Call)
    }
    free = [name for name in equations if name not in called and not equations[name].formals]
    if len(free) == 1:
        return free[0]
    return ""
