"""What can be said of a model before any number is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from parcast.errors import did_you_mean
from parcast_pamela.errors import ModelError
from parcast_pamela.language.functions import FUNCTIONS, SPECIAL
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import (
    INFINITE,
    Apply,
    Call,
    Equation,
    Extern,
    Item,
    Loop,
    Multiplicity,
    Name,
    Place,
    Reduce,
    Use,
    children,
    walk,
)
from parcast_pamela.language.types import check_types


def check(model: Model) -> Model:
    """Return the model with warnings added.

    Raises
    ------
    ModelError
        If a name is unknown, the number of arguments or indices is wrong, equations or lets
        are recursive, units do not fit, or there is no root.
    """
    if not model.root:
        names = ", ".join(model.equations) or "none"
        raise ModelError(
            f"{model.name} has no root; name an equation L or write 'root NAME' "
            f"(equations: {names})"
        )
    if formals := model.equations[model.root].formals:
        raise ModelError(
            f"the root {model.root!r} takes {len(formals)} arguments; it must take none",
            model.equations[model.root].place,
        )
    _Names(model).check()
    _refuse_circles(model.equations, Call, "equation")
    _refuse_circles(model.lets, (Apply, Name), "let")
    check_types(model)
    return attrs.evolve(model, warnings=(*model.warnings, *_unused(model)))


class _Names:
    """Checks that every name is known, and takes as many arguments as it is given."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.equations: dict[str, Extern | Equation] = {**model.externs, **model.equations}

    def check(self) -> None:
        model = self.model
        for name, extern in model.externs.items():
            found = model.equations.get(name)
            if found and len(found.formals) != len(extern.formals):
                raise ModelError(
                    f"{name!r} takes {len(found.formals)} arguments here, but "
                    f"{len(extern.formals)} where it is extern",
                    found.place,
                )
        for parameter in model.parameters.values():
            for span in parameter.dims:
                self._check(span, set())
            for one in (parameter.low, parameter.high, parameter.default):
                if one is not None:
                    self._check(one, set())
        for resource in model.resources.values():
            for span in resource.dims:
                self._check(span, set())
            if resource.servers is not None and resource.servers is not INFINITE:
                self._check(resource.servers, {one for one in resource.labels if one})
        for assumption in model.assumptions:
            self._check(assumption.condition, set())
        for let in model.lets.values():
            self._check(let.body, set(let.formals))
        for equation in model.equations.values():
            self._check(equation.body, set(equation.formals))

    def _check(self, node: Any, local: set[str]) -> None:
        match node:
            case Name():
                self._name(node, local)
            case Item():
                self._item(node, local)
            case Apply():
                self._apply(node)
            case Use() | Multiplicity():
                self._resource(node)
            case Call():
                self._call(node)
        if isinstance(node, Loop | Reduce):
            for part in (node.first, node.last, getattr(node, "step", None)):
                if part is not None:
                    self._check(part, local)
            self._check(node.body, local | {node.index})
        else:
            for child in children(node):
                self._check(child, local)

    def _name(self, node: Name, local: set[str]) -> None:
        if node.name in local:
            return
        if node.name in self.model.lets:
            _count(node.name, len(self.model.lets[node.name].formals), 0, node.place)
        elif node.name in self.model.parameters:
            if self.model.parameters[node.name].dims:
                raise ModelError(f"{node.name!r} is an array; give an index", node.place)
        elif node.name in self.model.resources:
            raise ModelError(f"{node.name!r} is a resource; it has no value", node.place)
        else:
            known = [*local, *self.model.lets, *self.model.parameters]
            hint = did_you_mean(node.name, known)
            raise ModelError(f"nothing is called {node.name!r}.{hint}", node.place)

    def _item(self, node: Item, local: set[str]) -> None:
        found = self.model.parameters.get(node.name)
        if found is None or node.name in local:
            arrays = [name for name, one in self.model.parameters.items() if one.dims]
            hint = did_you_mean(node.name, arrays)
            raise ModelError(f"{node.name!r} is no array parameter.{hint}", node.place)
        _count(node.name, len(found.dims), len(node.indices), node.place, "index", "indices")

    def _apply(self, node: Apply) -> None:
        given = len(node.arguments)
        if node.name in self.model.lets:
            _count(node.name, len(self.model.lets[node.name].formals), given, node.place)
        elif node.name in SPECIAL:
            _count(node.name, SPECIAL[node.name], given, node.place)
        elif node.name in FUNCTIONS:
            _, fewest, most = FUNCTIONS[node.name]
            if given < fewest or (most is not None and given > most):
                _count(node.name, fewest, given, node.place)
        elif node.name in self.equations:
            raise ModelError(f"{node.name!r} is a process; it has no value", node.place)
        else:
            hint = did_you_mean(node.name, [*self.model.lets, *FUNCTIONS])
            raise ModelError(f"no function or let is called {node.name!r}.{hint}", node.place)

    def _resource(self, node: Use | Multiplicity) -> None:
        found = self.model.resources.get(node.resource)
        if found is None:
            hint = did_you_mean(node.resource, self.model.resources)
            raise ModelError(f"no resource is called {node.resource!r}.{hint}", node.place)
        _count(node.resource, len(found.dims), len(node.indices), node.place, "index", "indices")

    def _call(self, node: Call) -> None:
        found = self.equations.get(node.name)
        if found is None:
            hint = did_you_mean(node.name, self.equations)
            raise ModelError(f"no equation is called {node.name!r}.{hint}", node.place)
        _count(node.name, len(found.formals), len(node.arguments), node.place)


def _count(
    name: str,
    wanted: int,
    given: int,
    place: Place | None,
    one: str = "argument",
    many: str = "arguments",
) -> None:
    if wanted != given:
        word = one if wanted == 1 else many
        raise ModelError(f"{name!r} takes {wanted} {word}, not {given}", place)


def _refuse_circles(named: Any, kind: Any, word: str) -> None:
    """Refuse equations or lets that call themselves, directly or through others."""
    calls = {
        name: [
            node
            for node in walk(one.body)
            if isinstance(node, kind) and node.name in named and node.name not in one.formals
        ]
        for name, one in named.items()
    }
    done: set[str] = set()
    for start in named:
        path: list[str] = []
        stack: list[tuple[str, Any]] = [(start, iter(calls[start]))]
        while stack:
            name, rest = stack[-1]
            if len(path) < len(stack):
                path.append(name)
            node = next((one for one in rest if one.name not in done), None)
            if node is None:
                done.add(name)
                stack.pop()
                path.pop()
            elif node.name in path:
                circle = " -> ".join([*path[path.index(node.name) :], node.name])
                raise ModelError(f"the {word}s are recursive: {circle}", node.place)
            else:
                stack.append((node.name, iter(calls[node.name])))
                if len(stack) > 60:
                    raise ModelError(f"the {word}s call each other more than 60 deep", node.place)


def _unused(model: Model) -> Iterable[str]:
    used = {
        node.resource
        for one in model.equations.values()
        for node in walk(one.body)
        if isinstance(node, Use)
    }
    for name, resource in model.resources.items():
        if name not in used:
            yield f"{resource.place}: resource {name!r} is never used"
