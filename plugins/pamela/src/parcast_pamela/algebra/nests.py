"""Demands by loops that select instances: short loops written out, the others moved outwards.

W1 exchanges two sums. i in a(k)..b(k) becomes i in a hull free of k, which holds a(k)..b(k) for
every k, times [i >= a(k)] [i <= b(k)]; so every pair (k, i) counts once, empty ranges never. A new
index is none that occurs in the instances or times.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from parcast_pamela.algebra.polynomials import Polynomial, Symbol
from parcast_pamela.algebra.sums import UNROLLED, Sums


@attrs.frozen
class Demand:
    """Time asked of ``resource[indices]`` by each iteration of loops, the outermost first."""

    resource: str
    indices: tuple[Polynomial, ...]
    time: Polynomial
    loops: tuple[Symbol, ...] = ()


def merge_demands(demands: Iterable[Demand]) -> list[Demand]:
    """Return demands, those of the same iterations on the same instance added."""
    merged: dict[tuple[object, ...], Demand] = {}
    for demand in demands:
        key = demand.resource, demand.indices, demand.loops
        before = merged.get(key)
        merged[key] = attrs.evolve(demand, time=before.time + demand.time) if before else demand
    return list(merged.values())


class Nests:
    """Demands within loops, brought to the loops that select an instance."""

    def __init__(self, sums: Sums) -> None:
        self.sums, self.rules, self.kernel, self.signs = sums, sums.rules, sums.kernel, sums.signs

    def selecting(self, demands: Iterable[Demand]) -> list[Demand]:
        """Return the same demands, as far as possible within loops that select an instance."""
        short = [part for demand in demands for part in self._unrolled(demand)]
        moved = [self._selecting_loops(demand) for demand in merge_demands(short)]
        return [demand for demand in merge_demands(moved) if demand.time.terms]

    def _unrolled(self, demand: Demand) -> list[Demand]:
        """Return a demand for each iteration of short loops that select the instance."""
        for position, index in enumerate(demand.loops):
            length = (index.high - index.low).constant
            if length is None or length >= UNROLLED:
                continue
            if not any(index in e.free for e in demand.indices):
                continue
            parts = []
            for step in range(int(length) + 1):
                swap = {index: index.low + step}
                loops = list(demand.loops[:position])
                for inner in demand.loops[position + 1 :]:
                    low, high = (self._replaced(e, swap) for e in (inner.low, inner.high))
                    name = self.kernel.index(low, high, [*demand.loops, *loops])
                    swap[inner] = self.kernel.value(name)
                    loops.append(name)
                indices = tuple(self._replaced(e, swap) for e in demand.indices)
                time = self._replaced(demand.time, swap)
                parts += self._unrolled(Demand(demand.resource, indices, time, tuple(loops)))
            return parts
        return [demand]

    # W1: loops that do not select the instance are summed, the others moved out of them

    def _selecting_loops(self, demand: Demand) -> Demand:
        """Return the same demand with only those loops that select an instance, if possible."""
        loops, indices, time = list(demand.loops), demand.indices, demand.time
        position = len(loops) - 1
        while position >= 0:
            index = loops[position]
            if any(index in e.free for e in indices):
                position -= 1
                continue
            inner = self._independent(index, loops[position + 1 :], indices, time)
            if inner is not None:
                moved, indices, time = inner
                loops = [*loops[:position], *moved]
                time = self.sums.sum(index, time)
            position -= 1
        return Demand(demand.resource, indices, time, tuple(loops))

    def _independent(
        self, outer: Symbol, inner: list[Symbol], indices: tuple[Polynomial, ...], time: Polynomial
    ) -> tuple[list[Symbol], tuple[Polynomial, ...], Polynomial] | None:
        """Return inner loops over ranges free of an outer index, their brackets in the time.

        i from a(k) to b(k) is i over the hull of all these ranges, times [i >= a(k)] and
        [i <= b(k)]; the hull is known where a and b are monotone in k.
        """
        moved: list[Symbol] = []
        while inner:
            index, inner = inner[0], inner[1:]
            if outer in index.low.free or outer in index.high.free:
                ends = self._hull(index, outer)
                if ends is None:
                    return None
                new = self.kernel.index(*ends, [*moved, outer, *inner])
                i = self.kernel.value(new)
                swap = {index: i}
                indices = tuple(self._replaced(e, swap) for e in indices)
                inside = self.rules.nonnegative(i - index.low) * self.rules.nonnegative(
                    index.high - i
                )
                time = self._replaced(time, swap) * inside
                renamed = []
                for loop in inner:  # their ranges may depend on this index
                    low, high = (self._replaced(e, swap) for e in (loop.low, loop.high))
                    if low is loop.low and high is loop.high:
                        renamed.append(loop)
                        continue
                    name = self.kernel.index(low, high, [*moved, outer, new, *inner, *renamed])
                    renaming = {loop: self.kernel.value(name)}
                    indices = tuple(self._replaced(e, renaming) for e in indices)
                    time = self._replaced(time, renaming)
                    renamed.append(name)
                    swap |= renaming
                index, inner = new, renamed
            moved.append(index)
        return moved, indices, time

    def _replaced(self, polynomial: Polynomial, values: dict[Symbol, Polynomial]) -> Polynomial:
        return self.kernel.rebuilt(polynomial, values, self.rules.make)

    def _hull(self, index: Symbol, outer: Symbol) -> tuple[Polynomial, Polynomial] | None:
        rising = self.signs.direction(index.low, outer), self.signs.direction(index.high, outer)
        if None in rising:
            return None
        low = outer.low if rising[0] != -1 else outer.high
        high = outer.high if rising[1] != -1 else outer.low
        return (
            self.rules.replaced(index.low, outer, low),
            self.rules.replaced(index.high, outer, high),
        )
