"""All messages of a program in columns: what each takes, and what it shares with others."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs, Query
from parcast.program.matching import Matched
from parcast_petri.nets.arcs import Whole
from parcast_petri.nets.net import Link, Tokens
from parcast_petri.options import Options
from parcast_petri.programs.flows import ALONE, Flows, class_load
from parcast_petri.programs.networks import Wires, networks_of, routes
from parcast_petri.programs.rates import Rates
from parcast_petri.programs.transfers import refuse_sharing

Reals = NDArray[np.float64]


@attrs.frozen(eq=False)
class Messages:
    """All messages, in the order of the operations that send them."""

    startup: Reals
    transfer: Reals
    group: Whole  #: of those that share links alike; -1: nothing is shared
    groups: Sequence[tuple[str, Tokens]]  #: load and speed of each
    links: tuple[Link, ...]

    @classmethod
    def of(cls, program: Matched, costs: Costs, query: Query, options: Options) -> Messages:
        """Return what the messages of a program take, and what they share."""
        columns, networks = program.columns, networks_of(query, costs)
        sends = np.flatnonzero(columns.dst >= 0)
        src, dst = columns.rank_of(sends), columns.dst[sends].astype(np.int64)
        size = columns.amount[sends]
        number, startup, transfer = (
            np.broadcast_to(column, len(sends))
            for column in routes(costs, networks, src, dst, size)
        )
        startup, transfer = startup.astype(float), transfer.astype(float)
        refuse_sharing(networks, options)
        if costs.contention == "fair" and options.sharing == "max_min":
            flows = Flows.of(costs, src, dst, size)
            names = map(class_load, range(int(flows.number.max(initial=ALONE)) + 1))
            groups = [(name, Tokens.fair(name)) for name in names]
            transfer = np.where(flows.number == ALONE, transfer, flows.work)
            return cls(startup, transfer, flows.number, groups, flows.links)
        node = costs.placement.node
        sharing = _Sharing(networks, number, node[src], node[dst], options)
        return cls(startup, transfer, *sharing.groups())


@attrs.frozen(eq=False)
class _Sharing:
    """Messages that share ports or a bus."""

    networks: Sequence[Wires]
    number: Whole  #: of each message its network
    src: Whole  #: nodes
    dst: Whole
    options: Options

    def groups(self) -> tuple[Whole, list[tuple[str, Tokens]], tuple[Link, ...]]:
        """Return the group of each message, load and speed of each group, and all links."""
        group = np.full(len(self.src), -1)
        groups: list[tuple[str, Tokens]] = []
        links: list[Link] = []
        for wires in self.networks:
            crosses = (self.number == wires.number) & (self.src != self.dst)
            if wires.contention in ("none", "fair") or self.options.sharing == "none":
                continue
            key = self.src[crosses] * (int(self.dst.max(initial=0)) + 1) + self.dst[crosses]
            _, first, which = np.unique(key, return_index=True, return_inverse=True)
            ends = [*zip(self.src[crosses][first], self.dst[crosses][first], strict=True)]
            pairs = [(int(src), int(dst)) for src, dst in ends]
            rates = Rates(wires, frozenset(pairs), fair=self.options.sharing == "max_min")
            group[crosses] = which.ravel() + len(groups)
            groups += [(rates.load(*pair), rates.speed(*pair)) for pair in pairs]
            links += rates.net_links()
        return group, groups, tuple(links)
