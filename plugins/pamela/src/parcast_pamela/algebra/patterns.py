"""How an index chooses among the instances of a resource, and what the busiest one gets."""

from __future__ import annotations

from parcast_pamela.algebra.forms import FloorForm
from parcast_pamela.algebra.polynomials import Polynomial, Symbol
from parcast_pamela.algebra.sums import Sums


class Patterns:
    """Residues, blocks and one to one; each method states what it takes to be one (W2 to W4)."""

    def __init__(self, sums: Sums) -> None:
        self.sums, self.forms, self.rules = sums, sums.forms, sums.rules
        self.kernel, self.signs = sums.kernel, sums.signs

    def injective(self, instance: Polynomial, index: Symbol) -> bool:
        """Return whether no two iterations choose the same instance."""
        line = self.forms.linear(instance, index)
        if line is None:
            return False
        return self.signs.positive(line.factor) or self.signs.positive(-line.factor)

    def largest_class(self, instance: Polynomial, index: Symbol) -> Polynomial | None:
        """Return how many iterations at most choose the same instance (W3).

        Residues of S i modulo M repeat after M / gcd(S, M): ceil(n gcd / M). Blocks of B: the
        least of n and B where an end is that of a block, else what the first two blocks hold.
        """
        count = self.rules.count(index.low, index.high)
        residues = self.residues(instance, index)
        if residues is not None:
            stride, size = residues
            if isinstance(stride, int):
                return self.rules.ceil(count / size)
            common = self.rules.function("gcd", stride, size)
            return self.rules.ceil(count * common / size)
        floor_form = self.floor_of(instance, index)
        if floor_form is None:
            return None
        size = floor_form.block.size
        first, last = floor_form.block.ends(index.low, index.high)
        smaller = self.rules.minimum([count, size])
        if self.divides(size, first) or self.divides(size, last + 1):
            return smaller
        head = size - self.rules.modulo(first, size)
        return self.rules.maximum(
            [self.rules.minimum([count, head]), self.rules.minimum([size, count - head])]
        )

    def largest_class_time(
        self, index: Symbol, instance: Polynomial, time: Polynomial
    ) -> Polynomial | None:
        """Return the demand on the class of the largest times, where times are monotone (W4)."""
        rising = self.signs.direction(time, index)
        if rising is None:
            return None
        residues = self.residues(instance, index)
        if residues is not None:
            stride, size = residues
            if stride not in {1, -1}:
                return None
            low, high = self.kernel.number(0), self.rules.floor((index.high - index.low) / size)
            q = self.kernel.index(low, high, [index])
            start = index.high if rising > 0 else index.low
            step = -rising * size * self.kernel.value(q)
            class_time = self.sums.sum(q, self.rules.replaced(time, index, start + step))
            return self.rules.not_empty(index.low, index.high) * class_time
        floor_form = self.floor_of(instance, index)
        if floor_form is None:
            return None
        size = floor_form.block.size
        first, last = floor_form.block.ends(index.low, index.high)
        if floor_form.block.sign < 0 or not self.divides(size, last + 1 if rising > 0 else first):
            return None
        if rising > 0:
            ends = self.rules.maximum([index.low, index.high - size + 1]), index.high
        else:
            ends = index.low, self.rules.minimum([index.high, index.low + size - 1])
        block = self.kernel.index(*ends, [index])
        return self.sums.sum(block, self.rules.replaced(time, index, self.kernel.value(block)))

    def residues(
        self, instance: Polynomial, index: Symbol
    ) -> tuple[int | Polynomial, Polynomial] | None:
        """Return (S, M) if the instance is (S i + c) mod M plus what is free of i, or None.

        S is 1 or -1, or an expression that is whole.
        """
        floor_term = self.forms.floor_term(instance, index)
        if floor_term is None:
            return None
        atom, factor, outside = floor_term
        size = -factor
        line = self.forms.linear(outside, index)
        if line is None or index in size.free or not self.signs.integer(size):
            return None
        if not self.signs.nonneg(size - 1) or not self.signs.integer(line.factor):
            return None
        inner = self.forms.linear(self.kernel.expanded(atom.arguments[0] * size), index)
        if inner is None or inner.factor is not line.factor or not self.signs.integer(inner.offset):
            return None
        stride = line.factor
        if stride.constant in {1, -1}:
            return int(stride.constant), size
        return stride, size

    def floor_of(self, instance: Polynomial, index: Symbol) -> FloorForm | None:
        """Return the form of an instance that is the floor of a block plus what is free of i."""
        form = self.forms.floor_form(instance, index)
        return None if form is None or form.factor.constant != 1 else form

    def divides(self, size: Polynomial, polynomial: Polynomial) -> bool:
        """Return whether an expression is certainly a multiple of a whole number."""
        return self.signs.integer(self.kernel.expanded(polynomial / size))
