"""The largest demand on any instance of a resource: omega, equation (4) of the paper.

The demand on instance x is delta(x) = sum over the loops of t [place = x], with t >= 0. Each rule
below is an identity of this sum, and needs no more than what it says:

- W1 exchanges two sums. i in a(k)..b(k) becomes i in a hull free of k, which holds a(k)..b(k) for
  every k, times [i >= a(k)] [i <= b(k)]; so every pair (k, i) counts once, empty ranges never.
- W2 to W4 take a loop of their own for each dimension, its range free of other loops, and a t free
  of the loops, or monotone in the only one: then delta is t times the number of iterations of a
  class, or the sum of t over the class that holds the largest times, element by element.
- W6 is the sum itself for a label x, and the maximum over all labels. It is always right.

What fits none of W2 to W4 is left to W6. A new index is none that occurs in the places or times.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from parcast_pamela.algebra.extremes import Extremes
from parcast_pamela.algebra.patterns import Patterns
from parcast_pamela.algebra.polynomials import Polynomial, Symbol
from parcast_pamela.algebra.sums import UNROLLED


@attrs.frozen
class Demand:
    """Time asked of ``resource[indices]`` by each iteration of loops, the outermost first."""

    resource: str
    indices: tuple[Polynomial, ...]
    time: Polynomial
    loops: tuple[Symbol, ...] = ()


@attrs.frozen
class Instances:
    """The declared ranges of a resource, and how many servers an instance has.

    ``servers`` depends on ``labels``, an index for each dimension, where instances differ.
    """

    ranges: tuple[tuple[Polynomial, Polynomial], ...]
    servers: Polynomial
    labels: tuple[Symbol, ...] = ()


class Demands:
    """Maxima of demands over instances; each method states what it takes to be closed."""

    def __init__(self, extremes: Extremes) -> None:
        self.extremes, self.sums, self.rules = extremes, extremes.sums, extremes.rules
        self.kernel, self.signs = extremes.kernel, extremes.signs
        self.patterns = Patterns(self.sums)

    def largest(self, demands: Sequence[Demand], instances: Instances) -> Polynomial:
        """Return the largest demand per server on one instance of one resource.

        Parameters
        ----------
        demands
            All of the same resource.
        instances
            Its declaration.
        """
        if not instances.ranges:
            return self.kernel.total(map(self._whole, demands)) / instances.servers
        if not self.sums.closed:
            return self._each(demands, instances)
        short = [part for one in demands for part in self._unrolled(one)]
        free = [self._selecting(one) for one in self._merged(short)]
        free = [one for one in self._merged(free) if one.time.terms]
        if not any(label in instances.servers.free for label in instances.labels):
            found = self._closed(free, instances)
            if found is not None:
                return found / instances.servers
        return self._each(free, instances)

    def _whole(self, one: Demand) -> Polynomial:
        """Return the time of all iterations together."""
        total = one.time
        for index in reversed(one.loops):
            total = self.sums.sum(index, total)
        return total

    def _merged(self, demands: Sequence[Demand]) -> list[Demand]:
        """Return demands with the times of equal instances and loops added."""
        found: dict[tuple[object, ...], Demand] = {}
        for one in demands:
            key = one.indices, one.loops
            before = found.get(key)
            found[key] = attrs.evolve(one, time=before.time + one.time) if before else one
        return list(found.values())

    def _unrolled(self, one: Demand) -> list[Demand]:
        """Return a demand for each iteration of short loops that select the instance."""
        for place, index in enumerate(one.loops):
            length = (index.high - index.low).constant
            if length is None or length >= UNROLLED:
                continue
            if not any(index in e.free for e in one.indices):
                continue
            parts = []
            for step in range(int(length) + 1):
                swap = {index: index.low + step}
                loops = list(one.loops[:place])
                for other in one.loops[place + 1 :]:
                    low, high = (self._replaced(e, swap) for e in (other.low, other.high))
                    name = self.kernel.index(low, high, [*one.loops, *loops])
                    swap[other] = self.kernel.value(name)
                    loops.append(name)
                indices = tuple(self._replaced(e, swap) for e in one.indices)
                time = self._replaced(one.time, swap)
                parts += self._unrolled(Demand(one.resource, indices, time, tuple(loops)))
            return parts
        return [one]

    # W1: loops that do not select the instance are summed, the others moved out of them

    def _selecting(self, one: Demand) -> Demand:
        """Return the same demand with only those loops that select an instance, if possible."""
        loops, indices, time = list(one.loops), one.indices, one.time
        place = len(loops) - 1
        while place >= 0:
            index = loops[place]
            if any(index in e.free for e in indices):
                place -= 1
                continue
            inner = self._independent(index, loops[place + 1 :], indices, time)
            if inner is not None:
                moved, indices, time = inner
                loops = [*loops[:place], *moved]
                time = self.sums.sum(index, time)
            place -= 1
        return Demand(one.resource, indices, time, tuple(loops))

    def _independent(
        self,
        outer: Symbol,
        inner: list[Symbol],
        indices: tuple[Polynomial, ...],
        time: Polynomial,
    ) -> tuple[list[Symbol], tuple[Polynomial, ...], Polynomial] | None:
        """Return inner loops over ranges free of an outer index, their brackets in the time.

        i from a(k) to b(k) is i over the hull of all these ranges, times [i >= a(k)] and
        [i <= b(k)]; the hull is known where a and b are monotone in k.
        """
        done: list[Symbol] = []
        while inner:
            index, inner = inner[0], inner[1:]
            if outer in index.low.free or outer in index.high.free:
                ends = self._hull(index, outer)
                if ends is None:
                    return None
                new = self.kernel.index(*ends, [*done, outer, *inner])
                i = self.kernel.value(new)
                swap = {index: i}
                indices = tuple(self._replaced(e, swap) for e in indices)
                inside = self.rules.nonnegative(i - index.low) * self.rules.nonnegative(
                    index.high - i
                )
                time = self._replaced(time, swap) * inside
                renamed = []
                for other in inner:  # their ranges may depend on this index
                    low, high = (self._replaced(e, swap) for e in (other.low, other.high))
                    if low is other.low and high is other.high:
                        renamed.append(other)
                        continue
                    name = self.kernel.index(low, high, [*done, outer, new, *inner, *renamed])
                    again = {other: self.kernel.value(name)}
                    indices = tuple(self._replaced(e, again) for e in indices)
                    time = self._replaced(time, again)
                    renamed.append(name)
                    swap |= again
                index, inner = new, renamed
            done.append(index)
        return done, indices, time

    def _replaced(self, one: Polynomial, values: dict[Symbol, Polynomial]) -> Polynomial:
        return self.kernel.rebuilt(one, values, self.rules.make)

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

    # W2 to W5: closed forms by how an index chooses among the instances

    def _closed(self, demands: Sequence[Demand], instances: Instances) -> Polynomial | None:
        """Return uniform demands, which all instances share, plus that of one other pattern."""
        uniform, others = self.kernel.number(0), []
        for one in demands:
            share = self._uniform(one, instances)
            if share is None:
                others.append(one)
            else:
                uniform = uniform + share
        if not others:
            return uniform
        if all(e.constant is not None for one in others for e in one.indices):
            return uniform + self._fixed(others)
        if len(others) == 1 and (found := self._single(others[0])) is not None:
            return uniform + found
        return None

    def _fixed(self, demands: Sequence[Demand]) -> Polynomial:
        """Return the largest demand on instances that are given by numbers."""
        found: dict[tuple[Polynomial, ...], Polynomial] = {}
        for one in demands:
            total = self._whole(one)
            found[one.indices] = found[one.indices] + total if one.indices in found else total
        return self.rules.maximum(found.values())

    def _uniform(self, one: Demand, instances: Instances) -> Polynomial | None:
        """Return the demand on every declared instance if it is certainly the same, else None."""
        if len(one.indices) != 1 or not one.loops:
            return None
        (low, high), (place,) = instances.ranges[0], one.indices
        if any(index in one.time.free for index in one.loops) or not self.signs.nonneg(high - low):
            return None
        if len(one.loops) == 1 and self._covers(one.loops[0], place, low, high):
            return one.time
        if len(one.loops) == 1 and (size := self._whole_blocks(one.loops[0], place, low, high)):
            return one.time * size
        return self._rotation(one, place, low, high)

    def _covers(self, index: Symbol, place: Polynomial, low: Polynomial, high: Polynomial) -> bool:
        """Return whether a loop visits each instance once."""
        line = self.sums.linear(place, index)
        if line is None or line.factor.constant not in {1, -1}:
            return False
        ends = [self.rules.replaced(place, index, end) for end in (index.low, index.high)]
        return ends in ([low, high], [high, low])

    def _whole_blocks(
        self, index: Symbol, place: Polynomial, low: Polynomial, high: Polynomial
    ) -> Polynomial | None:
        """Return B if a loop visits each instance B times, block by block."""
        found = self.patterns.floor_of(place, index)
        if found is None:
            return None
        (sign, offset, size), outside = found
        first, last = index.low + offset, index.high + offset
        if (
            sign < 0
            or not self.patterns.divides(size, first)
            or not self.patterns.divides(size, last + 1)
        ):
            return None
        ends = first / size + outside, (last + 1) / size - 1 + outside
        return size if ends == (low, high) else None

    def _rotation(
        self, one: Demand, place: Polynomial, low: Polynomial, high: Polynomial
    ) -> Polynomial | None:
        """Return the share of each residue where a loop goes round all of them evenly."""
        for index in one.loops:
            others = [other for other in one.loops if other is not index]
            if any(index in o.low.free or index in o.high.free for o in others):
                continue
            found = self.patterns.residues(place, index)
            if found is None or any(o in found[1].free for o in others):
                continue
            stride, size = found
            count = index.high - index.low + 1
            even = self.signs.nonneg(count) and self.patterns.divides(size, count)
            if stride in {1, -1} and even and low.constant == 0 and high is size - 1:
                total: Polynomial = one.time * count / size
                for other in reversed(others):
                    total = total * self.rules.count(other.low, other.high)
                if not any(o in total.free for o in one.loops):
                    return total
        return None

    def _single(self, one: Demand) -> Polynomial | None:
        """Return the largest demand of one pattern, or None."""
        if not one.loops:
            return one.time
        if len(one.loops) == 1:
            return self._one_loop(one.loops[0], one)
        return self._separable(one)

    def _one_loop(self, index: Symbol, one: Demand) -> Polynomial | None:
        moving = [place for place in one.indices if index in place.free]
        for place in moving:
            if self.patterns.injective(place, index):  # each instance at most once
                return self.extremes.top(index, one.time)
        if len(moving) != 1:
            return None
        if index not in one.time.free:
            most = self.patterns.most(moving[0], index)
            return None if most is None else one.time * most
        return self.patterns.uneven(index, moving[0], one.time)

    def _separable(self, one: Demand) -> Polynomial | None:
        """Return the product over dimensions, each with a loop of its own."""
        total = one.time
        for index in one.loops:
            moving = [place for place in one.indices if index in place.free]
            others = [other for other in one.loops if other is not index]
            if len(moving) != 1 or index in one.time.free:
                return None
            if any(o in moving[0].free or index in o.low.free | o.high.free for o in others):
                return None
            most = (
                self.rules.some(index.low, index.high)
                if self.patterns.injective(moving[0], index)
                else self.patterns.most(moving[0], index)
            )
            if most is None:
                return None
            total = total * most
        return total

    # W6: a closed demand for each instance, and the largest of these

    def _each(self, demands: Sequence[Demand], instances: Instances) -> Polynomial:
        labels: list[Symbol] = []
        values: list[Polynomial] = []
        seen = {s for one in demands for e in (one.time, *one.indices) for s in e.free}
        seen.update(s for one in demands for s in one.loops)
        for low, high in instances.ranges:
            label = self.kernel.index(low, high, [*labels, *seen])
            labels.append(label)
            values.append(self.kernel.value(label))
        total = self.kernel.number(0)
        for one in demands:
            time = one.time
            for place, value in zip(one.indices, values, strict=True):
                time = time * self.rules.zero(place - value)
            total = total + self._whole(attrs.evolve(one, time=time))
        own = dict(zip(instances.labels, values, strict=True)) if instances.labels else {}
        total = total / self._replaced(instances.servers, own)
        for label in reversed(labels):
            total = self.extremes.top(label, total)
        return total
