"""The feed-forward engine: its kernels over threads, messages in windows of time."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from parcast_emulator.blocks import Blocks, Floats
from parcast_emulator.cluster import Cluster
from parcast_emulator.engines import feed_forward, receiving
from parcast_emulator.engines.servers import Servers
from parcast_emulator.engines.service import table_of
from parcast_emulator.engines.usage import Progress, Record, Usage

#: Messages of a window for each node, which its caches hold, and of all nodes at least; 12 bytes
#: each.
_MESSAGES, _LEAST_MESSAGES = 1000, 500_000

#: Ranges of nodes that each thread takes, one after another.
_RANGES = 2

#: Starting threads takes longer than fewer blocks do.
_WORTH_THREADS = 2000


class FeedForward:
    """Epochs one after another, without an event queue; for any number of threads the same.

    Parameters
    ----------
    cluster
        Whose servers none waits for a later one (see `parcast_emulator.engines.applicable`).
    threads
        As many as the machine has processors where not given.
    most_messages
        In memory at once, but one or two of each node.
    """

    def __init__(
        self, cluster: Cluster, threads: int | None = None, most_messages: int | None = None
    ) -> None:
        self.cluster = cluster
        self.servers = Servers.of(cluster)
        self.usage = Usage.of(cluster)
        nodes = len(cluster.speed)
        self.most_messages = most_messages or max(_MESSAGES * nodes, _LEAST_MESSAGES)
        self.threads = threads or os.cpu_count() or 1
        cuts = np.linspace(0, nodes, min(nodes, _RANGES * self.threads) + 1).astype(np.int64)
        self.ranges = list(pairwise(cuts.tolist()))

    def epoch(self, blocks: Blocks, start: float, record: Record, progress: Progress) -> float:
        """Simulate an epoch that starts at a time; return when all its operations have ended.

        ``progress`` is called with the time simulated and the operations done of each window.
        """
        if self.threads == 1 or len(blocks.disk) < _WORTH_THREADS:
            return _Epoch(self, blocks, start, record, map).run(progress)
        with ThreadPoolExecutor(self.threads) as pool:
            return _Epoch(self, blocks, start, record, pool.map).run(progress)


class _Epoch:
    def __init__(
        self, engine: FeedForward, blocks: Blocks, start: float, record: Record, map_: Any
    ) -> None:
        self.engine, self.blocks, self.record, self.map = engine, blocks, record, map_
        self.start = start
        cluster = engine.cluster
        nodes = len(cluster.speed)
        self.order, begin = feed_forward.by_disk(blocks.disk, len(cluster.node_of))
        self.ready = np.empty(len(blocks.disk))
        self.own = begin[cluster.disks[:-1]].copy()
        self.last = begin[cluster.disks[1:]].copy()
        self.at = np.zeros(
            (3, nodes), np.int64
        )  # index into the order, row and column of consumers
        self.at[0] = self.own
        self.table = table_of(blocks.consumers)
        self.until = np.empty_like(self.at)
        self.messages = np.empty(0), np.empty(0, np.int32)
        self.over(
            lambda low, high: feed_forward.read(
                low, high, start, blocks, cluster, engine.servers, begin, self.order, self.ready,
                engine.usage, record,
            )
        )  # fmt: skip

    def over(self, work: Callable[[int, int], None]) -> None:
        """Do some work for all nodes, a range of them at a time."""
        list(self.map(lambda bounds: work(*bounds), self.engine.ranges))

    def run(self, progress: Progress) -> float:
        now, operations, width = self.start, 0.0, self.first_width()
        while True:
            limit = now + width
            counts = self.counted(limit)
            total = int(counts.sum())
            if total > self.engine.most_messages and width > self.least:
                width = self.narrower(width, total)
                continue
            self.pass_on(counts, total, final=limit == math.inf)
            operations += 3 * total
            progress(limit, operations)
            if limit == math.inf:
                return self.end()
            now = limit
            if total <= self.engine.most_messages // 4:
                width = 2 * width if total else math.inf

    def narrower(self, width: float, total: int) -> float:
        """Return a width that should hold about three quarters of what fits."""
        if width == math.inf:
            width = self.longest(total)
        return max(width * 0.75 * self.engine.most_messages / total, self.least)

    def first_width(self) -> float:
        total = int(self.blocks.consumers.counts().sum())
        fits = total <= self.engine.most_messages
        return math.inf if fits else self.narrower(math.inf, total)

    def longest(self, total: int) -> float:
        """Return about how long the epoch takes without its computation."""
        latest = float(self.ready.max()) if len(self.ready) else self.start
        holding = float(self.blocks.size.max()) / self.engine.cluster.hardware.bandwidth
        per_node = total / len(self.engine.cluster.speed)
        return max(latest - self.start, per_node * holding)

    @cached_property
    def least(self) -> float:
        """The narrowest window: in the time of one message no node sends more than two."""
        return float(self.blocks.size.min()) / self.engine.cluster.hardware.bandwidth

    def counted(self, limit: float) -> Any:
        """Return of each range of senders how many messages each node is sent up to a limit."""
        engine = self.engine
        counts = np.zeros((len(engine.ranges), len(engine.cluster.speed)), np.int64)
        rows = dict(zip(engine.ranges, counts, strict=True))
        self.over(
            lambda low, high: feed_forward.count(
                low, high, limit, self.blocks, engine.cluster, self.table, self.order, self.ready,
                self.last, self.at, self.until, engine.servers.send, rows[low, high],
            )
        )  # fmt: skip
        return counts

    def pass_on(self, counts: Any, total: int, *, final: bool) -> None:
        """Send a window's messages and receive them; those to a node lie in order of senders."""
        engine = self.engine
        to_node = counts.sum(axis=0)
        begin = np.concatenate([[0], np.cumsum(to_node)])
        positions = begin[:-1] + np.cumsum(counts, axis=0) - counts
        rows = dict(zip(engine.ranges, positions, strict=True))
        times, carried = self.room(total)
        self.over(
            lambda low, high: feed_forward.send(
                low, high, self.blocks, engine.cluster, self.table, self.order, self.ready,
                self.at, self.until, engine.servers.send, rows[low, high], times, carried,
                engine.usage, self.record,
            )
        )  # fmt: skip
        self.over(
            lambda low, high: receiving.receive(
                low, high, self.blocks, engine.cluster, engine.servers, self.order, self.ready,
                self.last, self.own, begin, times, carried, final, engine.usage, self.record,
            )
        )  # fmt: skip

    def room(self, total: int) -> tuple[Floats, Any]:
        """Return arrays for a window's messages, the last window's where these are enough.

        Memory that is new takes longer to get than to fill.
        """
        if total > len(self.messages[0]):
            self.messages = np.empty(total), np.empty(total, np.int32)
        return self.messages

    def end(self) -> float:
        servers = self.engine.servers
        free = (servers.disk, servers.bus, servers.send, servers.receive, servers.cpu)
        return max(self.start, *(float(times.max()) for times in free if times.size))
