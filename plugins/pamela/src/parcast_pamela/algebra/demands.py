"""The largest demand on any instance of a resource: omega, equation (4) of the paper.

The demand on instance x is delta(x) = sum over the loops of t [instance = x], with t >= 0. Each
rule below is an identity of this sum, and needs no more than what it says:

- W1 exchanges two sums (`nests`).
- W2 to W4 take a loop of their own for each dimension, its range free of other loops, and a t free
  of the loops, or monotone in the only one: then delta is t times the number of iterations of a
  class, or the sum of t over the class that holds the largest times, element by element.
- W6 is the sum itself for a label x, and the maximum over all labels. It is always right.

What fits none of W2 to W4 is left to W6. A new index is none that occurs in the instances or times.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from parcast_pamela.algebra.extremes import Extremes
from parcast_pamela.algebra.nests import Demand, Nests
from parcast_pamela.algebra.patterns import Patterns
from parcast_pamela.algebra.polynomials import Polynomial, Symbol


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
        self.nests, self.patterns = Nests(self.sums), Patterns(self.sums)

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
            return self.kernel.total(map(self._total_time, demands)) / instances.servers
        if not self.sums.closed:
            return self._by_instance(demands, instances)
        free = self.nests.selecting(demands)
        if not any(label in instances.servers.free for label in instances.labels):
            closed = self._closed(free, instances)
            if closed is not None:
                return closed / instances.servers
        return self._by_instance(free, instances)

    def _total_time(self, demand: Demand) -> Polynomial:
        """Return the time of all iterations together."""
        total = demand.time
        for index in reversed(demand.loops):
            total = self.sums.sum(index, total)
        return total

    # W2 to W5: closed forms by how an index chooses among the instances

    def _closed(self, demands: Sequence[Demand], instances: Instances) -> Polynomial | None:
        """Return uniform demands, which all instances share, plus that of one other pattern."""
        uniform, others = self.kernel.number(0), []
        for demand in demands:
            share = self._uniform(demand, instances)
            if share is None:
                others.append(demand)
            else:
                uniform = uniform + share
        if not others:
            return uniform
        if all(e.constant is not None for demand in others for e in demand.indices):
            return uniform + self._on_constants(others)
        if len(others) == 1 and (largest := self._one_pattern(others[0])) is not None:
            return uniform + largest
        return None

    def _on_constants(self, demands: Sequence[Demand]) -> Polynomial:
        """Return the largest demand on instances that are given by numbers."""
        totals: dict[tuple[Polynomial, ...], Polynomial] = {}
        for demand in demands:
            total = self._total_time(demand)
            totals[demand.indices] = (
                totals[demand.indices] + total if demand.indices in totals else total
            )
        return self.rules.maximum(totals.values())

    def _uniform(self, demand: Demand, instances: Instances) -> Polynomial | None:
        """Return the demand on every declared instance if it is certainly the same, else None."""
        if len(demand.indices) != 1 or not demand.loops:
            return None
        (low, high), (instance,) = instances.ranges[0], demand.indices
        if any(index in demand.time.free for index in demand.loops) or not self.signs.nonneg(
            high - low
        ):
            return None
        if len(demand.loops) == 1 and self._covers(demand.loops[0], instance, low, high):
            return demand.time
        if len(demand.loops) == 1 and (
            size := self._whole_blocks(demand.loops[0], instance, low, high)
        ):
            return demand.time * size
        return self._rotation(demand, instance, low, high)

    def _covers(
        self, index: Symbol, instance: Polynomial, low: Polynomial, high: Polynomial
    ) -> bool:
        """Return whether a loop visits each instance once."""
        line = self.sums.forms.linear(instance, index)
        if line is None or line.factor.constant not in {1, -1}:
            return False
        ends = [self.rules.replaced(instance, index, end) for end in (index.low, index.high)]
        return ends in ([low, high], [high, low])

    def _whole_blocks(
        self, index: Symbol, instance: Polynomial, low: Polynomial, high: Polynomial
    ) -> Polynomial | None:
        """Return B if a loop visits each instance B times, block by block."""
        floor_form = self.patterns.floor_of(instance, index)
        if floor_form is None:
            return None
        size, outside = floor_form.block.size, floor_form.remainder
        first, last = floor_form.block.ends(index.low, index.high)
        if (
            floor_form.block.sign < 0
            or not self.patterns.divides(size, first)
            or not self.patterns.divides(size, last + 1)
        ):
            return None
        ends = first / size + outside, (last + 1) / size - 1 + outside
        return size if ends == (low, high) else None

    def _rotation(
        self, demand: Demand, instance: Polynomial, low: Polynomial, high: Polynomial
    ) -> Polynomial | None:
        """Return the share of each residue where a loop goes round all of them evenly."""
        for index in demand.loops:
            others = [loop for loop in demand.loops if loop is not index]
            if any(index in o.low.free or index in o.high.free for o in others):
                continue
            residues = self.patterns.residues(instance, index)
            if residues is None or any(o in residues[1].free for o in others):
                continue
            stride, size = residues
            count = index.high - index.low + 1
            even = self.signs.nonneg(count) and self.patterns.divides(size, count)
            if stride in {1, -1} and even and low.constant == 0 and high is size - 1:
                total: Polynomial = demand.time * count / size
                for loop in reversed(others):
                    total = total * self.rules.count(loop.low, loop.high)
                if not any(o in total.free for o in demand.loops):
                    return total
        return None

    def _one_pattern(self, demand: Demand) -> Polynomial | None:
        """Return the largest demand of one pattern, or None."""
        if not demand.loops:
            return demand.time
        if len(demand.loops) == 1:
            return self._one_loop(demand.loops[0], demand)
        return self._separable(demand)

    def _one_loop(self, index: Symbol, demand: Demand) -> Polynomial | None:
        moving = [instance for instance in demand.indices if index in instance.free]
        for instance in moving:
            if self.patterns.injective(instance, index):  # each instance at most once
                return self.extremes.top(index, demand.time)
        if len(moving) != 1:
            return None
        if index not in demand.time.free:
            count = self.patterns.largest_class(moving[0], index)
            return None if count is None else demand.time * count
        return self.patterns.largest_class_time(index, moving[0], demand.time)

    def _separable(self, demand: Demand) -> Polynomial | None:
        """Return the product over dimensions, each with a loop of its own."""
        total = demand.time
        for index in demand.loops:
            moving = [instance for instance in demand.indices if index in instance.free]
            others = [loop for loop in demand.loops if loop is not index]
            if len(moving) != 1 or index in demand.time.free:
                return None
            if any(o in moving[0].free or index in o.low.free | o.high.free for o in others):
                return None
            count = (
                self.rules.not_empty(index.low, index.high)
                if self.patterns.injective(moving[0], index)
                else self.patterns.largest_class(moving[0], index)
            )
            if count is None:
                return None
            total = total * count
        return total

    # W6: a closed demand for each instance, and the largest of these

    def _by_instance(self, demands: Sequence[Demand], instances: Instances) -> Polynomial:
        labels: list[Symbol] = []
        values: list[Polynomial] = []
        seen = {s for demand in demands for e in (demand.time, *demand.indices) for s in e.free}
        seen.update(s for demand in demands for s in demand.loops)
        for low, high in instances.ranges:
            label = self.kernel.index(low, high, [*labels, *seen])
            labels.append(label)
            values.append(self.kernel.value(label))
        total = self.kernel.number(0)
        for demand in demands:
            time = demand.time
            for instance, value in zip(demand.indices, values, strict=True):
                time = time * self.rules.zero(instance - value)
            total = total + self._total_time(attrs.evolve(demand, time=time))
        label_values = dict(zip(instances.labels, values, strict=True)) if instances.labels else {}
        total = total / self.kernel.rebuilt(instances.servers, label_values, self.rules.make)
        for label in reversed(labels):
            total = self.extremes.top(label, total)
        return total
