"""Lets of a model as formulas, each made once for its arguments and where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from parcast_pamela.algebra.polynomials import Polynomial
from parcast_pamela.compilation.scope import Scope
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import Apply, Expression, Name

T = TypeVar("T")


class Lets:
    """The lets of a model; ``argument`` makes the formula of an argument."""

    def __init__(self, model: Model, argument: Callable[[Expression, Scope], Polynomial]) -> None:
        self.model, self.argument = model, argument
        self._formulas: dict[object, Any] = {}

    def names(self, node: Expression, scope: Scope) -> bool:
        """Return whether an expression is a let, by its name or with arguments."""
        name = node.name if isinstance(node, Apply | Name) else ""
        local = isinstance(node, Name) and name in scope.local
        return name in self.model.lets and not local

    def value(self, node: Any, scope: Scope, lower: Callable[[Expression, Scope], T]) -> T:
        """Return the body of a let for its arguments, as ``lower`` turns it into a formula."""
        let = self.model.lets[node.name]
        values = tuple(
            self.argument(expression, scope) for expression in getattr(node, "arguments", ())
        )
        key = lower, node.name, values, scope.loops, scope.condition
        if key not in self._formulas:
            local = dict(zip(let.formals, values, strict=True))
            self._formulas[key] = lower(let.body, scope.within(local))
        return self._formulas[key]  # type: ignore[no-any-return]
