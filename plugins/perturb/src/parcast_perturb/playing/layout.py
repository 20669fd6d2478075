"""What the kernels of a played run read and keep: named tuples of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

#: Kinds of calls, as `Calls.kind` has them.
SENDING, SENDING_LATER, RECEIVING, RECEIVING_LATER, BOTH, WAITING, MARK, STARTING = range(8)

#: What messages pass on their way between nodes.
NOTHING_SHARED, BUS, PORTS, LINKS = range(4)

NONE = -1

#: Of a time that is not known yet. All that are known are at least 0.
UNKNOWN = -1.0


class Calls(NamedTuple):
    """What ranks do, call after call; the calls of a rank follow each other."""

    offsets: Any  #: of each rank, its first call; then the number of calls
    rank: Any  #: of each call
    kind: Any
    gap: Any  #: seconds of computation, and at files, before it
    cost: Any  #: seconds of its own
    receipt: Any  #: seconds of its own for what it receives
    sends: Any  #: its message, or `NONE`
    receives: Any
    first: Any  #: of each call, the first of what it awaits; then the number of all
    awaited: Any  #: messages
    arriving: Any  #: of each of these, whether it is received, or one that its sender waits for
    by_message: bool  #: waits pay for every message that they take


class Messages(NamedTuple):
    """Arrays over messages, in the order of the calls that send them."""

    source: Any  #: rank
    target: Any
    late: Any  #: whether it leaves no sooner than its receive is posted
    latency: Any  #: seconds
    before: Any  #: seconds of it that pass before it asks for what it shares
    transfer: Any  #: seconds, alone
    receiving: Any  #: seconds that it costs its receiver
    leaves: Any  #: node whose port it leaves by, or `NONE`: it passes nothing that is shared
    enters: Any  #: node whose port it enters by
    bytes: Any  #: that flow
    route: Any  #: row of ``routes``, or `NONE`
    routes: Any  #: links, rows filled up with numbers below 0
    weights: Any  #: of each column of ``routes``: bytes on its links for each byte that flows
    shares: Any  #: of each row of ``routes``: of a full link, relative to others


class Noise(NamedTuple):
    """What is added in this draw: seconds of each call, and of each gap."""

    call: Any
    gap: Any


class Run(NamedTuple):
    """Where everything stands."""

    clock: Any  #: of each rank
    cursor: Any  #: its call
    pending: Any  #: how much that it waits for is not known, `NONE` before it enters the call
    started: Any  #: when it last passed a ``start()``
    ready: Any  #: ranks that can go on, a stack
    sent: Any  #: of each message
    posted: Any  #: of its receive
    flight: Any  #: when it left
    arrival: Any
    awaiting: Any  #: [message, 0 receiver or 1 sender]: whether this rank stands at the wait
    asked: Any  #: when a message asks for what it passes next
    inward: Any  #: whether that is the port in
    later: Any  #: heap of messages, by ``asked``
    now: Any  #: heap of messages of one instant, by their numbers
    none: Any  #: zeros, by which ``now`` is ordered
    free: Any  #: when ports, 2 a node, out and in, or the bus are free
    until: Any  #: the end of the instant
    counters: Any  #: see below
    ends: Any  #: of each call


#: Entries of `Run.counters`: how many are ready, later and now.
READY, LATER, NOW = range(3)
