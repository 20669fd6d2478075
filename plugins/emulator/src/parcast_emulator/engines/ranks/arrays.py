"""A program, what it is charged and how far it has come, as the kernels take them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast.program.matching import CODE, TIMING, Columns, Matched
from parcast.quantities import distinct_rows
from parcast_emulator.blocks import Floats
from parcast_emulator.cluster import Cluster

_Numbers = NDArray[np.int64]


#: Of a message: its receiver waits for it, its sender does, one side of a rendezvous has come,
#: its head is on the way.
RECEIVER, SENDER, MET, HEAD = 1, 2, 4, 8

#: Entries of ``State.scalars``: events in the heap (where the queues look for it), ranks that
#: can go on, accesses to disks of nodes, all that has been handled, messages in ``leaving``.
EVENTS, READY, ACCESSES, HANDLED, LEAVING = range(5)

#: Entries of ``State.times``: when the bus is free, the latest ``start()``, the last event, when
#: this instant begins and ends.
BUS_FREE, STARTED, NOW, INSTANT, UNTIL = range(5)

#: No rank, no operation.
NONE = -1

_ACCESSES = ("read", "write")


class Program(NamedTuple):
    """The operations of all ranks, one rank after another; an operation is its index here."""

    rank: NDArray[np.int32]  #: of each operation
    op: NDArray[np.int8]
    amount: Floats  #: bytes of a message or an access
    seconds: Floats  #: of computing, of sending, of a disk's piece
    #: of a message, from when it leaves until its bytes are on the links; none where uniform
    latency: Floats
    transfer: Floats  #: of a message's bytes, on the links alone; none where uniform
    receiving: Floats  #: a receiver's own time for a message; without sizes one for all
    target: NDArray[np.int32]  #: the rank that a message goes to
    received_from: _Numbers  #: the send that a receive takes; of any message: once decided
    box: NDArray[np.int32]  #: of operations that timing pairs: their destination and tag
    waited: _Numbers  #: the requests of all waits, one wait after another
    waiting: _Numbers  #: the wait that each belongs to
    striped: NDArray[np.bool_]  #: of accesses: whether all disks take a piece
    route: NDArray[np.int32]  #: of each message, its row in ``routes``, where links are shared
    routes: NDArray[np.int32]  #: places in ``links``, in rows filled up with `NO_LINK`
    links: NDArray[np.int32]  #: those that some message passes
    weights: Floats  #: of each column of ``routes``: bytes on its links for each byte that flows
    shares: Floats  #: of each row of ``routes``: of a full link, relative to others
    flowing: Floats  #: of each message: the bytes that flow over its route


class Charges(NamedTuple):
    """What the machine charges; seconds and bytes."""

    uniform: bool  #: all messages between nodes have one latency and bandwidth, as within them
    startup: float
    per_byte: float
    local_startup: float
    local_per_byte: float
    receiving: float  #: of a call that takes no message; 0 where messages are paid for
    by_message: bool  #: a wait pays for each message that it takes
    eager_limit: float  #: a sender waits for larger messages
    early_limit: float  #: larger messages leave when their receive is posted
    contention: int  #: an index into `CONTENTION`
    disks: int
    on_nodes: bool  #: files lie on the disks of nodes
    into: int  #: the row of the ports in: that of the ports out where a port does both
    polling: float
    start: float  #: nothing is charged before


CONTENTION = ("none", "bus", "endpoint", "fair")


class State(NamedTuple):
    """How far all ranks and messages are."""

    scalars: _Numbers
    times: Floats
    heap: Any  #: events
    ready: _Numbers  #: ranks that can go on
    leaving: _Numbers  #: messages that leave over links that others share
    rank: Any
    spent: Floats  #: of each rank: compute, communication, io, synchronization
    message: Any  #: of each operation, where it is one
    ports: Floats  #: when the ports of nodes are free: out and in
    disk: Floats  #: when shared disks are free
    file_accesses: _Numbers  #: of each node, how often its files were accessed
    end_of_files: Floats  #: on each disk of a node
    accessed: _Numbers  #: operations, in the order of their accesses to disks of nodes
    earliest: _Numbers  #: of each box, the message there first: the root of a heap
    simultaneous: _Numbers  #: those there at one instant: the root of a heap by operation
    until: Floats  #: the end of that instant
    links: Any  #: of each message in a box, the heaps below it


_EVENT = [
    ("time", "f8"),  # of the first of its instant, while that lasts
    ("code", "i8"),
    ("tie", "i8"),
    ("own", "f8"),  # its own time
]
_RANK = [
    ("clock", "f8"),
    ("started", "f8"),  # its latest ``start()``
    ("next", "i8"),  # its operation
    ("end", "i8"),  # behind its last
    ("wait", "i8"),  # its next request to be waited for
    ("any_receive", "i8"),  # its receive of any message
    ("pending", "i4"),  # how much that it waits for is not known
    ("node", "i4"),
    ("entered", "?"),  # whether it has begun its operation
]
_MESSAGE = [
    ("departure", "f8"),  # when it began its transfer, or its first side came
    ("arrival", "f8"),  # NaN until it is known
    ("status", "u1"),
]
_LINKS = [("lower", "i8"), ("upper", "i8")]


def program_of(matched: Matched, costs: Costs, wiring: Any = None) -> Program:
    """Return a program with what each operation costs its own rank, or a disk.

    ``wiring`` has the links that messages share, where they do.
    """
    columns, matching = matched.columns, matched.matching
    rank = np.repeat(np.arange(len(columns.offsets) - 1, dtype=np.int32), np.diff(columns.offsets))
    striped = np.array(
        [
            block.op in _ACCESSES and costs.striped(block.arguments["file"])
            for block in matched.unrolled.blocks
        ],
        np.bool_,
    )[columns.order] if columns.among(_ACCESSES).any() else np.empty(0, np.bool_)  # fmt: skip
    timed = matching.timed()
    messages = _messages(columns, rank, costs)
    latency, transfer, receiving = _crossings(columns, messages, costs)
    return Program(
        rank,
        columns.op,
        columns.amount,
        _seconds(columns, rank, striped, costs),
        latency,
        transfer,
        receiving,
        columns.dst % columns.unrolled.size if columns.unrolled.copies > 1 else columns.dst,
        matching.received_from.copy() if timed else matching.received_from,
        _boxes(columns, rank, matched) if timed else np.empty(0, np.int32),
        # where messages are paid for, they are put in the order of their arrivals
        columns.wait_request.copy() if costs.overhead_by == "message" else columns.wait_request,
        columns.wait_op,
        striped,
        *_routes(columns, messages, costs, wiring),
    )


class _Messages(NamedTuple):
    """Where machines charge messages by who sends them to whom, and by their sizes."""

    at: Any  #: their operations
    source: Any
    target: Any
    size: Any  #: bytes
    kind: Any  #: of each; messages of a kind have both ranks in common, and what sizes cost
    example: Any  #: of each kind, the first of its messages

    def examples(self) -> tuple[Any, Any, Any]:
        """Return source, target and size of a message of each kind."""
        return self.source[self.example], self.target[self.example], self.size[self.example]


def _messages(columns: Columns, rank: Any, costs: Costs) -> _Messages | None:
    """Return all messages, or None where they cost the same between any ranks."""
    if costs.uniform and costs.contention != "fair":
        return None
    at = np.flatnonzero(columns.among(("send", "isend", "sendrecv")))
    source, target, size = rank[at], columns.dst[at], columns.amount[at]
    keys = source.astype(np.int64) * len(costs.placement.node) + target
    if costs.sizes or costs.signals:
        least = [*([0.0] if costs.signals else []), *(float(size.least) for size in costs.sizes)]
        keys = keys * (len(least) + 1) + np.searchsorted(least, size, side="right")
    # a rank often sends to another many times in a row: there are fewer runs of one key to sort
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    _, first, kind = np.unique(keys[heads], return_index=True, return_inverse=True)
    kind = np.repeat(kind, np.diff(heads, append=len(keys)))
    return _Messages(at, source, target, size, kind, heads[first])


def _routes(
    columns: Columns, messages: _Messages | None, costs: Costs, wiring: Any
) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Return each message's row, the routes, their links, weights and shares, and what flows.

    A message that passes no link that it shares has no row.
    """
    if wiring is None or messages is None:
        none = np.empty(0, np.int32)
        return none, np.empty((0, 1), np.int32), none, np.ones(1), np.ones(0), np.empty(0)
    at, source, target, size, kind, _ = messages
    routes, weights = wiring.loads(*messages.examples()[:2])
    route, flowing = np.full(len(columns.op), NONE, np.int32), np.zeros(len(columns.op))
    row = np.where(np.any(routes >= 0, axis=1), np.arange(len(routes)), NONE)
    route[at] = row[kind]
    flowing[at] = costs.on_wire(source, target, size)
    links = np.unique(routes[routes >= 0]).astype(np.int32)
    places = np.where(routes < 0, routes, np.searchsorted(links, routes)).astype(np.int32)
    shares = np.asarray(costs.share(*messages.examples()[:2]), float)
    return route, places, links, weights.astype(float), shares, flowing


