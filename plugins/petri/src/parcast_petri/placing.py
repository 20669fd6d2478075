"""Which node for which process: the allocation that a program takes least time on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import attrs

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.machine import Nodes
from parcast.query import Query
from parcast_petri.background import Background
from parcast_petri.explicit import Explicit
from parcast_petri.mean import Mean
from parcast_petri.options import sampled

#: So many allocations or fewer are all tried.
MOST_TRIED = 2000


@attrs.frozen
class Kind:
    """Nodes that are all alike."""

    weight: float
    utilization: float
    nodes: tuple[int, ...]


@attrs.frozen
class Allocation:
    """A node for each process, and what the program then takes."""

    mapping: tuple[int, ...]
    value: float  #: seconds: the mean, or the quantile that was asked for


@attrs.define
class Placing:
    """A search among allocations.

    ``quantile`` None asks for the mean by `petri.mean`; a level, such as 0.95, is asked of
    `petri.explicit`, every allocation with the same random numbers.
    """

    query: Query
    quantile: float | None = None
    runs: int = 200
    tried: dict[tuple[int, ...], float] = attrs.field(factory=dict)

    def kinds(self) -> list[Kind]:
        """Return the kinds of nodes."""
        nodes = self.query.machine.nodes
        if nodes.number is None:
            raise UnsupportedError(
                f"machine {self.query.machine.name!r} states no nodes.count, so there is nothing "
                "to choose from; state it"
            )
        background = self.query.machine.part("background", Background)
        weights = _weights(nodes)
        alike: dict[tuple[float, float], list[int]] = {}
        for node in range(nodes.number):
            used = background.of(node) if background else 0.0
            alike.setdefault((weights[node], used), []).append(node)
        return [Kind(weight, used, tuple(found)) for (weight, used), found in alike.items()]

    def value(self, mapping: tuple[int, ...]) -> float:
        """Return what the program takes with processes on these nodes."""
        if mapping not in self.tried:
            self.tried[mapping] = self._asked(attrs.evolve(self.query, mapping=mapping))
        return self.tried[mapping]

    def _asked(self, query: Query) -> float:
        solver: Any = Mean()
        if self.quantile is not None:
            solver = Explicit()
            options = sampled(
                self.query.options, tolerance=1e-9, most=self.runs, quantile=self.quantile
            )
            query = query.with_options(options)
        if reason := solver.supports(query):
            raise UnsupportedError(reason)
        found = solver.solve(query)
        value = found.time if self.quantile is None else found.quantiles.get(self.quantile)
        return float(found.time if value is None else value)

    def best(self) -> Allocation:
        """Return the best allocation: of all of them, or where a search ends."""
        kinds = self.kinds()
        room = sum(len(kind.nodes) for kind in kinds) * self.query.machine.nodes.cores
        if room < self.query.p:
            raise InvalidPointError(f"{self.query.p} processes and {room} cores; ask a smaller p")
        if len(kinds) ** self.query.p <= MOST_TRIED:
            chosen = min(
                (self._mapped(kinds, choice) for choice in self._choices(kinds)), key=self.value
            )
        else:
            chosen = self._climbed(kinds)
        return Allocation(chosen, self.value(chosen))

    def _choices(self, kinds: list[Kind]) -> Iterator[tuple[int, ...]]:
        for choice in product(range(len(kinds)), repeat=self.query.p):
            if self._fits(kinds, choice):
                yield choice

    def _fits(self, kinds: list[Kind], choice: tuple[int, ...]) -> bool:
        cores = self.query.machine.nodes.cores
        return all(
            count <= len(kinds[kind].nodes) * cores for kind, count in Counter(choice).items()
        )

    def _mapped(self, kinds: list[Kind], choice: tuple[int, ...]) -> tuple[int, ...]:
        """Return the nodes of processes: those of a kind fill its nodes one after another."""
        cores, filled, mapping = self.query.machine.nodes.cores, [0] * len(kinds), []
        for kind in choice:
            mapping.append(kinds[kind].nodes[filled[kind] // cores])
            filled[kind] += 1
        return tuple(mapping)

    def _climbed(self, kinds: list[Kind]) -> tuple[int, ...]:
        """Return where no move of one process and no exchange of two is any better."""
        speed = [(1 - kind.utilization) * kind.weight for kind in kinds]
        order = sorted(range(len(kinds)), key=lambda kind: -speed[kind])
        slots = [
            kind
            for kind in order
            for _ in range(len(kinds[kind].nodes) * self.query.machine.nodes.cores)
        ]
        choice = tuple(slots[: self.query.p])
        found = self.value(self._mapped(kinds, choice))
        better = True
        while better and len(self.tried) < MOST_TRIED:
            better = False
            for other in self._around(kinds, choice):
                value = self.value(self._mapped(kinds, other))
                if value < found:
                    choice, found, better = other, value, True
                    break
        return self._mapped(kinds, choice)

    def _around(self, kinds: list[Kind], choice: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for rank in range(len(choice)):
            for kind in range(len(kinds)):
                moved = (*choice[:rank], kind, *choice[rank + 1 :])
                if kind != choice[rank] and self._fits(kinds, moved):
                    yield moved
            for other in range(rank):
                if choice[other] != choice[rank]:
                    swapped = list(choice)
                    swapped[rank], swapped[other] = swapped[other], swapped[rank]
                    yield tuple(swapped)


def _weights(nodes: Nodes) -> list[float]:
    """Return the weight of each node."""
    stated = [group.weight for group in nodes.groups for _ in range(group.count)]
    count = nodes.number or 0
    return [*stated, *[1.0] * (count - len(stated))][:count]


def blame(query: Query, runs: int) -> list[tuple[int, float]]:
    """Return for each loaded node how much sooner the program ends without its load.

    In seconds, the worst first; by `petri.explicit`, with the same random numbers for all.
    """
    from parcast_petri.questions import loads

    loaded = sorted(loads(query))
    background = query.machine.part("background", Background)
    if not loaded or background is None:
        return []
    options = sampled(query.options, tolerance=1e-9, most=runs)
    whole = Explicit().solve(query.with_options(options)).time
    assert whole is not None
    found = []
    for node in loaded:
        used = tuple(0.0 if n == node else background.of(n) for n in range(max(loaded) + 1))
        parts = {
            **query.machine.parts,
            "background": attrs.evolve(background, nodes=used, utilization=0.0),
        }
        other = attrs.evolve(query, machine=attrs.evolve(query.machine, parts=parts))
        without = Explicit().solve(other.with_options(options)).time
        assert without is not None
        found.append((node, whole - without))
    return sorted(found, key=lambda one: -one[1])
