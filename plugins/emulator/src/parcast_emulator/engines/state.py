"""The merge engine: its state in arrays, and epochs common to all nodes or each node's own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast_emulator.blocks import Blocks, Floats
from parcast_emulator.cluster import Cluster
from parcast_emulator.engines import events
from parcast_emulator.engines.queues import HEAP, NONE, POOL
from parcast_emulator.engines.servers import Servers
from parcast_emulator.engines.usage import Progress, Record, Usage

_Links = NDArray[np.int32]
_Numbers = NDArray[np.int64]

#: Events between two looks at the pool and the progress bar.
_EVENTS = 2_000_000


_EVENT = [("time", "f8"), ("code", "i8"), ("tie", "i8")]
_READ = [("arrived", "f8"), ("epoch", "i4"), ("holders", "i4"), ("links", "i4")]
_MESSAGE = [("time", "f8"), ("block", "i4"), ("target", "i4"), ("links", "i4")]
_QUEUE = [("first", "i4"), ("last", "i4"), ("busy", "?")]
_NODE_QUEUES = [
    f"{last}{queue}"
    for queue in ("to_send", "on_wire", "to_receive", "to_compute")
    for last in ("", "last_")
]
_NODE = [
    *((name, "i4") for name in _NODE_QUEUES),
    ("next", "i8"),  # the node's next read, an index into ``reads_by_node``
    ("end", "i8"),  # and where its reads end there
    ("buffered", "i8"),  # blocks that it has read and not done with
    ("k", "i8"),  # the next consumer of the first block at the port out
    ("group", "i8"),  # nodes of a group begin an epoch together
    ("cpu_busy", "?"),
]


class State(NamedTuple):
    """Queues are a first and a last item; blocks and messages link to the next one."""

    scalars: _Numbers
    heap: Any  #: events
    reads_by_node: _Links  #: the blocks of each node in the order of their reads
    read: Any  #: of each block: when it got where it waits, epoch, what still holds it
    line: Any  #: of each channel of each disk: what it reads
    bus: Any
    node: Any
    port_busy: NDArray[np.bool_]  #: out and in, of each node
    current: _Numbers  #: epoch of each group
    remaining: _Numbers  #: operations of each group and epoch
    ends: Floats  #: of each group and epoch
    pool: _Links  #: free messages
    message: Any  #: from the wire to the end of its computation


class Merge:
    """Events in the order of time; it follows everything that a cluster may state."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.servers = Servers.of(cluster)
        self.usage = Usage.of(cluster)

    def epoch(self, blocks: Blocks, start: float, record: Record, progress: Progress) -> float:
        """Simulate an epoch that all nodes begin at ``start``; return when it has ended."""
        group = np.zeros(len(self.cluster.speed), np.int64)
        first_epoch = np.zeros(len(blocks.disk), np.int32)
        return float(self._run(blocks, first_epoch, 1, group, start, record, progress).max())

    def own_epochs(
        self, epochs: Sequence[Blocks], blocks: Blocks, record: Record, progress: Progress
    ) -> list[float]:
        """Simulate epochs that each node begins when its own operations of the last have ended.

        ``blocks`` are those of all epochs, joined. Return when the last node ends each epoch.
        """
        epoch_of = np.repeat(
            np.arange(len(epochs)), [len(blocks_of_epoch.disk) for blocks_of_epoch in epochs]
        )
        group = np.arange(len(self.cluster.speed))
        ends = self._run(
            blocks, epoch_of.astype(np.int32), len(epochs), group, 0.0, record, progress
        )
        ends_of_epochs: list[float] = ends.max(axis=0).tolist()
        return ends_of_epochs

    def _run(
        self, blocks: Blocks, epoch: Any, epochs: int, group: Any, start: float, record: Record,
        progress: Progress,
    ) -> Floats:  # fmt: skip
        state = _state(self.cluster, blocks, epoch, epochs, group)
        arguments = (blocks, self.cluster, self.servers, self.usage, record)
        events.begin(start, state, *arguments)
        handled = 0
        while state.scalars[HEAP]:
            if state.scalars[POOL] < 2:
                state = _larger(state)
            handled += events.run(_EVENTS, state, *arguments)
            progress(float(state.heap.time[0]), handled)
        return state.ends


def _state(cluster: Cluster, blocks: Blocks, epoch: Any, epochs: int, group: Any) -> State:
    nodes, count = len(cluster.speed), len(blocks.disk)
    lines, buses = cluster.hardware.channels * len(cluster.node_of), int(cluster.buses[-1])
    node = cluster.node_of[blocks.disk] if count else np.empty(0, np.int32)
    heap = lines + 2 * buses + 8 * nodes + 8
    groups = int(group.max()) + 1
    node_state = _records(nodes, _NODE)
    for name in _NODE_QUEUES:
        node_state[name] = NONE
    node_state.end = np.cumsum(np.bincount(node, minlength=nodes))
    node_state.next[1:] = node_state.end[:-1]
    node_state.group = group
    reads = _records(count, _READ)
    reads.epoch = epoch
    state = State(
        scalars=np.zeros(2, np.int64),
        heap=_records(heap, _EVENT),
        reads_by_node=np.argsort(node, kind="stable").astype(np.int32),
        read=reads,
        line=_queues(lines),
        bus=_queues(buses),
        node=node_state,
        port_busy=np.zeros((2, nodes), np.bool_),
        current=np.zeros(groups, np.int64),
        remaining=np.zeros((groups, epochs), np.int64),
        ends=np.full((groups, epochs), -math.inf),
        pool=np.empty(0, np.int32),
        message=_records(0, _MESSAGE),
    )
    return _larger(state)


def _records(count: int, fields: Any) -> Any:
    return np.zeros(count, np.dtype(fields, align=True)).view(np.recarray)


def _queues(count: int) -> Any:
    queues = _records(count, _QUEUE)
    queues.first = queues.last = NONE
    return queues


def _larger(state: State) -> State:
    """Return the state with a pool of twice as many messages."""
    old = len(state.message)
    new = max(2 * old, 4096)
    free = np.arange(old, new, dtype=np.int32)
    pool, left = np.empty(new, np.int32), state.scalars[POOL]
    pool[:left], pool[left : left + len(free)] = state.pool[:left], free
    state.scalars[POOL] += len(free)
    message = _records(new, _MESSAGE)
    message[:old] = state.message
    return state._replace(pool=pool, message=message)
