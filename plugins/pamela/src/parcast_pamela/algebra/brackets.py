"""Sums of brackets: they shrink the range, pick one index, or pick a residue class."""

from __future__ import annotations

from collections.abc import Callable

from parcast_pamela.algebra.forms import IndexForms, Linear
from parcast_pamela.algebra.polynomials import Atom, Polynomial, Symbol

#: Atoms that have a value whatever the index is
_TOTAL = frozenset({"sym", "floor", "max", "ge0", "eq0"})


class Brackets:
    """Sums of a bracket times a body over an index; None where no rule applies.

    What a bracket leaves of the range is summed by ``total``.
    """

    def __init__(
        self, forms: IndexForms, total: Callable[[Symbol, Polynomial], Polynomial]
    ) -> None:
        self.forms, self.rules, self.total = forms, forms.rules, total
        self.kernel, self.signs = forms.kernel, forms.signs

    def cut(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, body: Polynomial
    ) -> Polynomial | None:
        """[s i + c >= 0] holds from i = ceil(-c / s) for s > 0, up to floor(c / -s) for s < 0."""
        line = self.forms.linear(atom.arguments[0], index)
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
        form = self.forms.floor_form(atom.arguments[0], index)
        if form is None or form.factor.constant not in {1, -1}:
            return None
        block, rising = form.block, form.factor.constant == 1
        if rising:  # j >= P m, with m = -remainder
            edge = block.size * self.rules.ceil(-form.remainder)
        else:  # j <= P m + P - 1, with m = remainder
            edge = block.size * self.rules.floor(form.remainder) + block.size - 1
        end = block.indices(edge, edge)[0]
        if rising == (block.sign > 0):
            low = self.rules.maximum([low, end])
        else:
            high = self.rules.minimum([high, end])
        return self._over(index, low, high, body)

    def picked(
        self, index: Symbol, low: Polynomial, high: Polynomial, atom: Atom, body: Polynomial
    ) -> Polynomial | None:
        """[x == 0] picks an index, a block or a residue class."""
        inner = atom.arguments[0]
        line = self.forms.linear(inner, index)
        if line is not None:
            return self._picked_index(index, low, high, line, body)
        form = self.forms.floor_form(inner, index)
        if form is not None:
            if form.factor.constant not in {1, -1}:
                return None
            number = -form.remainder * int(form.factor.constant)  # floor(j / P) = number
            if not self.signs.integer(number):
                return None
            first = number * form.block.size
            start, end = form.block.indices(first, first + form.block.size - 1)
            return self._over(
                index, self.rules.maximum([low, start]), self.rules.minimum([high, end]), body
            )
        return self._residue(index, low, high, inner, body)

    def _picked_index(
        self, index: Symbol, low: Polynomial, high: Polynomial, line: Linear, body: Polynomial
    ) -> Polynomial | None:
        """[s i + c == 0] picks i = -c / s, if that is whole and in range."""
        slope = line.factor
        if not (self.signs.positive(slope) or self.signs.positive(-slope)):
            return None
        if not self._is_total(body, index):
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
        term = self.forms.floor_term(inner, index)
        if term is None:
            return None
        atom, factor, outside = term
        block = self.forms.block(atom.arguments[0], index)
        line = self.forms.linear(outside, index)
        if block is None or line is None or line.factor.constant not in {1, -1}:
            return None
        sign, offset, size = block.sign, block.offset, block.size
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
        first, last = block.ends(low, high)
        low, high = self.rules.ceil((first - r) / size), self.rules.floor((last - r) / size)
        q = self.forms.index_over(index, low, high, body, r, offset)
        value = sign * (self.kernel.value(q) * size + r - offset)
        return inside * self.total(q, self.rules.replaced(body, index, value))

    def _over(
        self, index: Symbol, low: Polynomial, high: Polynomial, body: Polynomial
    ) -> Polynomial:
        """Return the sum of a body over another range of its index."""
        new = self.forms.index_over(index, low, high, body)
        return self.total(new, self.rules.replaced(body, index, self.kernel.value(new)))

    def _is_total(self, polynomial: Polynomial, index: Symbol) -> bool:
        """Return whether an expression has a value also where the index is out of range."""
        return all(
            index not in atom.free
            or (
                exponent > 0
                and atom.kind in _TOTAL
                and all(
                    self._is_total(inner, index)
                    for inner in atom.arguments
                    if isinstance(inner, Polynomial)
                )
            )
            for monomial, _ in polynomial.terms
            for atom, exponent in monomial
        )
