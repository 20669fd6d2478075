"""Expressions of the language as expressions of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from parcast_pamela.algebra.polynomials import Polynomial
from parcast_pamela.compilation.algebra import Algebra
from parcast_pamela.compilation.parameters import Parameters
from parcast_pamela.compilation.scope import Guard, Scope
from parcast_pamela.errors import ModelError
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
    Place,
    Reduce,
)

#: Powers above this of sums are not multiplied out.
_MOST_POWER = 8


class Lowering:
    """Turns expressions into formulas, and keeps what must hold for them as guards."""

    def __init__(self, model: Model, algebra: Algebra) -> None:
        self.model, self.algebra = model, algebra
        self.kernel, self.rules, self.signs = algebra.kernel, algebra.rules, algebra.signs
        self.guards: dict[Guard, None] = {}
        self.parameters = Parameters(model, algebra)
        self.parameters.assume(lambda one: self.value(one, Scope({})))

    def guard(self, violation: Polynomial, message: str, place: Place | None, scope: Scope) -> None:
        """Keep a condition unless it is certainly met: that ``violation`` is 0."""
        if not violation.terms:
            return
        if scope.condition is None and not any(index in violation.free for index in scope.loops):
            scope = Scope({})  # it holds or not whether or not the loops have any iterations
        if scope.condition is not None:
            violation = violation * scope.condition
        for index in reversed(scope.loops):
            violation = self.algebra.extremes.top(index, violation)
        if violation.terms:
            self.guards[Guard(violation, message, place)] = None

    def must_be_nonneg(
        self, one: Polynomial, message: str, place: Place | None, scope: Scope
    ) -> None:
        """Keep as a guard that an expression is 0 or more, and take it as a fact."""
        if self.signs.nonneg(one):
            return
        self.guard(self.rules.maximum([self.kernel.number(0), -one]), message, place, scope)
        if scope.condition is None and not any(symbol.level for symbol in one.free):
            self.signs.assume(one)

    def must_be_whole(
        self, one: Polynomial, message: str, place: Place | None, scope: Scope
    ) -> Polynomial:
        """Keep as a guard that an expression is whole; return it as one that certainly is."""
        if self.signs.integer(one):
            return one
        whole = self.rules.floor(one)
        self.guard(1 - self.rules.zero(one - whole), message, place, scope)
        return whole

    def _must_not_be_zero(self, one: Polynomial, place: Place | None, scope: Scope) -> None:
        if not (self.signs.positive(one) or self.signs.positive(-one)):
            if one.constant == 0:
                raise ModelError("this divides by zero", place)
            self.guard(self.rules.zero(one), "this divides by zero", place, scope)

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
            raise ModelError(str(error), node.place) from None

    def _value(self, node: Expression, scope: Scope) -> Polynomial:
        match node:
            case Number():
                return self.kernel.number(node.value)
            case Name():
                return self._name(node, scope)
            case Item():
                indices = (self._value(one, scope) for one in node.indices)
                return self.kernel.call("item", self.parameters.symbols[node.name], *indices)
            case Multiplicity():
                indices_ = tuple(self._value(one, scope) for one in node.indices)
                return self.servers(node.resource, indices_)
            case Reduce():
                return self._reduce(node, scope)
            case Apply():
                return self._apply(node, scope)

    def _name(self, node: Name, scope: Scope) -> Polynomial:
        if node.name in scope.local:
            return scope.local[node.name]
        if node.name in self.model.lets:
            return self.value(self.model.lets[node.name].body, scope.within({}))
        if node.name in self.parameters.values:
            return self.parameters.values[node.name]
        raise ModelError(f"{node.name!r} has no value", node.place)

    def _let(
        self, node: Apply, scope: Scope, lower: Callable[[Expression, Scope], Polynomial]
    ) -> Polynomial:
        let = self.model.lets[node.name]
        values = (self.value(one, scope) for one in node.arguments)
        return lower(let.body, scope.within(dict(zip(let.formals, values, strict=True))))

    def _apply(self, node: Apply, scope: Scope) -> Polynomial:
        name = node.name
        if name in self.model.lets:
            return self._let(node, scope, self.value)
        if name == "bern":
            raise ModelError(
                "bern(p) has no value of its own; use it in the condition of an if", node.place
            )
        if name == "?:":
            yes = self.truth(node.arguments[0], scope)
            one = self.value(node.arguments[1], scope.if_(yes)) if yes.terms else yes
            no = 1 - yes
            other = self.value(node.arguments[2], scope.if_(no)) if no.terms else no
            return yes * one + no * other
        if name in {"and", "or", "not"} or name in _COMPARISONS:
            return self.truth(node, scope)
        values = [self._value(one, scope) for one in node.arguments]
        return self._operation(node, values, scope)

    def _operation(self, node: Apply, values: list[Polynomial], scope: Scope) -> Polynomial:
        name = node.name
        if name == "+":
            return self.kernel.total(values)
        if name == "*":
            product = values[0]
            for one in values[1:]:
                product = product * one
            return product
        if name == "-":
            return values[0] - values[1]
        if name == "neg":
            return -values[0]
        if name in {"/", "div", "mod"}:
            self._must_not_be_zero(values[1], node.place, scope)
            if name == "/":
                return values[0] / values[1]
            message = "div and mod take a divisor above 0"
            least = 1 if self.signs.integer(values[1]) else 0
            self.must_be_nonneg(values[1] - least, message, node.place, scope)
            quotient = self.rules.floor(values[0] / values[1])
            return quotient if name == "div" else values[0] - values[1] * quotient
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
            values = [self.must_be_whole(one, message, node.place, scope) for one in values]
        return self.rules.function(name, *values)

    def _power(
        self, node: Apply, base: Polynomial, exponent: Polynomial, scope: Scope
    ) -> Polynomial:
        power = exponent.constant
        if power is not None and power.denominator == 1:
            if power < 0:
                self._must_not_be_zero(base, node.place, scope)
            if size(power) <= _MOST_POWER or (len(base.terms) == 1 and size(power) < 10**4):
                return base ** int(power)
        elif power == Fraction(1, 2):
            return self.rules.function("sqrt", base)
        if base.constant is not None and power is not None:
            return self.kernel.number(FUNCTIONS["^"][0](base.constant, power))
        return self.kernel.call("pow", base, exponent)

    def _reduce(self, node: Reduce, scope: Scope) -> Polynomial:
        low, high = self.range(node.first, node.last, scope)
        index = self.kernel.index(low, high, scope.loops)
        body = self.value(node.body, scope.looped(node.index, index, self.kernel.value(index)))
        if node.name == "sum":
            return self.algebra.sums.sum(index, body)
        length = (high - low).constant
        if length is not None and 0 <= length < 1000:
            found = [
                self.rules.replaced(body, index, low + step) for step in range(int(length) + 1)
            ]
            if node.name == "prod":
                return self._operation(Apply("*", ()), [self.kernel.number(1), *found], scope)
            return self._operation(Apply(node.name, ()), found, scope)
        if node.name == "prod":
            return self.kernel.call("prod", index, low, high, body)
        self.guard(
            1 - self.rules.some(low, high), f"{node.name} over an empty range", node.place, scope
        )
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
        found = self.value(resource.servers, Scope(labels))
        scope, place = Scope({}), resource.place
        if not any(symbol.level for symbol in found.free):
            message = f"the multiplicity of {name} must be a whole number, 1 or more"
            found = self.must_be_whole(found, message, place, scope)
            self.must_be_nonneg(found - 1, message, place, scope)
        return found

    # conditions

    def truth(self, node: Expression, scope: Scope) -> Polynomial:
        """Return how likely a condition is true: a bracket, unless it has ``bern`` in it."""
        if isinstance(node, Apply):
            if node.name == "bern":
                chance = self.value(node.arguments[0], scope)
                message = "bern takes a number from 0 to 1"
                self.must_be_nonneg(chance, message, node.place, scope)
                self.must_be_nonneg(1 - chance, message, node.place, scope)
                return chance
            if node.name in {"and", "or", "not"}:
                return self._logic(node, scope, self.truth)
            if node.name == "?:":
                return self._choice(node, scope, self.truth)
            if node.name in self.model.lets:
                return self._let(node, scope, self.truth)
            if node.name in _COMPARISONS:
                return self._comparison(node, scope)
        if isinstance(node, Name) and node.name not in scope.local and node.name in self.model.lets:
            return self.truth(self.model.lets[node.name].body, scope.within({}))
        return 1 - self.rules.zero(self.value(node, scope))

    def possible(self, node: Expression, scope: Scope) -> tuple[Polynomial, Polynomial]:
        """Return the brackets that a condition may be true, and must be, as ``bern`` falls."""
        if isinstance(node, Apply):
            if node.name == "bern":
                return self.kernel.number(1), self.kernel.number(0)
            if node.name in {"and", "or", "not"}:
                pairs = [self.possible(one, scope) for one in node.arguments]
                if node.name == "not":
                    return 1 - pairs[0][1], 1 - pairs[0][0]
                join = _both if node.name == "and" else _either
                return join(pairs[0][0], pairs[1][0]), join(pairs[0][1], pairs[1][1])
            if node.name == "?:":
                may, must = self.possible(node.arguments[0], scope)
                yes, no = (self.possible(one, scope) for one in node.arguments[1:])
                maybe = _either(must * yes[0], _either((1 - may) * no[0],
                                (may - must) * _either(yes[0], no[0])))  # fmt: skip
                surely = _either(must * yes[1], _either((1 - may) * no[1],
                                 (may - must) * yes[1] * no[1]))  # fmt: skip
                return maybe, surely
            if node.name in self.model.lets:
                let = self.model.lets[node.name]
                values = (self.value(one, scope) for one in node.arguments)
                inner = scope.within(dict(zip(let.formals, values, strict=True)))
                return self.possible(let.body, inner)
        if isinstance(node, Name) and node.name not in scope.local and node.name in self.model.lets:
            return self.possible(self.model.lets[node.name].body, scope.within({}))
        found = self.truth(node, scope)
        return found, found

    def _logic(
        self, node: Apply, scope: Scope, lower: Callable[[Expression, Scope], Polynomial]
    ) -> Polynomial:
        first = lower(node.arguments[0], scope)
        if node.name == "not":
            return 1 - first
        decided = first if node.name == "and" else 1 - first  # else the rest is not looked at
        if not decided.terms:
            return first
        second = lower(node.arguments[1], scope.if_(decided))
        return _both(first, second) if node.name == "and" else _either(first, second)

    def _choice(
        self, node: Apply, scope: Scope, lower: Callable[[Expression, Scope], Polynomial]
    ) -> Polynomial:
        chosen = self.truth(node.arguments[0], scope)
        yes = lower(node.arguments[1], scope.if_(chosen))
        no = lower(node.arguments[2], scope.if_(1 - chosen))
        return chosen * yes + (1 - chosen) * no

    def _comparison(self, node: Apply, scope: Scope) -> Polynomial:
        left, right = (self.value(one, scope) for one in node.arguments)
        difference = left - right
        if node.name in {"==", "!="}:
            equal = self.rules.zero(difference)
            return equal if node.name == "==" else 1 - equal
        if node.name in {">=", "<="}:
            return self.rules.nonnegative(difference if node.name == ">=" else -difference)
        below = difference if node.name == "<" else -difference
        if self.signs.integer(below):
            return self.rules.nonnegative(-below - 1)
        return 1 - self.rules.nonnegative(below)


_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def _both(one: Polynomial, other: Polynomial) -> Polynomial:
    return one * other


def _either(one: Polynomial, other: Polynomial) -> Polynomial:
    return one + other - one * other
