"""Sums of brackets: they shrink the range, pick one index, or pick a residue class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast_pamela.algebra.polynomials import Atom, Polynomial, Symbol
from parcast_pamela.algebra.terms import split

if TYPE_CHECKING:
    from parcast_pamela.algebra.sums import Linear, Sums

#: Atoms that have a value whatever the index is
_TOTAL = frozenset({"sym", "floor", "max", "ge0", "eq0"})


class Brackets:
    """Sums of a bracket times a rest over an index; None where no rule applies."""

    def __init__(self, sums: Sums) -> None:
        self.sums, self.rules = sums, sums.rules
        self.kernel, self.signs = sums.kernel, sums.signs

    def cut(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, body: Polynomial
    ) -> Polynomial | None:
        """[s i + c >= 0] holds from i = ceil(-c / s) for s > 0, up to floor(c / -s) for s < 0."""
        line = self.sums.linear(atom.arguments[0], index)
        if line is None:
            return self._cut_block(index, low, high, atom, body)
        if self.signs.positive(line.factor):
            low = self.rules.maximum([low, self.rules.ceil(-line.offset / line.factor)])
        elif self.signs.positive(-line.factor):
            high = self.rules.minimum([high, self.rules.floor(line.offset / -line.factor)])
        else:
            return None
        return self._over(index, low, high, body)

    def _cut_block(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, body: Polynomial
    ) -> Polynomial | None:
        """[floor((i + c) / P) >= m] holds from i = P m - c."""
        floor_form = self._single_floor(atom.arguments[0], index)
        if floor_form is None:
            return None
        factor, outside, (sign, offset, size) = floor_form
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
        return self._over(index, low, high, body)

    def picked(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, body: Polynomial
    ) -> Polynomial | None:
        """[x == 0] picks an index, a block or a residue class."""
        inner = atom.arguments[0]
        line = self.sums.linear(inner, index)
        if line is not None:
            return self._picked_index(index, low, high, line, body)
        floor_form = self._single_floor(inner, index)
        if floor_form is not None:
            factor, outside, (sign, offset, size) = floor_form
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
                body,
            )
        return self._residue(index, low, high, inner, body)

    def _picked_index(
        self, index: Symbol, low: Polynomial, high: Polynomial, line: Linear, body: Polynomial
    ) -> Polynomial | None:
        """[s i + c == 0] picks i = -c / s, if that is whole and in range."""
        slope = line.factor
        if not (self.signs.positive(slope) or self.signs.positive(-slope)):
            return None
        if not self._total(body, index):
            return None
        root = -line.offset / slope
        whole = self.rules.floor(root)
        inside = self.rules.nonnegative(whole - low) * self.rules.nonnegative(high - whole)
        value = inside * self.rules.replaced(body, index, whole)
        return value if self.signs.integer(root) else value * self.rules.zero(root - whole)

    def _residue(
        self, index: Symbol, low: Polynomial, high: Polynomial, inner: Polynomial, body: Polynomial
    ) -> Polynomial | None:
        """[(i + c) mod M == r] holds for i = M q + r - c, if 0 <= r < M."""
        floors = {
            atom for monomial, _ in inner.terms for atom, _ in monomial
            if atom.kind == "floor" and index in atom.free
        }  # fmt: skip
        if len(floors) != 1:
            return None
        (atom,) = floors
        parts = split(self.kernel, inner, atom)
        if parts is None:
            return None
        factor, outside = parts
        block = self.sums.block(atom.arguments[0], index)
        line = self.sums.linear(outside, index)
        if block is None or line is None or line.factor.constant not in {1, -1}:
            return None
        sign, offset, size = block
        turn = int(line.factor.constant) * sign  # 1: sign i + c0 - M floor(..), -1: its negative
        if factor * turn is not -size:
            return None
        # turn * inner = j - M floor(j / M) - r, with j = sign i + offset
        r = offset - turn * line.offset
        if not self.signs.integer(r):
            return None
        inside = self.rules.nonnegative(r) * self.rules.nonnegative(size - 1 - r)
        if not inside.terms:
            return inside
        first, last = (low + offset, high + offset) if sign > 0 else (offset - high, offset - low)
        low, high = self.rules.ceil((first - r) / size), self.rules.floor((last - r) / size)
        q = self.sums.index_over(index, low, high, body, r, offset)
        value = sign * (self.kernel.value(q) * size + r - offset)
        return inside * self.sums.sum(q, self.rules.replaced(body, index, value))

    def _single_floor(
        self, polynomial: Polynomial, index: Symbol
    ) -> tuple[Polynomial, Polynomial, tuple[int, Polynomial, Polynomial]] | None:
        """Return (f, rest, block) with one = f floor(block) + rest, only the floor moving."""
        moving = {a for m, _ in polynomial.terms for a, e in m if index in a.free}
        if len(moving) != 1 or next(iter(moving)).kind != "floor":
            return None
        (atom,) = moving
        parts = split(self.kernel, polynomial, atom)
        if parts is None:
            return None
        block = self.sums.block(atom.arguments[0], index)
        return None if block is None else (*parts, block)

    def _over(
        self, index: Symbol, low: Polynomial, high: Polynomial, body: Polynomial
    ) -> Polynomial:
        """Return the sum of a body over another range of its index."""
        new = self.sums.index_over(index, low, high, body)
        return self.sums.sum(new, self.rules.replaced(body, index, self.kernel.value(new)))

    def _total(self, polynomial: Polynomial, index: Symbol) -> bool:
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
            for monomial, _ in polynomial.terms
            for atom, exponent in monomial
        )
