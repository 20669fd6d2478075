"""Conditions as brackets, and as the chances that ``bern`` gives them."""

from __future__ import annotations

from collections.abc import Callable

from parcast_pamela.algebra.polynomials import Polynomial
from parcast_pamela.compilation.algebra import Algebra
from parcast_pamela.compilation.guards import Guards
from parcast_pamela.compilation.lets import Lets
from parcast_pamela.compilation.scope import Scope
from parcast_pamela.language.tree import Apply, Expression

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


class Conditions:
    """Turns conditions into formulas; ``value`` makes the formulas of what they compare."""

    def __init__(
        self,
        algebra: Algebra,
        guards: Guards,
        lets: Lets,
        value: Callable[[Expression, Scope], Polynomial],
    ) -> None:
        self.kernel, self.rules, self.signs = algebra.kernel, algebra.rules, algebra.signs
        self.guards, self.lets, self.value = guards, lets, value

    def truth(self, node: Expression, scope: Scope) -> Polynomial:
        """Return how likely a condition is true: a bracket, unless it has ``bern`` in it."""
        if isinstance(node, Apply):
            if node.name == "bern":
                chance = self.value(node.arguments[0], scope)
                message = "bern takes a number from 0 to 1"
                self.guards.nonneg(chance, message, node.position, scope)
                self.guards.nonneg(1 - chance, message, node.position, scope)
                return chance
            if node.name in {"and", "or", "not"}:
                return self._logic(node, scope)
            if node.name == "?:":
                return self.choice(node, scope, self.truth)
            if node.name in COMPARISONS:
                return self._comparison(node, scope)
        if self.lets.names(node, scope):
            return self.lets.value(node, scope, self.truth)
        return 1 - self.rules.zero(self.value(node, scope))

    def possible(self, node: Expression, scope: Scope) -> tuple[Polynomial, Polynomial]:
        """Return the brackets that a condition may be true, and must be, as ``bern`` falls."""
        if isinstance(node, Apply):
            if node.name == "bern":
                return self.kernel.number(1), self.kernel.number(0)
            if node.name == "not":
                may, must = self.possible(node.arguments[0], scope)
                return 1 - must, 1 - may
            if node.name in {"and", "or"}:
                may, must = self.possible(node.arguments[0], scope)
                decided = may if node.name == "and" else 1 - must
                others = self.possible(node.arguments[1], scope.if_(decided))
                join = _both if node.name == "and" else _either
                return join(may, others[0]), join(must, others[1])
            if node.name == "?:":
                return self._possible_choice(node, scope)
        if self.lets.names(node, scope):
            return self.lets.value(node, scope, self.possible)
        chance = self.truth(node, scope)
        return chance, chance

    def _possible_choice(self, node: Apply, scope: Scope) -> tuple[Polynomial, Polynomial]:
        may, must = self.possible(node.arguments[0], scope)
        yes = self.possible(node.arguments[1], scope.if_(may))
        no = self.possible(node.arguments[2], scope.if_(1 - must))
        either = must * yes[0], (1 - may) * no[0], (may - must) * _either(yes[0], no[0])
        both = must * yes[1], (1 - may) * no[1], (may - must) * yes[1] * no[1]
        return self.kernel.total(either), self.kernel.total(both)  # one of three is not 0

    def _logic(self, node: Apply, scope: Scope) -> Polynomial:
        first = self.truth(node.arguments[0], scope)
        if node.name == "not":
            return 1 - first
        decided = first if node.name == "and" else 1 - first  # else the rest is not looked at
        if not decided.terms:
            return first
        second = self.truth(node.arguments[1], scope.if_(decided))
        return _both(first, second) if node.name == "and" else _either(first, second)

    def choice(
        self, node: Apply, scope: Scope, lower: Callable[[Expression, Scope], Polynomial]
    ) -> Polynomial:
        """Return ``?:`` with its arms as ``lower`` turns them into formulas."""
        chosen = self.truth(node.arguments[0], scope)
        not_chosen = 1 - chosen
        yes = lower(node.arguments[1], scope.if_(chosen)) if chosen.terms else chosen
        no = lower(node.arguments[2], scope.if_(not_chosen)) if not_chosen.terms else not_chosen
        return chosen * yes + not_chosen * no

    def _comparison(self, node: Apply, scope: Scope) -> Polynomial:
        left, right = (self.value(argument, scope) for argument in node.arguments)
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


def _both(left: Polynomial, right: Polynomial) -> Polynomial:
    return left * right


def _either(left: Polynomial, right: Polynomial) -> Polynomial:
    return left + right - left * right
