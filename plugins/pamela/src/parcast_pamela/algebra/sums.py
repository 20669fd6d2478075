"""Sums over an index in closed form: powers, floors, maxima and brackets.

A range whose end lies before its start is empty, and its sum 0, however far before.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from parcast_pamela.algebra.brackets import Brackets
from parcast_pamela.algebra.forms import IndexForms
from parcast_pamela.algebra.polynomials import Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.rules import Rules
from parcast_pamela.language.functions import Exact

#: Ranges of fewer numbers are written out.
UNROLLED = 32


class Sums:
    """Sums; each method states its identity and when it holds."""

    def __init__(self, rules: Rules, *, closed: bool = True) -> None:
        self.rules, self.closed = rules, closed  # not closed: each sum and maximum as it stands
        self.kernel, self.signs = rules.kernel, rules.signs
        self.forms = IndexForms(rules)
        self.brackets = Brackets(self.forms, self.sum)

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
            total = self._monomial(index, low, high, moving)
            if total is None:
                left = left + factor * self.kernel.monomial(moving)
            else:
                closed = closed + factor * total
        if left.terms:
            common, inner = self._outside(left, index)
            closed = closed + common * self.kernel.call("sum", index, index.low, index.high, inner)
        return closed

    def _outside(self, body: Polynomial, index: Symbol) -> tuple[Polynomial, Polynomial]:
        """Return (factor, inside) with body = factor * inside, the factor free of the index."""
        shared: set[tuple[Atom, int]] | None = None
        for monomial, _ in body.terms:
            shared = set(monomial) if shared is None else shared & set(monomial)
        outside = [pair for pair in shared or () if index not in pair[0].free]
        ordered = tuple(sorted(outside, key=lambda pair: pair[0].serial))
        factor = self.kernel.monomial(ordered)
        parts = []
        for monomial, coefficient in body.terms:  # not divided: a bracket is no number to divide by
            inside = tuple(pair for pair in monomial if pair not in outside)
            parts.append(self.kernel.monomial(inside, coefficient))
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
            ("eq0", self.brackets.picked),
            ("ge0", self.brackets.cut),
            ("max", self._crossing),
        ):
            for atom, exponent in others:
                if atom.kind == kind and exponent == 1:
                    body = self.kernel.monomial(
                        tuple(pair for pair in moving if pair[0] is not atom)
                    )
                    total = method(index, low, high, atom, body)
                    if total is not None:
                        return total
        if len(others) == 1 and others[0][0].kind == "floor" and others[0][1] == 1:
            return self._floors(index, low, high, others[0][0], power)
        return None

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
        block = self.forms.block(atom.arguments[0], index)
        if block is None:
            return None
        total = self.kernel.number(0)
        # with j = sign i + offset: i^k = (sign (j - offset))^k, j over a range of the same length
        first, last = block.ends(low, high)
        for exponent, factor in self._shifted_power(power, block.sign, block.offset):
            whole = self._floor_sum(exponent, last, block.size) - self._floor_sum(
                exponent, first - 1, block.size
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
            remainder = self.kernel.monomial(
                tuple(pair for pair in monomial if pair[0] is not symbol), coefficient
            )
            below = self._faulhaber(exponent, blocks - 1)
            if exponent == 0:
                below = blocks  # q = 0 counts too
            total = total + remainder * below
        return total + blocks * (
            self._faulhaber(power, end) - self._faulhaber(power, blocks * size - 1)
        )

    # S4: sum of p(i) max(u, v), split where they cross

    def _crossing(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, body: Polynomial
    ) -> Polynomial | None:
        if len(atom.arguments) != 2:
            return None
        left, right = atom.arguments
        line = self.forms.linear(left - right, index)
        if line is None or not (
            self.signs.positive(line.factor) or self.signs.positive(-line.factor)
        ):
            return None
        if not line.factor.terms:
            return None
        inner = self.forms.index_over(index, low, high, left, right, body)
        moved = [
            self.rules.replaced(e, index, self.kernel.value(inner)) for e in (left, right, body)
        ]
        above = self.rules.nonnegative(moved[0] - moved[1]) * (moved[0] - moved[1]) * moved[2]
        return self.sum(inner, moved[1] * moved[2]) + self.sum(inner, above)


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
