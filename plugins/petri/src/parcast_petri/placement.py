"""Which node for which process: the allocation that a program takes least time on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model import Nodes as Machines
from parcast.model import Query
from parcast.quantities import Estimate, paired
from parcast_petri.machine.background import Background
from parcast_petri.machine.links import Links
from parcast_petri.options import sampled_options
from parcast_petri.programs.nodes import Nodes
from parcast_petri.solvers.explicit import Explicit, replications
from parcast_petri.solvers.mean import Mean
from parcast_petri.solvers.preparation import build_program, loads

#: So many allocations or fewer are all tried.
MOST_TRIED = 2000


@attrs.frozen
class Kind:
    """Nodes that are all alike."""

    weight: float
    utilization: float
    networks: tuple[int, ...]  #: those of the machine's further networks that they are on
    nodes: tuple[int, ...]


@attrs.frozen
class Allocation:
    """A node for each process, and what the program then takes."""

    mapping: tuple[int, ...]
    value: float  #: seconds: the mean, or the quantile that was asked for


@attrs.define
class PlacementSearch:
    """A search among allocations.

    ``quantile`` None asks for the mean by `petri.mean`; a level, such as 0.95, is asked of
    `petri.explicit`, every allocation with the same random numbers.
    """

    query: Query
    quantile: float | None = None
    runs: int = 200
    tried: dict[tuple[int, ...], float] = attrs.field(factory=dict)

    @property
    def cores(self) -> int:
        """The cores of a node, each of which one process may have."""
        return self.query.machine.nodes.cores

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kinds of nodes."""
        machine = self.query.machine
        if machine.nodes.number is None:
            raise UnsupportedError(
                f"machine {machine.name!r} states no nodes.count, so there is nothing to choose "
                "from; state it"
            )
        background = machine.part("background", Background)
        links = machine.part("links", Links)
        networks = links.networks if links else ()
        nodes_by_kind: dict[tuple[float, float, tuple[int, ...]], list[int]] = {}
        for node, weight in enumerate(_weights(machine.nodes)):
            utilization = background.of(node) if background else 0.0
            networks_of_node = tuple(
                number for number, network in enumerate(networks) if node in network.nodes
            )
            nodes_by_kind.setdefault((weight, utilization, networks_of_node), []).append(node)
        return [Kind(*properties, tuple(nodes)) for properties, nodes in nodes_by_kind.items()]

    def value(self, mapping: tuple[int, ...]) -> float:
        """Return what the program takes with processes on these nodes."""
        mapping = self._canonical(mapping)
        if mapping not in self.tried:
            self.tried[mapping] = self._solved(attrs.evolve(self.query, mapping=mapping))
        return self.tried[mapping]

    def _canonical(self, mapping: tuple[int, ...]) -> tuple[int, ...]:
        """Return the allocation that differs by names of nodes of a kind, in their order."""
        unused = {id(kind): iter(kind.nodes) for kind in self.kinds}
        kind_of = {node: id(kind) for kind in self.kinds for node in kind.nodes}
        names: dict[int, int] = {}
        for node in mapping:
            if node not in names:
                names[node] = next(unused[kind_of[node]])
        return tuple(names[node] for node in mapping)

    def _solved(self, query: Query) -> float:
        solver: Any = Mean()
        if self.quantile is not None:
            solver = Explicit()
            options = sampled_options(
                self.query.options, tolerance=1e-9, most=self.runs, quantile=self.quantile
            )
            query = query.with_options(options)
        if reason := solver.supports(query):
            raise UnsupportedError(reason)
        prediction = solver.solve(query)
        value = (
            prediction.time if self.quantile is None else prediction.quantiles.get(self.quantile)
        )
        return float(prediction.time if value is None else value)

    def best(self) -> Allocation:
        """Return the best allocation: of all of them, or where a search ends."""
        room = sum(len(kind.nodes) for kind in self.kinds) * self.cores
        if room < self.query.p:
            raise InvalidPointError(f"{self.query.p} processes and {room} cores; use a smaller p")
        chosen = min(self.candidates, key=self.value) if self.candidates else self._hill_climb()
        return Allocation(self._canonical(chosen), self.value(chosen))

    @cached_property
    def candidates(self) -> list[tuple[int, ...]]:
        """All allocations that differ; none where they are too many to be tried."""
        allocations = [*islice(self._allocations(), MOST_TRIED + 1)]
        return allocations if len(allocations) <= MOST_TRIED else []

    def _allocations(self) -> Iterator[tuple[int, ...]]:
        partial: list[tuple[int, ...]] = [()]
        while partial:
            mapping = partial.pop()
            if len(mapping) == self.query.p:
                yield mapping
            else:
                partial += [(*mapping, node) for node in self._free(mapping)]

    def _free(self, mapping: tuple[int, ...]) -> Iterator[int]:
        """Yield the nodes for one more process: those with a core, and one unused of a kind."""
        used = Counter(mapping)
        for kind in self.kinds:
            yield from (node for node in kind.nodes if 0 < used[node] < self.cores)
            yield from islice((node for node in kind.nodes if not used[node]), 1)

    def _hill_climb(self) -> tuple[int, ...]:
        """Return where no move of one process and no exchange of two is any better."""
        fastest = sorted(self.kinds, key=lambda kind: (kind.utilization - 1) * kind.weight)
        cores = (node for kind in fastest for node in kind.nodes for _ in range(self.cores))
        chosen = tuple(islice(cores, self.query.p))
        better = True
        while better and len(self.tried) < MOST_TRIED:
            better = False
            for neighbor in self._neighbors(chosen):
                if self.value(neighbor) < self.value(chosen):
                    chosen, better = neighbor, True
                    break
        return chosen

    def _neighbors(self, mapping: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for rank, node in enumerate(mapping):
            before, after = mapping[:rank], mapping[rank + 1 :]
            for free in self._free((*before, *after)):
                yield (*before, free, *after)
            for other_rank in range(rank):
                if mapping[other_rank] != node:
                    swapped = list(mapping)
                    swapped[rank], swapped[other_rank] = swapped[other_rank], node
                    yield tuple(swapped)


def _weights(nodes: Machines) -> list[float]:
    """Return the weight of each node."""
    stated = [group.weight for group in nodes.groups for _ in range(group.count)]
    count = nodes.number or 0
    return [*stated, *[1.0] * (count - len(stated))][:count]


def blame(query: Query, runs: int) -> list[tuple[int, Estimate]]:
    """Return for each loaded node how much sooner the program ends without its load.

    In seconds, the worst first; by `petri.explicit`, run by run with the same random numbers.
    """
    loaded = sorted(loads(query))
    background = query.machine.part("background", Background)
    if not loaded or background is None:
        return []
    whole = _times(query, runs)
    costs: list[tuple[int, Estimate]] = []
    for node in loaded:
        used = tuple(0.0 if n == node else background.of(n) for n in range(max(loaded) + 1))
        parts = {
            **query.machine.parts,
            "background": attrs.evolve(background, nodes=used, utilization=0.0),
        }
        unloaded = attrs.evolve(query, machine=attrs.evolve(query.machine, parts=parts))
        costs.append((node, paired(whole, _times(unloaded, runs))))
    return sorted(costs, key=lambda cost: -cost[1].mean)


def _times(query: Query, runs: int) -> NDArray[np.float64]:
    """Return the program's time in each of so many runs."""
    options = sampled_options(query.options, tolerance=1e-9, most=runs)
    program = build_program(query, Nodes(loads(query), explicit=True))
    return replications(query.with_options(options), program, least=runs).replications.values
