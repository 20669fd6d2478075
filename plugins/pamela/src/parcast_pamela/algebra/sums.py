"""Sums over an index in closed form: powers, floors, maxima and brackets.

A range whose end lies before its start is empty, and its sum 0, however far before.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import attrs

from parcast_pamela.algebra.kernel import Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.rules import Rules
from parcast_pamela.algebra.signs import split
from parcast_pamela.language.functions import Exact

#: Ranges of fewer numbers are written out.
UNROLLED = 32

#: Atoms that have a value whatever the index is
_TOTAL = frozenset({"sym", "floor", "max", "ge0", "eq0"})


@attrs.frozen
class Linear:
    """factor * index + rest, neither of them depending on the index."""

    factor: Polynomial
    rest: Polynomial


class Sums:
    """Sums; each method states its identity and when it holds."""

    def __init__(self, rules: Rules, *, closed: bool = True) -> None:
        self.rules, self.closed = rules, closed  # not closed: each sum and maximum as it stands
        self.kernel, self.signs = rules.kernel, rules.signs

    def sum(self, index: Symbol, body: Polynomial) -> Polynomial:
        """Return the sum of ``body`` over the range of ``index``."""
        low, high = index.low, index.high
        if not self.closed:
            return self.kernel.call("sum", index, low, high, body)
        if not body.terms:
            return body
        if index not in body.free:
            return body * self.rules.count(low, high)
        if (length := (high - low).constant) is not None and length < UNROLLED:
            return self.kernel.total(
                self.rules.replaced(body, index, low + step) for step in range(int(length) + 1)
            )
        if not self.signs.nonneg(high - low + 1):
            high = low - 1 + self.rules.count(low, high)
        return self._by_terms(index, low, high, body)

    def _by_terms(
        self, index: Symbol, low: Polynomial, high: Polynomial, body: Polynomial
    ) -> Polynomial:
        groups: dict[Monomial, list[Polynomial]] = {}
        for monomial, coefficient in body.terms:
            moving = tuple(pair for pair in monomial if index in pair[0].free)
            fixed = tuple(pair for pair in monomial if index not in pair[0].free)
            groups.setdefault(moving, []).append(self.kernel.monomial(fixed, coefficient))
        closed, left = self.kernel.number(0), self.kernel.number(0)
        for moving, factors in groups.items():
            factor = self.kernel.total(factors)
            found = self._monomial(index, low, high, moving)
            if found is None:
                left = left + factor * self.kernel.monomial(moving)
            else:
                closed = closed + factor * found
        if left.terms:
            common, inner = self._outside(left, index)
            closed = closed + common * self.kernel.call("sum", index, index.low, index.high, inner)
        return closed

    def _outside(self, body: Polynomial, index: Symbol) -> tuple[Polynomial, Polynomial]:
        """Return (factor, rest) with body = factor * rest, the factor free of the index."""
        shared: set[tuple[Atom, int]] | None = None
        for monomial, _ in body.terms:
            shared = set(monomial) if shared is None else shared & set(monomial)
        kept = [pair for pair in shared or () if index not in pair[0].free]
        ordered = tuple(sorted(kept, key=lambda pair: pair[0].serial))
        factor = self.kernel.monomial(ordered)
        parts = []
        for monomial, coefficient in body.terms:  # not divided: a bracket is no number to divide by
            rest = tuple(pair for pair in monomial if pair not in kept)
            parts.append(self.kernel.monomial(rest, coefficient))
        return factor, self.kernel.total(parts)

    def _monomial(
        self, index: Symbol, low: Polynomial, high: Polynomial, moving: Monomial
    ) -> Polynomial | None:
        """Return the sum of a monomial all of whose factors depend on the index, or None."""
        symbol = self.kernel.atom("sym", index)
        others = [pair for pair in moving if pair[0] is not symbol]
        power = dict(moving).get(symbol, 0)
        if power < 0:
            return None
        if not others:
            return self.powers(power, low, high)
        for kind, method in (
            ("eq0", self._picked),
            ("ge0", self._cut),
            ("max", self._crossing),
        ):
            for atom, exponent in others:
                if atom.kind == kind and exponent == 1:
                    rest = self.kernel.monomial(
                        tuple(pair for pair in moving if pair[0] is not atom)
                    )
                    found = method(index, low, high, atom, rest)
                    if found is not None:
                        return found
        if len(others) == 1 and others[0][0].kind == "floor" and others[0][1] == 1:
            return self._floors(index, low, high, others[0][0], power)
        return None

    def linear(self, one: Polynomial, index: Symbol) -> Linear | None:
        """Return an expression as a linear one of the index, or None."""
        symbol = self.kernel.atom("sym", index)
        factor, rest = split(self.kernel, one, symbol)
        if index in factor.free or index in rest.free:
            return None
        if any(dict(monomial).get(symbol, 1) != 1 for monomial, _ in one.terms):
            return None
        return Linear(factor, rest)

    # S2: sum of i^k, by Faulhaber's polynomials

    def powers(self, power: int, low: Polynomial, high: Polynomial) -> Polynomial:
        """Return the sum of i^power: F(high) - F(low - 1), for high >= low - 1."""
        return self._faulhaber(power, high) - self._faulhaber(power, low - 1)

    def _faulhaber(self, power: int, end: Polynomial) -> Polynomial:
        """Return the polynomial F with F(n) - F(n - 1) = n^power and F(0) = 0."""
        return self.kernel.total(
            coefficient * end**exponent for exponent, coefficient in faulhaber(power)
        )

    # S3: sum of i^k floor((c +- i) / P)

    def _floors(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, power: int
    ) -> Polynomial | None:
        found = self.block(atom.arguments[0], index)
        if found is None:
            return None
        sign, offset, size = found
        total = self.kernel.number(0)
        # with j = sign i + offset: i^k = (sign (j - offset))^k, j over a range of the same length
        first, last = (low + offset, high + offset) if sign > 0 else (offset - high, offset - low)
        for exponent, factor in self._shifted_power(power, sign, offset):
            whole = self._floor_sum(exponent, last, size) - self._floor_sum(
                exponent, first - 1, size
            )
            total = total + factor * whole
        return total

    def _shifted_power(
        self, power: int, sign: int, offset: Polynomial
    ) -> list[tuple[int, Polynomial]]:
        """Return the terms (m, c) of (sign (j - offset))^power = sum of c j^m."""
        terms, choose = [], 1
        for m in range(power, -1, -1):
            terms.append((m, choose * sign**power * (-offset) ** (power - m)))
            choose = choose * m // (power - m + 1)
        return terms

    def _floor_sum(self, power: int, end: Polynomial, size: Polynomial) -> Polynomial:
        """Return G(n) with G(n) - G(n - 1) = n^power floor(n / size), for all whole n.

        With Q = floor(n / P), G = sum over q < Q of q (S(qP + P - 1) - S(qP - 1)), plus
        Q (S(n) - S(QP - 1)), S being the sum of powers.
        """
        blocks = self.rules.floor(end / size)
        step = self.kernel.parameter("#q", integer=True)  # a name only
        q = self.kernel.value(step)
        inner = q * (
            self._faulhaber(power, q * size + size - 1) - self._faulhaber(power, q * size - 1)
        )
        symbol = self.kernel.atom("sym", step)
        total = self.kernel.number(0)
        for monomial, coefficient in inner.terms:
            exponent = dict(monomial).get(symbol, 0)
            rest = self.kernel.monomial(
                tuple(pair for pair in monomial if pair[0] is not symbol), coefficient
            )
            below = self._faulhaber(exponent, blocks - 1)
            if exponent == 0:
                below = blocks  # q = 0 counts too
            total = total + rest * below
        return total + blocks * (
            self._faulhaber(power, end) - self._faulhaber(power, blocks * size - 1)
        )

    def block(self, inner: Polynomial, index: Symbol) -> tuple[int, Polynomial, Polynomial] | None:
        """Return (sign, c, P) with inner = (sign i + c) / P up to less than 1 / P, or None.

        P is certainly whole and positive, c whole.
        """
        line = self.linear(inner, index)
        if line is None or len(line.factor.terms) != 1:
            return None
        sign = 1 if line.factor.terms[0][1] > 0 else -1
        size = self.kernel.inverse(sign * line.factor)
        if not self.signs.integer(size) or not self.signs.nonneg(size - 1):
            return None
        return sign, self.rules.floor(self.kernel.expanded(line.rest * size)), size

    # S4: sum of p(i) max(u, v), split where they cross

    def _crossing(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, rest: Polynomial
    ) -> Polynomial | None:
        if len(atom.arguments) != 2:
            return None
        one, other = atom.arguments
        line = self.linear(one - other, index)
        if line is None or not (
            self.signs.positive(line.factor) or self.signs.positive(-line.factor)
        ):
            return None
        if not line.factor.terms:
            return None
        inner = self._index(index, low, high)
        moved = [
            self.rules.replaced(e, index, self.kernel.value(inner)) for e in (one, other, rest)
        ]
        above = self.rules.nonnegative(moved[0] - moved[1]) * (moved[0] - moved[1]) * moved[2]
        return self.sum(inner, moved[1] * moved[2]) + self.sum(inner, above)

    def _index(self, index: Symbol, low: Polynomial, high: Polynomial) -> Symbol:
        avoiding = [s for s in (*low.free, *high.free) if s.level]
        return self.kernel.index(low, high, [*avoiding, index])

    # S5: brackets shrink the range, pick one index, or pick a residue class

    def _cut(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, rest: Polynomial
    ) -> Polynomial | None:
        """[s i + c >= 0] holds from i = ceil(-c / s) for s > 0, up to floor(c / -s) for s < 0."""
        line = self.linear(atom.arguments[0], index)
        if line is None:
            return self._cut_block(index, low, high, atom, rest)
        if self.signs.positive(line.factor):
            low = self.rules.maximum([low, self.rules.ceil(-line.rest / line.factor)])
        elif self.signs.positive(-line.factor):
            high = self.rules.minimum([high, self.rules.floor(line.rest / -line.factor)])
        else:
            return None
        return self._over(index, low, high, rest)

    def _cut_block(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, rest: Polynomial
    ) -> Polynomial | None:
        """[floor((i + c) / P) >= m] holds from i = P m - c."""
        found = self._single_floor(atom.arguments[0], index)
        if found is None:
            return None
        factor, outside, (sign, offset, size) = found
        if factor.constant not in {1, -1}:
            return None
        if factor.constant == 1:  # j >= P m, with m = -outside
            edge = size * self.rules.ceil(-outside)
            cut = (edge - offset, None) if sign > 0 else (None, offset - edge)
        else:  # j <= P m + P - 1, with m = outside
            edge = size * self.rules.floor(outside) + size - 1
            cut = (None, edge - offset) if sign > 0 else (offset - edge, None)
        if cut[0] is not None:
            low = self.rules.maximum([low, cut[0]])
        if cut[1] is not None:
            high = self.rules.minimum([high, cut[1]])
        return self._over(index, low, high, rest)

    def _picked(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, rest: Polynomial
    ) -> Polynomial | None:
        inner = atom.arguments[0]
        line = self.linear(inner, index)
        if line is not None:
            return self._picked_one(index, low, high, line, rest)
        found = self._single_floor(inner, index)
        if found is not None:
            factor, outside, (sign, offset, size) = found
            if factor.constant not in {1, -1}:
                return None
            block = -outside * int(factor.constant)  # floor(j / P) = block
            if not self.signs.integer(block):
                return None
            first, last = block * size, block * size + size - 1
            ends = (first - offset, last - offset) if sign > 0 else (offset - last, offset - first)
            return self._over(
                index,
                self.rules.maximum([low, ends[0]]),
                self.rules.minimum([high, ends[1]]),
                rest,
            )
        return self._residue(index, low, high, inner, rest)

    def _picked_one(
        self, index: Symbol, low: Polynomial, high: Polynomial, line: Linear, rest: Polynomial
    ) -> Polynomial | None:
        """[s i + c == 0] picks i = -c / s, if that is whole and in range."""
        slope = line.factor
        if not (self.signs.positive(slope) or self.signs.positive(-slope)):
            return None
        if not self._total(rest, index):
            return None
        place = -line.rest / slope
        whole = self.rules.floor(place)
        inside = self.rules.nonnegative(whole - low) * self.rules.nonnegative(high - whole)
        found = inside * self.rules.replaced(rest, index, whole)
        return found if self.signs.integer(place) else found * self.rules.zero(place - whole)

    def _residue(
        self, index: Symbol, low: Polynomial, high: Polynomial, inner: Polynomial, rest: Polynomial
    ) -> Polynomial | None:
        """[(i + c) mod M == r] holds for i = M q + r - c, if 0 <= r < M."""
        floors = {
            atom for monomial, _ in inner.terms for atom, e in monomial
            if atom.kind == "floor" and index in atom.free and e == 1
        }  # fmt: skip
        if len(floors) != 1:
            return None
        (atom,) = floors
        factor, outside = split(self.kernel, inner, atom)
        found = self.block(atom.arguments[0], index)
        line = self.linear(outside, index)
        if found is None or line is None or line.factor.constant not in {1, -1}:
            return None
        sign, offset, size = found
        turn = int(line.factor.constant) * sign  # 1: sign i + c0 - M floor(..), -1: its negative
        if factor * turn is not -size:
            return None
        # turn * inner = j - M floor(j / M) - r, with j = sign i + offset
        r = offset - turn * line.rest
        if not self.signs.integer(r):
            return None
        inside = self.rules.nonnegative(r) * self.rules.nonnegative(size - 1 - r)
        if not inside.terms:
            return inside
        first, last = (low + offset, high + offset) if sign > 0 else (offset - high, offset - low)
        low, high = self.rules.ceil((first - r) / size), self.rules.floor((last - r) / size)
        q = self._index(index, low, high)
        place = sign * (self.kernel.value(q) * size + r - offset)
        return inside * self.sum(q, self.rules.replaced(rest, index, place))

    def _single_floor(
        self, one: Polynomial, index: Symbol
    ) -> tuple[Polynomial, Polynomial, tuple[int, Polynomial, Polynomial]] | None:
        """Return (f, rest, block) with one = f floor(block) + rest, only the floor moving."""
        moving = {a for m, _ in one.terms for a, e in m if index in a.free}
        if len(moving) != 1 or next(iter(moving)).kind != "floor":
            return None
        (atom,) = moving
        if any(dict(m).get(atom, 1) != 1 for m, _ in one.terms):
            return None
        factor, rest = split(self.kernel, one, atom)
        found = self.block(atom.arguments[0], index)
        return None if found is None else (factor, rest, found)

    def _over(
        self, index: Symbol, low: Polynomial, high: Polynomial, body: Polynomial
    ) -> Polynomial:
        """Return the sum of a body over another range of its index."""
        new = self._index(index, low, high)
        return self.sum(new, self.rules.replaced(body, index, self.kernel.value(new)))

    def _total(self, one: Polynomial, index: Symbol) -> bool:
        """Return whether an expression has a value also where the index is out of range."""
        return all(
            index not in atom.free
            or (
                exponent > 0
                and atom.kind in _TOTAL
                and all(
                    self._total(inner, index)
                    for inner in atom.arguments
                    if isinstance(inner, Polynomial)
                )
            )
            for monomial, _ in one.terms
            for atom, exponent in monomial
        )


@cache
def faulhaber(power: int) -> tuple[tuple[int, Exact], ...]:
    """Return (exponent, coefficient) of F(n) = 1^k + ... + n^k; of k = 0 that is n."""
    coefficients = [Fraction(0)] * (power + 2)
    choose = 1
    for j in range(power + 1):
        sign = -1 if j == 1 else 1  # Bernoulli's numbers with B1 = 1/2
        coefficients[power + 1 - j] = Fraction(sign * choose, power + 1) * bernoulli(j)
        choose = choose * (power + 1 - j) // (j + 1)
    return tuple(
        (exponent, int(c) if c.denominator == 1 else c)
        for exponent, c in enumerate(coefficients)
        if c
    )


@cache
def bernoulli(n: int) -> Fraction:
    """Return Bernoulli's number, B1 = -1/2."""
    if n == 0:
        return Fraction(1)
    choose, total = 1, Fraction(0)
    for k in range(n):
        total += choose * bernoulli(k)
        choose = choose * (n + 1 - k) // (k + 1)
    return -total / (n + 1)
