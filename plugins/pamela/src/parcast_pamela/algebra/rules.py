"""Atoms made as simple as can be proven: floor, max, brackets and the functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.algebra.polynomials import BRACKETS, Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.signs import Signs
from parcast_pamela.algebra.terms import denominators
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

    def replaced(self, one: Polynomial, symbol: Symbol, value: Polynomial) -> Polynomial:
        """Return an expression with a symbol replaced, and simplified again."""
        return self.kernel.rebuilt(one, {symbol: value}, self.make)

    def function(self, kind: str, *arguments: Polynomial) -> Polynomial:
        """Return a built-in function, of numbers its value."""
        values = [one.constant for one in arguments]
        if None not in values and (kind not in {"log2", "log"} or values[0] > 0):  # type: ignore[operator]
            return self.kernel.number(FUNCTIONS[kind][0](*values))
        if kind in {"gcd", "lcm"}:
            arguments = tuple(sorted(arguments, key=_rank))
        return self.kernel.call(kind, *arguments)

    def floor(self, one: Polynomial) -> Polynomial:
        """Return the floor: floor(n + x) = n + floor(x), and 0 where 0 <= x < 1."""
        whole, rest = [], []
        for monomial, coefficient in one.terms:
            term = self.kernel.monomial(monomial, coefficient)
            if self.signs.integer(term):
                whole.append(term)
            elif not monomial:
                whole.append(self.kernel.number(math.floor(coefficient)))
                rest.append(self.kernel.number(coefficient - math.floor(coefficient)))
            else:
                rest.append(term)
        outside, inside = self.kernel.total(whole), self.kernel.total(rest)
        if (value := inside.constant) is not None:
            return outside + math.floor(value)
        if self.signs.integer(inside):
            return outside + inside
        under = denominators(self.kernel, inside)
        over = self.kernel.expanded(inside * under)
        if self.signs.integer(over) and self.signs.nonneg(under - 1):
            if self.signs.nonneg(over) and self.signs.nonneg(under - 1 - over):
                return outside
            if self.signs.nonneg(-over - 1) and self.signs.nonneg(under + over):
                return outside - 1
        return outside + self.kernel.call("floor", inside)

    def ceil(self, one: Polynomial) -> Polynomial:
        """Return -floor(-x)."""
        return -self.floor(-one)

    def modulo(self, one: Polynomial, other: Polynomial) -> Polynomial:
        """Return x - y floor(x / y)."""
        return one - other * self.floor(one / other)

    def nonnegative(self, one: Polynomial) -> Polynomial:
        """Return the bracket [x >= 0]."""
        if self.signs.nonneg(one):
            return self.kernel.number(1)
        below = self.signs.nonneg(-one - 1) if self.signs.integer(one) else (
            self.signs.positive(-one)
        )  # fmt: skip
        if below:
            return self.kernel.number(0)
        return self.kernel.call("ge0", self._primitive(one))

    def zero(self, one: Polynomial) -> Polynomial:
        """Return the bracket [x == 0]."""
        if (value := one.constant) is not None:
            return self.kernel.number(int(value == 0))
        if self.signs.positive(one) or self.signs.positive(-one):
            return self.kernel.number(0)
        one = self._primitive(one)
        if one.terms[0][1] < 0:
            one = -one
        return self.kernel.call("eq0", one)

    def _primitive(self, one: Polynomial) -> Polynomial:
        """Return an expression of the same sign, its coefficients whole and without divisor."""
        if self.signs.integer(one):
            return one  # dividing could lose that it is whole
        bottom = math.lcm(*(c.denominator for _, c in one.terms))
        return one * bottom

    def maximum(self, arms: Iterable[Polynomial]) -> Polynomial:
        """Return the largest; arms that another covers everywhere are left out.

        max(m + x, m + y) = m + max(x, y), and max(m x, m y) = m max(x, y) for m >= 0.
        """
        flat: dict[Polynomial, None] = {}
        for arm in arms:
            inner, outer = self._as_maximum(arm)
            flat |= dict.fromkeys(one + outer for one in inner)
        kept = self._uncovered(list(flat))
        if len(kept) == 1:
            return kept[0]
        common = self._common_terms(kept)
        reduced = [one - common for one in kept]
        factor = self._common_factor(reduced)
        if factor.constant != 1:
            reduced = [one / factor for one in reduced]
        ordered = sorted(reduced, key=_rank)
        return common + factor * self.kernel.call("max", *ordered)

    def minimum(self, arms: Iterable[Polynomial]) -> Polynomial:
        """Return -max(-x, -y)."""
        return -self.maximum([-one for one in arms])

    def _as_maximum(self, one: Polynomial) -> tuple[list[Polynomial], Polynomial]:
        """Return (arms, rest) with one = max(arms) + rest, if it is a maximum times m >= 0."""
        nothing = self.kernel.number(0)
        found = [
            (index, atom)
            for index, (monomial, _) in enumerate(one.terms)
            for atom, exponent in monomial
            if atom.kind == "max" and exponent == 1
        ]
        if len(found) != 1:
            return [one], nothing
        index, atom = found[0]
        monomial, coefficient = one.terms[index]
        factor = self.kernel.monomial(
            tuple(pair for pair in monomial if pair[0] is not atom), coefficient
        )
        if not self.signs.nonneg(factor):
            return [one], nothing
        rest = one - self.kernel.monomial(monomial, coefficient)
        return [factor * arm for arm in atom.arguments], rest

    def _uncovered(self, arms: list[Polynomial]) -> list[Polynomial]:
        if len(arms) > _MOST_ARMS:
            numbers = [value for arm in arms if (value := arm.constant) is not None]
            arms = [arm for arm in arms if arm.constant is None]
            arms += [self.kernel.number(max(numbers))] if numbers else []
        if len(arms) > _MOST_PAIRED:
            return arms
        covers = self.signs.nonneg if len(arms) <= _MOST_ARMS else self.signs.evidently_nonneg
        kept = list(arms)
        for arm in arms:
            others = [one for one in kept if one is not arm]
            if any(covers(one - arm) for one in others):
                kept = others
        return kept if len(arms) <= _MOST_ARMS or len(kept) > _MOST_ARMS else self._uncovered(kept)

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
            found = dict(monomial)
            powers = found if powers is None else {
                atom: _nearer(powers[atom], found[atom]) for atom in powers if atom in found
            }  # fmt: skip
        kept = {
            atom: exponent
            for atom, exponent in (powers or {}).items()
            if exponent
            and atom.kind not in BRACKETS  # nothing is divided by one
            and self.signs.nonneg(self.kernel.power(atom, 1))
        }
        number = Fraction(
            math.gcd(*(c.numerator for _, c in terms)), math.gcd(*(c.denominator for _, c in terms))
        )
        ordered: Monomial = tuple(sorted(kept.items(), key=lambda pair: pair[0].serial))
        return self.kernel.monomial(ordered, number) if terms else self.kernel.number(1)

    def count(self, low: Polynomial, high: Polynomial) -> Polynomial:
        """Return how many whole numbers a range has, 0 where it is empty."""
        return self.maximum([self.kernel.number(0), high - low + 1])

    def some(self, low: Polynomial, high: Polynomial) -> Polynomial:
        """Return the bracket that a range is not empty."""
        return self.nonnegative(high - low)


def _nearer(one: int, other: int) -> int:
    """Return the exponent nearer to 0, or 0 where the signs differ."""
    if one > 0 and other > 0:
        return min(one, other)
    return max(one, other) if one < 0 and other < 0 else 0


def _rank(one: Polynomial) -> list[object]:
    """Return a key that orders expressions as their atoms were made."""
    return [([(atom.serial, e) for atom, e in monomial], c) for monomial, c in one.terms]
