"""A program's net in columns, built for all of its operations at once.

Its transitions are those of `parcast_petri.programs.lowering`, in the same order, so that a run has
the same bits. What each operation is made of stands there; here only which parts it has is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import CODE, TIMING, Matched, matched_program
from parcast.program.reference import SAME_INSTANT
from parcast.program.source import SENDS
from parcast_petri.machine.links import Traffic
from parcast_petri.nets.arcs import Arcs, Whole
from parcast_petri.nets.net import Link, Tokens
from parcast_petri.nets.single_tokens import SingleTokens
from parcast_petri.options import Options
from parcast_petri.programs.accounting import Records
from parcast_petri.programs.charges import charged
from parcast_petri.programs.flows import ALONE, Flows, class_load
from parcast_petri.programs.networks import Wires, networks_of, routes
from parcast_petri.programs.rates import Rates
from parcast_petri.programs.transfers import refuse_sharing

Flags = NDArray[np.bool_]
Reals = NDArray[np.float64]

#: The transitions that an operation may have, in their order.
WORK, LEAVE, MEET, START, CARRY, SENT, POST, CALL, TAKEN, TAKE = range(10)

#: Those that the process itself takes part in.
_STEPS = (WORK, LEAVE, SENT, POST, CALL, TAKE)


@attrs.frozen(eq=False)
class ColumnProgram:
    """The net of a program, and which of its moments say what."""

    net: SingleTokens
    records: Records
    end: int  #: the place that every process ends in


def is_plain(query: Query, options: Options) -> bool:
    """Return whether a program on idle nodes has such a net: messages between two, computation."""
    program = matched_program(query, pools=True)
    columns, sharing = program.columns, options.on(query.machine).sharing
    if program.native.pools or columns.among({"read", "write", "pool"}).any():
        return False
    if query.machine.part("traffic", Traffic) is not None:
        return False
    if sharing not in ("none", "ps_transfer", "max_min") or options.servers == "single":
        return False
    if query.machine.network.overhead_by == "message":
        return False  # a wait takes one message after another
    traffic = options.memory == "ps" and columns.memory is not None
    return not traffic and not (program.matching.sent_to == TIMING).any()


def column_program(query: Query, options: Options) -> ColumnProgram:
    """Return the net of a program that `is_plain`.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number, or shares its network in another way than the options say.
    """
    return _Program.of(query, options.on(query.machine)).whole()


@attrs.frozen(eq=False)
class _Messages:
    """All messages, in the order of the operations that send them."""

    startup: Reals
    transfer: Reals
    group: Whole  #: of those that share links alike; -1: nothing is shared
    groups: Sequence[tuple[str, Tokens]]  #: load and speed of each
    links: tuple[Link, ...]

    @classmethod
    def of(cls, program: Matched, costs: Costs, query: Query, options: Options) -> _Messages:
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


@attrs.frozen(eq=False)
class _Program:
    """Which transitions each operation has, and where they stand."""

    program: Matched
    costs: Costs
    messages: _Messages
    has: Sequence[Flags]  #: by part of an operation: which operations have it
    ranks: Whole  #: by operation
    seconds: Reals  #: by operation, of its process alone
    receiving: Reals  #: by operation: of its message, to take it
    waits: Flags  #: sends whose end somebody awaits
    inside: bool  #: whether startups are shared as bytes are

    @classmethod
    def of(cls, query: Query, options: Options) -> _Program:
        """Return the parts of a program's operations."""
        program = matched_program(query, pools=True)
        columns, matching = program.columns, program.matching
        costs = Costs.of(query, program.unrolled.needs(), WHOLE_NETWORK)
        messages = _Messages.of(program, costs, query, options)
        count, op = len(columns.op), columns.op
        ranks = np.repeat(np.arange(len(columns.offsets) - 1), np.diff(columns.offsets))
        seconds = charged(columns, costs, ranks)[1]
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

    def whole(self) -> ColumnProgram:
        """Return the net, and what its moments say."""
        places = _Places.of(self)
        net = SingleTokens(
            places=places.count,
            pre=_arcs(places.inputs()),
            post=_arcs(places.outputs()),
            delay=self._delays(places),
            **self._drains(places),
            links=self.messages.links,
            marked=places.marked(),
            same=SAME_INSTANT,
        )
        return ColumnProgram(net, _records(self, places), places.end)

    def _delays(self, places: _Places) -> Reals:
        """Return the seconds of each transition; not a number where it is immediate."""
        has, at = self.has, places.at
        seconds = np.zeros(places.transitions)
        for part in (WORK, LEAVE):
            seconds[at[part]] = self.seconds[has[part]]
        startup, transfer = self.messages.startup, self.messages.transfer
        drains = self.messages.group >= 0
        within = startup if self.inside else 0.0
        seconds[at[CARRY]] = np.where(drains, transfer + within, startup + transfer)
        sends = np.flatnonzero(has[CARRY])
        seconds[at[START]] = startup[np.searchsorted(sends, np.flatnonzero(has[START]))]
        call = float(self.costs.overhead_receive)
        seconds[at[CALL]] = call
        source = self.program.matching.received_from
        seconds[at[TAKEN]] = self.receiving[source[has[TAKEN]]]
        op = self.program.columns.op[has[TAKE]]
        overhead = np.where(op == CODE["sendrecv"], 0.0, call)
        received = op == CODE["recv"]
        overhead[received] = self.receiving[source[has[TAKE]][received]]
        seconds[at[TAKE]] = overhead
        seconds[seconds == 0] = np.nan
        seconds[at[CARRY][drains]] = (transfer + within)[drains]
        return seconds

    def _drains(self, places: _Places) -> dict[str, Any]:
        """Return what messages share, by transition."""
        group, groups = self.messages.group, self.messages.groups
        load, speed = np.full((2, places.transitions), -1)
        names = tuple(dict.fromkeys(name for name, _ in groups))
        speeds = tuple(dict.fromkeys(tokens for _, tokens in groups))
        if groups:
            drains, carry = group >= 0, places.at[CARRY]
            of_load = np.array([names.index(name) for name, _ in groups])
            of_speed = np.array([speeds.index(tokens) for _, tokens in groups])
            load[carry[drains]] = of_load[group[drains]]
            speed[carry[drains]] = of_speed[group[drains]]
        return {"load": load, "speed": speed, "loads": names, "speeds": speeds}


