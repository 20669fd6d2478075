"""Which transitions each operation of a program has in its net, and what its messages take."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import CODE, Matched, matched_program
from parcast.program.source import SENDS
from parcast_petri.nets.arcs import Whole
from parcast_petri.nets.net import Link, Tokens
from parcast_petri.options import Options
from parcast_petri.programs.flows import ALONE, Flows, class_load
from parcast_petri.programs.networks import Wires, networks_of, refuse_sharing, routes
from parcast_petri.programs.rates import Rates

Flags = NDArray[np.bool_]
Reals = NDArray[np.float64]

#: The transitions that an operation may have, in their order.
WORK, LEAVE, MEET, START, CARRY, SENT, POST, CALL, TAKEN, TAKE = range(10)

#: Those that the process itself takes part in.
STEPS = (WORK, LEAVE, SENT, POST, CALL, TAKE)


@attrs.frozen(eq=False)
class Parts:
    """Which transitions each operation has, and where they stand."""

    program: Matched
    costs: Costs
    messages: Messages
    has: Sequence[Flags]  #: by part of an operation: which operations have it
    ranks: Whole  #: by operation
    seconds: Reals  #: by operation, of its process alone
    receiving: Reals  #: by operation: of its message, to take it
    waits: Flags  #: sends whose end somebody awaits
    inside: bool  #: whether startups are shared as bytes are

    @classmethod
    def of(cls, query: Query, options: Options) -> Parts:
        """Return the parts of a program's operations."""
        program = matched_program(query, pools=True)
        columns, matching = program.columns, program.matching
        costs = Costs.of(query, program.unrolled.needs(), WHOLE_NETWORK)
        messages = Messages.of(program, costs, query, options)
        count, op = len(columns.op), columns.op
        ranks = np.repeat(np.arange(len(columns.offsets) - 1), np.diff(columns.offsets))
        seconds = columns.own_seconds(costs, ranks)
        sends, late = columns.among(SENDS), columns.amount > costs.eager_limit
        meets = sends & (late | (costs.eager == "waits"))
        blocking = options.sends == "blocking"
        waits = sends & (late | (blocking & (op != CODE["isend"])))
        takes = columns.among({"recv", "irecv", "sendrecv"})
        source = matching.received_from
        posts = takes & (source >= 0) & meets[np.maximum(source, 0)]
        startup = np.zeros(count, bool)
        outside = options.startup != "inside"
        startup[sends] = (messages.group >= 0) & (messages.startup != 0) & outside
        receiving = np.broadcast_to(np.asarray(costs.receiving(columns.amount), float), count)
        has = {
            WORK: columns.among({"compute", "elapse"}),
            LEAVE: sends & (seconds != 0),
            MEET: meets,
            START: startup,
            CARRY: sends,
            SENT: waits & (op == CODE["send"]),
            POST: posts,
            CALL: (op == CODE["irecv"]) & (costs.overhead_receive != 0),
            TAKEN: op == CODE["sendrecv"],
            TAKE: columns.among({"recv", "sendrecv", "wait", "waitall"}),
        }
        parts = [has[part] for part in range(len(has))]
        inside = options.startup == "inside"
        return cls(program, costs, messages, parts, ranks, seconds, receiving, waits, inside)

    def requests(self) -> tuple[Whole, Whole, Flags, Flags]:
        """Return waits and their requests, and which are of messages to come, and sends to end."""
        columns, source = self.program.columns, self.program.matching.received_from
        wait, request = columns.wait_op, columns.wait_request
        arrives = source[request] >= 0
        return wait, request, arrives, ~arrives & self.waits[request]


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
