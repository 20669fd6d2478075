"""Maxima over an index of what is 0 or more; over an empty range they are 0."""

from __future__ import annotations

from parcast_pamela.algebra.polynomials import Polynomial, Symbol
from parcast_pamela.algebra.sums import UNROLLED, Sums
from parcast_pamela.algebra.terms import split


class Extremes:
    """Maxima over indices; each method states its identity and when it holds."""

    def __init__(self, sums: Sums) -> None:
        self.sums, self.forms, self.rules = sums, sums.forms, sums.rules
        self.kernel, self.signs = sums.kernel, sums.signs

    def top(self, index: Symbol, body: Polynomial) -> Polynomial:
        """Return the largest value of ``body``, which is 0 or more, over an index; 0 if none."""
        low, high = index.low, index.high
        if not self.sums.closed:
            return self.kernel.call("top", index, low, high, body)
        not_empty = self.rules.not_empty(low, high)
        if index not in body.free or not not_empty.terms:
            return not_empty * body
        if (length := (high - low).constant) is not None and length < UNROLLED:
            return self.rules.maximum(
                self.rules.replaced(body, index, low + step) for step in range(int(length) + 1)
            )
        factor, inner = self._factored(body, index)
        if factor.constant != 1:
            return factor * self.top(index, inner)
        if (arms := self._arms(body, index)) is not None:
            return self.rules.maximum(self.top(index, arm) for arm in arms)
        direction = self.signs.direction(body, index)
        if direction is not None:
            return not_empty * self.rules.replaced(body, index, high if direction > 0 else low)
        if self._convex(body, index):
            ends = [self.rules.replaced(body, index, end) for end in (low, high)]
            return not_empty * self.rules.maximum(ends)
        if self._by_one_atom(body, index):
            ends = [self.rules.replaced(body, index, end) for end in (low, high)]
            return not_empty * self.rules.maximum(ends)
        if (turn := self._first_period(body, index)) is not None:
            return self.top(turn, self.rules.replaced(body, index, self.kernel.value(turn)))
        if not_empty.constant == 1:
            fixed, moving = self._split_terms(body, index)
            if fixed.terms and self.signs.nonneg(moving):
                return fixed + self.top(index, moving)
        return self.kernel.call("top", index, low, high, body)

    def _factored(self, body: Polynomial, index: Symbol) -> tuple[Polynomial, Polynomial]:
        """Return (m, inside) with body = m * inside, m a monomial, 0 or more, free of the index."""
        shared = None
        for monomial, _ in body.terms:
            shared = set(monomial) if shared is None else shared & set(monomial)
        outside = [
            pair
            for pair in shared or ()
            if index not in pair[0].free and self.signs.nonneg(self.kernel.power(pair[0], 1))
        ]
        if not outside:
            return self.kernel.number(1), body
        ordered = tuple(sorted(outside, key=lambda pair: pair[0].serial))
        parts = [
            self.kernel.monomial(
                tuple(pair for pair in monomial if pair not in outside), coefficient
            )
            for monomial, coefficient in body.terms
        ]
        return self.kernel.monomial(ordered), self.kernel.total(parts)

    def _arms(self, body: Polynomial, index: Symbol) -> list[Polynomial] | None:
        """Return arms, each 0 or more, whose maximum the body is, or None."""
        maxima = {
            atom
            for monomial, _ in body.terms
            for atom, exponent in monomial
            if atom.kind == "max" and exponent == 1 and index in atom.free
        }
        for atom in sorted(maxima, key=lambda atom: -atom.serial):  # the same each time
            parts = split(body, atom)
            if parts is None or not self.signs.nonneg(parts[0]):
                continue
            factor, remainder = parts
            arms = [factor * arm + remainder for arm in atom.arguments]
            if all(map(self.signs.nonneg, arms)):
                return arms
        return None

    def _convex(self, body: Polynomial, index: Symbol) -> bool:
        """Return whether steps never fall: then the largest value is at an end."""
        i = self.kernel.value(index)
        if any(a.kind != "sym" and index in a.free for m, _ in body.terms for a, _ in m):
            return False
        after = self.kernel.substitute(body, {index: i + 1})
        before = self.kernel.substitute(body, {index: i - 1})
        return self.signs.nonneg(after + before - 2 * body)

    def _by_one_atom(self, body: Polynomial, index: Symbol) -> bool:
        """Return whether the index comes in by one monotone atom, so that an end is largest.

        Then the body is linear in the atom, or the atom a floor of two values at most: what it is
        the floor of changes by less than 1 over the range.
        """
        moving = {a for m, _ in body.terms for a, _ in m if index in a.free}
        if len(moving) != 1:
            return False
        (atom,) = moving
        value = self.kernel.power(atom, 1)
        if atom.kind not in {"sym", "floor"} or self.signs.direction(value, index) is None:
            return False
        if split(body, atom) is not None:
            return True
        if atom.kind != "floor":
            return False
        line = self.forms.linear(atom.arguments[0], index)
        if line is None:
            return False
        change = line.factor * (index.high - index.low)
        return self.signs.positive(1 - change) and self.signs.positive(1 + change)

    def _first_period(self, body: Polynomial, index: Symbol) -> Symbol | None:
        """Return an index over less of the range that has every value of a periodic body."""
        moving = {a for m, _ in body.terms for a, _ in m if index in a.free}
        for atom in sorted(moving, key=lambda atom: atom.serial):
            block = self.forms.block(atom.arguments[0], index) if atom.kind == "floor" else None
            if block is None:
                continue
            period = block.size
            last = self.rules.minimum([index.high, index.low + period - 1])
            after = self.kernel.value(index) + period
            if last is not index.high and self.rules.replaced(body, index, after) is body:
                return self.forms.index_over(index, index.low, last, body)
        return None

    def _split_terms(self, body: Polynomial, index: Symbol) -> tuple[Polynomial, Polynomial]:
        """Return the terms free of the index, and the others."""
        moving = [
            self.kernel.monomial(monomial, coefficient)
            for monomial, coefficient in body.terms
            if any(index in atom.free for atom, _ in monomial)
        ]
        total = self.kernel.total(moving)
        return body - total, total