@attrs.frozen(eq=False)
class _Places:
    """Where the transitions of each part stand, and the places between them.

    Of each transition the place behind it has its number; the others follow.
    """

    parts: _Program
    at: Sequence[Whole]  #: by part, its transitions in the order of the operations
    ends: Whole  #: by rank, the transition that ends it
    steps: Whole  #: all that processes take part in, rising
    first: Whole  #: by rank, its first transition
    transitions: int
    end: int  #: the place that every process ends in

    @classmethod
    def of(cls, parts: _Program) -> _Places:
        """Return where all transitions stand: rank by rank, operation by operation."""
        offsets = parts.program.columns.offsets
        counts = np.zeros(len(parts.ranks), np.int64)
        for has in parts.has:
            counts += has
        after = np.concatenate([[0], np.cumsum(counts)])
        position = after[:-1] + parts.ranks
        at = []
        for has in parts.has:
            at.append(position[has])
            position += has
        everyone = np.arange(len(offsets) - 1)
        ends = after[offsets[1:]] + everyone
        steps = np.sort(np.concatenate([*(at[part] for part in _STEPS), ends]))
        first, transitions = after[offsets[:-1]] + everyone, int(ends[-1]) + 1
        return cls(parts, at, ends, steps, first, transitions, transitions)

    @property
    def count(self) -> int:
        """How many places there are."""
        return int(self._numbers()[-1])

    def _numbers(self) -> Whole:
        """Return where starts of processes, ready, posted and sent messages begin, and end."""
        has = self.parts.has
        counts = [len(self.ends), has[CARRY].sum(), has[MEET].sum(), self.parts.waits.sum()]
        return np.cumsum([self.transitions + 1, *counts])

    def before(self, transitions: Whole, ranks: Whole) -> tuple[Whole, Whole]:
        """Return the last step of the process before each, -1: none, and the place behind it."""
        index = np.searchsorted(self.steps, transitions) - 1
        step = np.where(index >= 0, self.steps[np.maximum(index, 0)], -1)
        step = np.where(step >= self.first[ranks], step, -1)
        return step, np.where(step >= 0, step, self._numbers()[0] + ranks)

    def place(self, kind: int, having: Flags, ids: Whole) -> Whole:
        """Return places of operations; ``having`` are those that have such a place."""
        number: Whole = self._numbers()[kind] + (np.cumsum(having) - 1)[ids]
        return number

    def ready(self, ids: Whole) -> Whole:
        """Return the places of sends where messages are ready to leave."""
        return self.place(1, self.parts.has[CARRY], ids)

    def posted(self, ids: Whole) -> Whole:
        """Return the places of sends that receives are posted in."""
        return self.place(2, self.parts.has[MEET], ids)

    def sent(self, ids: Whole) -> Whole:
        """Return the places of sends that await their end."""
        return self.place(3, self.parts.waits, ids)

    def of_part(self, part: int, ids: Whole) -> Whole:
        """Return the transition of a part of these operations, which have it."""
        index: Whole = np.searchsorted(np.flatnonzero(self.parts.has[part]), ids)
        return self.at[part][index]

    def inputs(self) -> list[tuple[Whole, Whole]]:
        """Return the arcs from places to transitions."""
        has, parts, program = self.parts.has, self.parts, self.parts.program
        ids = [np.flatnonzero(flags) for flags in has]
        arcs = [
            (self.at[part], self.before(self.at[part], parts.ranks[ids[part]])[1])
            for part in _STEPS
        ]
        arcs.append((self.ends, self.before(self.ends, np.arange(len(self.ends)))[1]))
        arcs += [(self.at[MEET], self.ready(ids[MEET])), (self.at[MEET], self.posted(ids[MEET]))]
        origin = self.ready(ids[CARRY])
        meets, starts = has[MEET][ids[CARRY]], has[START][ids[CARRY]]
        origin[meets] = self.at[MEET]
        arcs.append((self.at[START], origin[starts]))
        origin[starts] = self.at[START]
        arcs.append((self.at[CARRY], origin))
        arcs.append((self.at[SENT], self.sent(ids[SENT])))
        source, op = program.matching.received_from, program.columns.op
        arcs.append((self.at[TAKEN], self.of_part(CARRY, source[ids[TAKEN]])))
        received = ids[TAKE][op[ids[TAKE]] == CODE["recv"]]
        arcs.append((self.of_part(TAKE, received), self.of_part(CARRY, source[received])))
        exchanged = self.of_part(TAKE, ids[TAKEN])
        arcs.append((exchanged, self.at[TAKEN]))
        waiting = parts.waits[ids[TAKEN]]
        arcs.append((exchanged[waiting], self.sent(ids[TAKEN][waiting])))
        wait, request, arrives, leaves = requests(parts)
        arcs.append(
            (self.of_part(TAKE, wait[arrives]), self.of_part(CARRY, source[request[arrives]]))
        )
        arcs.append((self.of_part(TAKE, wait[leaves]), self.sent(request[leaves])))
        return arcs

    def outputs(self) -> list[tuple[Whole, Whole]]:
        """Return the arcs from transitions to places."""
        has, parts = self.parts.has, self.parts
        arcs = [(at, at) for at in self.at]
        arcs.append((self.ends, np.full(len(self.ends), self.end)))
        leaves = np.flatnonzero(has[LEAVE])
        arcs.append((self.at[LEAVE], self.ready(leaves)))
        giver, ready = self._given()
        arcs.append((giver[giver >= 0], ready[giver >= 0]))
        waits = np.flatnonzero(parts.waits)
        arcs.append((self.of_part(CARRY, waits), self.sent(waits)))
        posts = np.flatnonzero(has[POST])
        arcs.append((self.at[POST], self.posted(parts.program.matching.received_from[posts])))
        return arcs

    def _given(self) -> tuple[Whole, Whole]:
        """Return who makes messages ready whose sending takes no time, -1: the outset."""
        sends = np.flatnonzero(self.parts.has[CARRY] & ~self.parts.has[LEAVE])
        step, _ = self.before(self.of_part(CARRY, sends), self.parts.ranks[sends])
        return step, self.ready(sends)

    def marked(self) -> Whole:
        """Return the places that have a token at first."""
        giver, ready = self._given()
        starts = self._numbers()[0] + np.arange(len(self.ends))
        return np.concatenate([starts, ready[giver < 0]])


