"""What must hold for a formula, and formulas that have a value also where they are not reached."""

from __future__ import annotations

import attrs

from parcast_pamela.algebra.polynomials import BRACKETS, Polynomial
from parcast_pamela.compilation.algebra import Algebra
from parcast_pamela.compilation.scope import Scope
from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.positions import Position


@attrs.frozen
class Guard:
    """What must be 0 for the formulas to hold, and what is wrong where it is not."""

    violation: Polynomial
    message: str
    position: Position | None = None


class Guards:
    """Keeps conditions unless they are certainly met.

    An arm of a condition is a factor of a bracket that is 0 where the arm is not taken, and the
    product is multiplied out; so an arm must have a value everywhere. `divisor` and `total` see to
    that: what they return differs from what they are given only where the arm is not taken, or
    where a guard of it does not hold.
    """

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.kernel, self.rules, self.signs = algebra.kernel, algebra.rules, algebra.signs
        self.required: dict[Guard, None] = {}

    def require(
        self, violation: Polynomial, message: str, position: Position | None, scope: Scope
    ) -> None:
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
            self.required[Guard(violation, message, position)] = None

    def refuse_violated(self) -> None:
        """Refuse a model in which a condition is violated whatever the parameters are.

        Raises
        ------
        ModelError
            With the position.
        """
        for guard in self.required:
            if self.signs.positive(guard.violation):
                raise ModelError(guard.message, guard.position) from None

    def nonneg(
        self, polynomial: Polynomial, message: str, position: Position | None, scope: Scope
    ) -> None:
        """Keep as a guard that an expression is 0 or more, and take it as a fact."""
        if self.signs.nonneg(polynomial):
            return
        self.require(
            self.rules.maximum([self.kernel.number(0), -polynomial]), message, position, scope
        )
        if scope.condition is None and not any(symbol.level for symbol in polynomial.free):
            self.signs.assume(polynomial)

    def whole(
        self, polynomial: Polynomial, message: str, position: Position | None, scope: Scope
    ) -> Polynomial:
        """Keep as a guard that an expression is whole; return it as one that certainly is."""
        if self.signs.integer(polynomial):
            return polynomial
        whole = self.rules.floor(polynomial)
        self.require(1 - self.rules.zero(polynomial - whole), message, position, scope)
        return whole

    def divisor(
        self, polynomial: Polynomial, position: Position | None, scope: Scope
    ) -> Polynomial:
        """Keep as a guard that an expression is not 0; return it as one that never is."""
        if self.signs.positive(polynomial) or self.signs.positive(-polynomial):
            return polynomial
        if polynomial.constant == 0:
            raise ModelError("this divides by zero", position)
        zero = self.rules.zero(polynomial)
        self.require(zero, "this divides by zero", position, scope)
        if scope.condition is None:
            return polynomial
        if self.signs.integer(polynomial) and self.signs.nonneg(polynomial):
            return self.rules.maximum([self.kernel.number(1), polynomial])
        return polynomial + zero

    def total(self, polynomial: Polynomial, safe: Polynomial | int, scope: Scope) -> Polynomial:
        """Return an expression that is ``safe`` where the condition of a scope is not met."""
        condition = scope.condition
        if condition is None or not all(
            atom.kind in BRACKETS for monomial, _ in condition.terms for atom, _ in monomial
        ):
            return polynomial
        return self.kernel.of(safe) + condition * (polynomial - safe)