def _seconds(columns: Columns, rank: Any, striped: Any, costs: Costs) -> Floats:
    """Return what operations take of their process, and accesses of a disk."""
    seconds = columns.own_seconds(costs, rank)
    if len(ids := np.flatnonzero(columns.among(_ACCESSES))):
        shared, own = (costs.piece(columns.amount[ids], kind) for kind in ("shared", "own"))
        seconds[ids] = np.where(striped[ids], shared, own)
    return seconds


def _crossings(
    columns: Columns, messages: _Messages | None, costs: Costs
) -> tuple[Floats, Floats, Floats]:
    """Return of each message its latency and transfer, and what it costs its receiver."""
    if costs.uniform or messages is None:
        return np.empty(0), np.empty(0), np.array([float(costs.overhead_receive)])
    latency, transfer = np.zeros(len(columns.op)), np.zeros(len(columns.op))
    at, source, target, size, kind, _ = messages
    latency[at] = costs.latency(*messages.examples())[kind]
    per_byte = costs.transfer_per_byte(*messages.examples())[kind]
    transfer[at] = costs.on_wire(source, target, size) * per_byte
    amounts = columns.amount if costs.sizes or costs.signals else 0.0
    receiving = np.array(costs.receiving(amounts), np.float64, ndmin=1)
    return latency, transfer, receiving