def requests(parts: _Program) -> tuple[Whole, Whole, Flags, Flags]:
    """Return waits and their requests, and which are of messages to come, and sends to end."""
    columns, source = parts.program.columns, parts.program.matching.received_from
    wait, request = columns.wait_op, columns.wait_request
    arrives = source[request] >= 0
    return wait, request, arrives, ~arrives & parts.waits[request]


def _arcs(pairs: Sequence[tuple[Whole, Whole]]) -> Arcs:
    """Return arcs of single tokens in the order of the transitions."""
    transition = np.concatenate([transition.astype(np.int32) for transition, _ in pairs])
    place = np.concatenate([place.astype(np.int32) for _, place in pairs])
    order = np.argsort(transition, kind="stable")
    return Arcs(transition[order], place[order], np.ones(len(order), np.int8))


def _records(parts: _Program, places: _Places) -> Records:
    """Return which moments bound what each process does."""
    has, ranks, program = parts.has, parts.ranks, parts.program
    records = Records()
    everyone = np.arange(len(places.ends))
    records.ends = places.before(places.ends, everyone)[0].tolist()
    started = np.flatnonzero(program.columns.op == CODE["start"])
    if len(started):
        following = _next_transition(places, started)
        records.starts = places.before(following, ranks[started])[0].tolist()
    busy = []
    for part, code in (WORK, 0), (LEAVE, 1), (CALL, 1):
        at, rank = places.at[part], ranks[has[part]]
        busy.append((rank, np.full(len(at), code), places.before(at, rank)[0], at))
    columns = [np.concatenate(column) for column in zip(*busy, strict=True)]
    order = np.argsort(columns[-1])
    records.busy_columns = tuple(column[order] for column in columns)
    records.wait_columns = _waits(parts, places)
    return records


