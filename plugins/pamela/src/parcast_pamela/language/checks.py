"""What can be said of a model before any number is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from parcast.errors import did_you_mean
from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.functions import FUNCTIONS, SPECIAL
from parcast_pamela.language.model import Model
from parcast_pamela.language.positions import Position
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
            model.equations[model.root].position,
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
            supplied = model.equations.get(name)
            if supplied and len(supplied.formals) != len(extern.formals):
                raise ModelError(
                    f"{name!r} takes {len(supplied.formals)} arguments here, but "
                    f"{len(extern.formals)} where it is extern",
                    supplied.position,
                )
        for parameter in model.parameters.values():
            for span in parameter.dims:
                self._check(span, set())
            for expression in (parameter.low, parameter.high, parameter.default):
                if expression is not None:
                    self._check(expression, set())
        for resource in model.resources.values():
            for span in resource.dims:
                self._check(span, set())
            if resource.servers is not None and resource.servers is not INFINITE:
                self._check(resource.servers, {label for label in resource.labels if label})
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
            _count(node.name, len(self.model.lets[node.name].formals), 0, node.position)
        elif node.name in self.model.parameters:
            if self.model.parameters[node.name].dims:
                raise ModelError(f"{node.name!r} is an array; give an index", node.position)
        elif node.name in self.model.resources:
            raise ModelError(f"{node.name!r} is a resource; it has no value", node.position)
        else:
            candidates = [*local, *self.model.lets, *self.model.parameters]
            hint = did_you_mean(node.name, candidates)
            raise ModelError(f"nothing is called {node.name!r}.{hint}", node.position)

    def _item(self, node: Item, local: set[str]) -> None:
        array = self.model.parameters.get(node.name)
        if array is None or node.name in local:
            arrays = [name for name, parameter in self.model.parameters.items() if parameter.dims]
            hint = did_you_mean(node.name, arrays)
            raise ModelError(f"{node.name!r} is no array parameter.{hint}", node.position)
        _count(node.name, len(array.dims), len(node.indices), node.position, "index", "indices")

    def _apply(self, node: Apply) -> None:
        count = len(node.arguments)
        if node.name in self.model.lets:
            _count(node.name, len(self.model.lets[node.name].formals), count, node.position)
        elif node.name in SPECIAL:
            _count(node.name, SPECIAL[node.name], count, node.position)
        elif node.name in FUNCTIONS:
            _, minimum, maximum = FUNCTIONS[node.name]
            if count < minimum or (maximum is not None and count > maximum):
                _count(node.name, minimum, count, node.position)
        elif node.name in self.equations:
            raise ModelError(f"{node.name!r} is a process; it has no value", node.position)
        else:
            hint = did_you_mean(node.name, [*self.model.lets, *FUNCTIONS])
            raise ModelError(f"no function or let is called {node.name!r}.{hint}", node.position)

    def _resource(self, node: Use | Multiplicity) -> None:
        resource = self.model.resources.get(node.resource)
        if resource is None:
            hint = did_you_mean(node.resource, self.model.resources)
            raise ModelError(f"no resource is called {node.resource!r}.{hint}", node.position)
        _count(
            node.resource, len(resource.dims), len(node.indices), node.position, "index", "indices"
        )

    def _call(self, node: Call) -> None:
        equation = self.equations.get(node.name)
        if equation is None:
            hint = did_you_mean(node.name, self.equations)
            raise ModelError(f"no equation is called {node.name!r}.{hint}", node.position)
        _count(node.name, len(equation.formals), len(node.arguments), node.position)


def _count(
    name: str,
    expected: int,
    actual: int,
    position: Position | None,
    singular: str = "argument",
    plural: str = "arguments",
) -> None:
    if expected != actual:
        word = singular if expected == 1 else plural
        raise ModelError(f"{name!r} takes {expected} {word}, not {actual}", position)


def _refuse_circles(definitions: Any, kind: Any, word: str) -> None:
    """Refuse equations or lets that call themselves, directly or through others."""
    calls = {
        name: [
            node
            for node in walk(definition.body)
            if isinstance(node, kind)
            and node.name in definitions
            and node.name not in definition.formals
        ]
        for name, definition in definitions.items()
    }
    finished: set[str] = set()
    for start in definitions:
        path: list[str] = []
        stack: list[tuple[str, Any]] = [(start, iter(calls[start]))]
        while stack:
            name, pending = stack[-1]
            if len(path) < len(stack):
                path.append(name)
            node = next((call for call in pending if call.name not in finished), None)
            if node is None:
                finished.add(name)
                stack.pop()
                path.pop()
            elif node.name in path:
                circle = " -> ".join([*path[path.index(node.name) :], node.name])
                raise ModelError(f"the {word}s are recursive: {circle}", node.position)
            else:
                stack.append((node.name, iter(calls[node.name])))
                if len(stack) > 60:
                    raise ModelError(
                        f"the {word}s call each other more than 60 deep", node.position
                    )


def _unused(model: Model) -> Iterable[str]:
    used = {
        node.resource
        for equation in model.equations.values()
        for node in walk(equation.body)
        if isinstance(node, Use)
    }
    for name, resource in model.resources.items():
        if name not in used:
            yield f"{resource.position}: resource {name!r} is never used"