def _boxes(columns: Columns, rank: Any, matched: Matched) -> NDArray[np.int32]:
    """Return of each operation that timing pairs the number of its destination and tag."""
    matching = matched.matching
    boxes = np.full(len(columns.op), NONE, np.int32)
    sends = np.flatnonzero(matching.sent_to == TIMING)
    receives = np.flatnonzero(matching.received_from == TIMING)
    both = np.concatenate([sends, receives])
    to = np.concatenate([columns.dst[sends], rank[receives]])
    _, boxes[both] = distinct_rows((to, columns.tag[both]))
    return boxes


def charges_of(
    costs: Costs, polling: float, start: float, *, on_nodes: bool, half: bool
) -> Charges:
    """Return the costs as numbers."""
    return Charges(
        costs.uniform,
        float(costs.startup),
        float(costs.per_byte),
        float(costs.local_startup),
        float(costs.local_per_byte),
        float(costs.overhead_receive) if costs.overhead_by == "call" else 0.0,
        costs.overhead_by == "message",
        float(costs.eager_limit),
        float(costs.eager_limit) if costs.eager == "buffered" else -np.inf,
        CONTENTION.index(costs.contention),
        costs.disks,
        on_nodes,
        0 if half else 1,
        float(polling),
        float(start),
    )


def initial_state(columns: Columns, program: Program, costs: Costs, cluster: Cluster) -> State:
    """Return all ranks at their first operation."""
    size, count = len(columns.offsets) - 1, len(program.op)
    accesses = np.isin(program.op, [CODE[name] for name in _ACCESSES])
    timed = count if len(program.box) else 0
    boxes = int(program.box.max()) + 1 if timed else 0
    rank, message, links = (
        _records(*size_and_fields)
        for size_and_fields in ((size, _RANK), (count, _MESSAGE), (timed, _LINKS))
    )
    rank.next, rank.end = columns.offsets[:-1], columns.offsets[1:]
    rank.wait = np.searchsorted(columns.wait_op, rank.next)
    rank.node, rank.any_receive = costs.placement.node[:size], NONE
    message.arrival = np.nan
    links.lower = links.upper = NONE
    return State(
        scalars=np.array([0, size, 0, 0, 0]),
        times=np.array([0.0, 0.0, 0.0, -1.0, -1.0]),
        heap=_records(4 * size + 1024, _EVENT),
        ready=np.arange(size)[::-1].copy(),
        # what a rank sends until it waits, and one that each other operation frees
        leaving=np.zeros(2 * int(np.diff(columns.offsets).max()) + 8, np.int64),
        rank=rank,
        spent=np.zeros((size, 4)),
        message=message,
        ports=np.zeros((2, costs.placement.nodes)),
        disk=np.zeros(costs.disks),
        file_accesses=np.zeros(len(cluster.disks) - 1, np.int64),
        end_of_files=np.zeros(len(cluster.node_of)),
        accessed=np.empty(int(accesses.sum()), np.int64),
        earliest=np.full(boxes, NONE),
        simultaneous=np.full(boxes, NONE),
        until=np.zeros(boxes),
        links=links,
    )


def with_event_room(state: State, room: int) -> State:
    """Return the state with room for so many more events, at least."""
    heap = _records(max(2 * len(state.heap), int(state.scalars[EVENTS]) + room), _EVENT)
    heap[: len(state.heap)] = state.heap
    return state._replace(heap=heap)


def _records(count: int, fields: Any) -> Any:
    return np.zeros(count, np.dtype(fields, align=True)).view(np.recarray)