def _next_transition(places: _Places, ids: Whole) -> Whole:
    """Return the transition that an operation without any would have."""
    counts = np.zeros(len(places.parts.ranks), np.int64)
    for has in places.parts.has:
        counts += has
    before: Whole = (np.cumsum(counts) - counts)[ids] + places.parts.ranks[ids]
    return before


def _waits(parts: _Program, places: _Places) -> tuple[Whole, ...]:
    """Return all waits, as `Records.wait_columns` has them."""
    has, ranks = parts.has, parts.ranks
    source, op = parts.program.matching.received_from, parts.program.columns.op
    sends = np.flatnonzero(has[CARRY])
    arrival, flight = np.full((2, len(op)), -1)
    arrival[sends] = places.at[CARRY]
    flight[sends] = places.before(places.at[CARRY], ranks[sends])[0]
    flight[has[MEET]] = places.at[MEET]
    moments = np.concatenate([places.at[SENT], places.at[TAKE]])
    ids = np.concatenate([np.flatnonzero(has[SENT]), np.flatnonzero(has[TAKE])])
    order = np.argsort(moments)
    moments, ids = moments[order], ids[order]
    since = places.before(moments, ranks[ids])[0]
    timed = (op[ids] != CODE["send"]) & (op[ids] != CODE["sendrecv"])
    until = np.where(timed, moments, -1)
    number = np.zeros(len(op), np.int64)
    number[ids] = np.arange(len(ids))
    sent, received = np.flatnonzero(has[SENT]), ids[op[ids] == CODE["recv"]]
    exchanged = np.flatnonzero(has[TAKEN])
    ending = exchanged[parts.waits[exchanged]]
    wait, request, arrives, leaves = requests(parts)
    come, gone = source[request[arrives]], request[leaves]
    rows = [
        (number[sent], arrival[sent], flight[sent]),
        (number[received], arrival[source[received]], flight[source[received]]),
        (number[exchanged], places.at[TAKEN], flight[source[exchanged]]),
        (number[ending], arrival[ending], flight[ending]),
        (number[wait[arrives]], arrival[come], flight[come]),
        (number[wait[leaves]], arrival[gone], flight[gone]),
    ]
    messages = [np.concatenate(column) for column in zip(*rows, strict=True)]
    return ranks[ids], since, until, *messages
