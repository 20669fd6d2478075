"""Expressions of the language as expressions of the kernel."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import TypeVar

from parcast_pamela.algebra.polynomials import Polynomial
from parcast_pamela.compilation.algebra import Algebra
from parcast_pamela.compilation.conditions import COMPARISONS, Conditions
from parcast_pamela.compilation.guards import Guards
from parcast_pamela.compilation.lets import Lets
from parcast_pamela.compilation.parameters import Parameters
from parcast_pamela.compilation.scope import Scope
from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.functions import FUNCTIONS, ArithmeticRefusedError, size
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import (
    INFINITE,
    Apply,
    Expression,
    Item,
    Multiplicity,
    Name,
    Number,
    Reduce,
)

#: Powers above this of sums are not multiplied out.
_MOST_POWER = 8

#: Operations of the kernel; ``neg`` alone takes one argument
_PLAIN: Mapping[str, Callable[[Polynomial, Polynomial], Polynomial]] = {
    "+": operator.add, "*": operator.mul, "-": operator.sub, "neg": operator.sub,
}  # fmt: skip

T = TypeVar("T")


class Lowering:
    """Turns expressions into formulas, and keeps what must hold for them as guards."""

    def __init__(self, model: Model, algebra: Algebra) -> None:
        self.model, self.algebra = model, algebra
        self.kernel, self.rules, self.signs = algebra.kernel, algebra.rules, algebra.signs
        self.guards = Guards(algebra)
        self.lets = Lets(model, self.value)
        self.conditions = Conditions(algebra, self.guards, self.lets, self.value)
        self.parameters = Parameters(model, algebra)
        self.parameters.assume(lambda expression: self.value(expression, Scope({})))

    def value(self, node: Expression, scope: Scope) -> Polynomial:
        """Return the formula of an expression.

        Raises
        ------
        ModelError
            If it cannot have a value, such as ``bern`` outside a condition.
        """
        try:
            return self._value(node, scope)
        except ArithmeticRefusedError as error:
            raise ModelError(str(error), node.position) from None

    def _value(self, node: Expression, scope: Scope) -> Polynomial:
        match node:
            case Number():
                return self.kernel.number(node.value)
            case Name():
                return self._name(node, scope)
            case Item():
                return self._item(node, scope)
            case Multiplicity():
                indices_ = tuple(self._value(index, scope) for index in node.indices)
                return self.servers(node.resource, indices_)
            case Reduce():
                return self._reduce(node, scope)
            case Apply():
                return self._apply(node, scope)

    def _name(self, node: Name, scope: Scope) -> Polynomial:
        if node.name in scope.local:
            return scope.local[node.name]
        if node.name in self.model.lets:
            return self.lets.value(node, scope, self.value)
        if node.name in self.parameters.values:
            return self.parameters.values[node.name]
        raise ModelError(f"{node.name!r} has no value", node.position)

    def _item(self, node: Item, scope: Scope) -> Polynomial:
        indices = [self._value(index, scope) for index in node.indices]
        if scope.condition is not None:
            for axis, span in enumerate(self.model.parameters[node.name].dims):
                low, high = self.range(span.first, span.last, Scope({}))
                if not (self.signs.nonneg(indices[axis] - low)
                        and self.signs.nonneg(high - indices[axis])):  # fmt: skip
                    indices[axis] = self.guards.total(indices[axis], low, scope)
        return self.kernel.call("item", self.parameters.symbols[node.name], *indices)

    def _apply(self, node: Apply, scope: Scope) -> Polynomial:
        name = node.name
        if name in self.model.lets:
            return self.lets.value(node, scope, self.value)
        if name == "bern":
            raise ModelError(
                "bern(p) has no value of its own; use it in the condition of an if", node.position
            )
        if name == "?:":
            return self.conditions.choice(node, scope, self.value)
        if name in {"and", "or", "not"} or name in COMPARISONS:
            return self.conditions.truth(node, scope)
        values = [self._value(argument, scope) for argument in node.arguments]
        return self._operation(node, values, scope)

    def _operation(self, node: Apply, values: list[Polynomial], scope: Scope) -> Polynomial:
        name = node.name
        if name in _PLAIN:
            return reduce(_PLAIN[name], values) if len(values) > 1 else -values[0]
        if name == "/":
            return values[0] / self.guards.divisor(values[1], node.position, scope)
        if name in {"div", "mod"}:
            return self._whole_quotient(node, values, scope)
        if name == "^":
            return self._power(node, values[0], values[1], scope)
        if name in {"floor", "ceil"}:
            return self.rules.floor(values[0]) if name == "floor" else self.rules.ceil(values[0])
        if name in {"max", "min"}:
            return self.rules.maximum(values) if name == "max" else self.rules.minimum(values)
        if name == "abs":
            return self.rules.maximum([values[0], -values[0]])
        if name in {"gcd", "lcm"}:
            message = f"{name} takes whole numbers"
            values = [self.guards.whole(value, message, node.position, scope) for value in values]
        elif name in {"log", "log2", "sqrt"} and not self.signs.positive(values[0]):
            values = [self.guards.total(values[0], 1, scope)]
        return self.rules.function(name, *values)

    def _whole_quotient(self, node: Apply, values: list[Polynomial], scope: Scope) -> Polynomial:
        """Return ``div``, or ``mod``."""
        over, stated = values
        under = self.guards.divisor(stated, node.position, scope)
        whole = self.signs.integer(stated)
        message = "div and mod take a divisor above 0"
        self.guards.nonneg(stated - int(whole), message, node.position, scope)
        if whole and scope.condition is not None:
            under = self.rules.maximum([self.kernel.number(1), stated])
        quotient = self.rules.floor(over / under)
        return quotient if node.name == "div" else over - stated * quotient

    def _power(
        self, node: Apply, base: Polynomial, exponent: Polynomial, scope: Scope
    ) -> Polynomial:
        power = exponent.constant
        if power is not None and power.denominator == 1:
            if power < 0:
                base = self.guards.divisor(base, node.position, scope)
            if size(power) <= _MOST_POWER or (len(base.terms) == 1 and size(power) < 10**4):
                return base ** int(power)
        elif power == Fraction(1, 2):
            return self.rules.function("sqrt", base)
        if base.constant is not None and power is not None:
            return self.kernel.number(FUNCTIONS["^"][0](base.constant, power))
        return self.kernel.call("pow", self.guards.total(base, 1, scope), exponent)

    def _reduce(self, node: Reduce, scope: Scope) -> Polynomial:
        low, high = self.range(node.first, node.last, scope)
        index = self.kernel.index(low, high, scope.loops)
        body = self.value(node.body, scope.looped(node.index, index, self.kernel.value(index)))
        if node.name == "sum":
            return self.algebra.sums.sum(index, body)
        length = (high - low).constant
        if length is not None and 0 <= length < 1000:
            terms = [
                self.rules.replaced(body, index, low + step) for step in range(int(length) + 1)
            ]
            if node.name == "prod":
                return self._operation(Apply("*", ()), [self.kernel.number(1), *terms], scope)
            return self._operation(Apply(node.name, ()), terms, scope)
        if node.name == "prod":
            return self.kernel.call("prod", index, low, high, body)
        empty = 1 - self.rules.not_empty(low, high)
        self.guards.require(empty, f"{node.name} over an empty range", node.position, scope)
        sign = 1 if node.name == "max" else -1
        return sign * self.kernel.call("most", index, low, high, sign * body)

    def range(
        self, first: Expression, last: Expression, scope: Scope
    ) -> tuple[Polynomial, Polynomial]:
        """Return the first and last whole number of a range."""
        return self.rules.ceil(self.value(first, scope)), self.rules.floor(self.value(last, scope))

    def servers(self, name: str, indices: tuple[Polynomial, ...]) -> Polynomial:
        """Return the multiplicity of a resource; 0 stands for no limit."""
        resource = self.model.resources[name]
        if resource.servers is INFINITE:
            return self.kernel.number(0)
        if resource.servers is None:
            return self.kernel.number(1)
        labels = {
            label: value
            for label, value in zip(resource.labels, indices, strict=True)
            if label is not None
        }
        servers = self.value(resource.servers, Scope(labels))
        scope, position = Scope({}), resource.position
        if not any(symbol.level for symbol in servers.free):
            message = f"the multiplicity of {name} must be a whole number, 1 or more"
            servers = self.guards.whole(servers, message, position, scope)
            self.guards.nonneg(servers - 1, message, position, scope)
        return servers
