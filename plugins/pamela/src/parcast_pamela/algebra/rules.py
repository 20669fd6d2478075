"""Atoms made as simple as can be proven: floor, max, brackets and the functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.polynomials import BRACKETS, Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.signs import Signs
from parcast_pamela.algebra.terms import denominators, whole_coefficients
from parcast_pamela.language.functions import FUNCTIONS

#: Of more arms than this only those are left out that another one covers term by term,
_MOST_ARMS = 12
#: and of more than this none but numbers.
_MOST_PAIRED = 100


class Rules:
    """Makes expressions; each method states the identity that it uses."""

    def __init__(self, kernel: Kernel, signs: Signs) -> None:
        self.kernel, self.signs = kernel, signs
        signs.make = self.make

    def make(self, kind: str, *arguments: Any) -> Polynomial:
        """Return the simplest form of an atom that is made anew."""
        if kind == "floor":
            return self.floor(arguments[0])
        if kind == "max":
            return self.maximum(arguments)
        if kind == "ge0":
            return self.nonnegative(arguments[0])
        if kind == "eq0":
            return self.zero(arguments[0])
        if kind in {"gcd", "lcm", "log2", "log", "exp", "sqrt"}:
            return self.function(kind, *arguments)
        return self.kernel.call(kind, *arguments)

    def replaced(self, polynomial: Polynomial, symbol: Symbol, value: Polynomial) -> Polynomial:
        """Return an expression with a symbol replaced, and simplified again."""
        return self.kernel.rebuilt(polynomial, {symbol: value}, self.make)

    def function(self, kind: str, *arguments: Polynomial) -> Polynomial:
        """Return a built-in function, of numbers its value."""
        values = [argument.constant for argument in arguments]
        if None not in values and (kind not in {"log2", "log"} or values[0] > 0):  # type: ignore[operator]
            return self.kernel.number(FUNCTIONS[kind][0](*values))
        if kind in {"gcd", "lcm"}:
            arguments = tuple(sorted(arguments, key=_rank))
        return self.kernel.call(kind, *arguments)

    def floor(self, polynomial: Polynomial) -> Polynomial:
        """Return the floor: floor(n + x) = n + floor(x), and 0 where 0 <= x < 1."""
        whole, fraction = [], []
        for monomial, coefficient in polynomial.terms:
            term = self.kernel.monomial(monomial, coefficient)
            if self.signs.integer(term):
                whole.append(term)
            elif not monomial:
                whole.append(self.kernel.number(math.floor(coefficient)))
                fraction.append(self.kernel.number(coefficient - math.floor(coefficient)))
            else:
                fraction.append(term)
        outside, inside = self.kernel.total(whole), self.kernel.total(fraction)
        if (value := inside.constant) is not None:
            return outside + math.floor(value)
        if self.signs.integer(inside):
            return outside + inside
        under = denominators(inside)
        over = self.kernel.expanded(inside * under)
        if self.signs.integer(over) and self.signs.nonneg(under - 1):
            if self.signs.nonneg(over) and self.signs.nonneg(under - 1 - over):
                return outside
            if self.signs.nonneg(-over - 1) and self.signs.nonneg(under + over):
                return outside - 1
        return outside + self.kernel.call("floor", inside)

    def ceil(self, polynomial: Polynomial) -> Polynomial:
        """Return -floor(-x)."""
        return -self.floor(-polynomial)

    def modulo(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """Return x - y floor(x / y)."""
        return left - right * self.floor(left / right)

    def nonnegative(self, polynomial: Polynomial) -> Polynomial:
        """Return the bracket [x >= 0]."""
        if self.signs.nonneg(polynomial):
            return self.kernel.number(1)
        below = self.signs.nonneg(-polynomial - 1) if self.signs.integer(polynomial) else (
            self.signs.positive(-polynomial)
        )  # fmt: skip
        if below:
            return self.kernel.number(0)
        return self.kernel.call("ge0", whole_coefficients(polynomial))

    def zero(self, polynomial: Polynomial) -> Polynomial:
        """Return the bracket [x == 0]."""
        if (value := polynomial.constant) is not None:
            return self.kernel.number(int(value == 0))
        if self.signs.positive(polynomial) or self.signs.positive(-polynomial):
            return self.kernel.number(0)
        polynomial = whole_coefficients(polynomial)
        if polynomial.terms[0][1] < 0:
            polynomial = -polynomial
        return self.kernel.call("eq0", polynomial)

    def maximum(self, arms: Iterable[Polynomial]) -> Polynomial:
        """Return the largest; arms that another covers everywhere are left out.

        max(m + x, m + y) = m + max(x, y), and max(m x, m y) = m max(x, y) for m >= 0.
        """
        flat: dict[Polynomial, None] = {}
        for arm in arms:
            inner, outer = self._as_maximum(arm)
            flat |= dict.fromkeys(inner_arm + outer for inner_arm in inner)
        uncovered = self._uncovered(list(flat))
        if len(uncovered) == 1:
            return uncovered[0]
        common = self._common_terms(uncovered)
        reduced = [arm - common for arm in uncovered]
        factor = self._common_factor(reduced)
        if factor.constant != 1:
            reduced = [arm / factor for arm in reduced]
        ordered = sorted(reduced, key=_rank)
        return common + factor * self.kernel.call("max", *ordered)

    def minimum(self, arms: Iterable[Polynomial]) -> Polynomial:
        """Return -max(-x, -y)."""
        return -self.maximum([-arm for arm in arms])

    def _as_maximum(self, polynomial: Polynomial) -> tuple[list[Polynomial], Polynomial]:
        """Return (arms, remainder), max(arms) + remainder, if it is m >= 0 times a maximum."""
        nothing = self.kernel.number(0)
        maxima = [
            (index, atom)
            for index, (monomial, _) in enumerate(polynomial.terms)
            for atom, exponent in monomial
            if atom.kind == "max" and exponent == 1
        ]
        if len(maxima) != 1:
            return [polynomial], nothing
        index, atom = maxima[0]
        monomial, coefficient = polynomial.terms[index]
        factor = self.kernel.monomial(
            tuple(pair for pair in monomial if pair[0] is not atom), coefficient
        )
        if not self.signs.nonneg(factor):
            return [polynomial], nothing
        remainder = polynomial - self.kernel.monomial(monomial, coefficient)
        return [factor * arm for arm in atom.arguments], remainder

    def _uncovered(self, arms: list[Polynomial]) -> list[Polynomial]:
        if len(arms) > _MOST_ARMS:
            numbers = [value for arm in arms if (value := arm.constant) is not None]
            arms = [arm for arm in arms if arm.constant is None]
            arms += [self.kernel.number(max(numbers))] if numbers else []
        if len(arms) > _MOST_PAIRED:
            return arms
        covers = self.signs.nonneg if len(arms) <= _MOST_ARMS else self.signs.evidently_nonneg
        uncovered = list(arms)
        for arm in arms:
            others = [cover for cover in uncovered if cover is not arm]
            if any(covers(cover - arm) for cover in others):
                uncovered = others
        return (
            uncovered
            if len(arms) <= _MOST_ARMS or len(uncovered) > _MOST_ARMS
            else self._uncovered(uncovered)
        )

    def _common_terms(self, arms: list[Polynomial]) -> Polynomial:
        """Return the terms that every arm has; of numbers none."""
        shared = set(arms[0].terms)
        for arm in arms[1:]:
            shared &= set(arm.terms)
        return self.kernel.total(self.kernel.monomial(*term) for term in shared if term[0])

    def _common_factor(self, arms: list[Polynomial]) -> Polynomial:
        """Return the largest monomial, certainly 0 or more, that divides every arm."""
        terms = [term for arm in arms for term in arm.terms]
        powers: dict[Atom, int] | None = None
        for monomial, _ in terms:
            exponents = dict(monomial)
            powers = exponents if powers is None else {
                atom: _nearer(powers[atom], exponents[atom]) for atom in powers if atom in exponents
            }  # fmt: skip
        common = {
            atom: exponent
            for atom, exponent in (powers or {}).items()
            if exponent
            and atom.kind not in BRACKETS  # nothing is divided by one
            and self.signs.nonneg(self.kernel.power(atom, 1))
        }
        number = Fraction(
            math.gcd(*(c.numerator for _, c in terms)), math.gcd(*(c.denominator for _, c in terms))
        )
        ordered: Monomial = tuple(sorted(common.items(), key=lambda pair: pair[0].serial))
        return self.kernel.monomial(ordered, number) if terms else self.kernel.number(1)

    def count(self, low: Polynomial, high: Polynomial) -> Polynomial:
        """Return how many whole numbers a range has, 0 where it is empty."""
        return self.maximum([self.kernel.number(0), high - low + 1])

    def not_empty(self, low: Polynomial, high: Polynomial) -> Polynomial:
        """Return the bracket that a range is not empty."""
        return self.nonnegative(high - low)


def _nearer(left: int, right: int) -> int:
    """Return the exponent nearer to 0, or 0 where the signs differ."""
    if left > 0 and right > 0:
        return min(left, right)
    return max(left, right) if left < 0 and right < 0 else 0


def _rank(polynomial: Polynomial) -> list[object]:
    """Return a key that orders expressions as their atoms were made."""
    return [([(atom.serial, e) for atom, e in monomial], c) for monomial, c in polynomial.terms]
