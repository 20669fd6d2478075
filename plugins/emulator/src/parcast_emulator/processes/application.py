"""The processing loop of an emulated application: a process on each node issues its calls.

Sections 2.1 and 4.2 of Uysal, Kurc, Sussman & Saltz 1998: a process reads its blocks, checks what
has completed, sends what it has read to the consumers, and computes on what is there.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from parcast_emulator.blocks import Blocks
from parcast_emulator.coupling import Coupling
from parcast_emulator.engines.usage import Record
from parcast_emulator.processes.clock import SERVE, Process, Steps, detection
from parcast_emulator.processes.disks import CPU, INTO, OUT, Disks
from parcast_emulator.processes.lines import Line
from parcast_emulator.processes.ports import Ports


class Application:
    """The blocks of some epochs, and where the times of their operations are noted."""

    def __init__(
        self, disks: Disks, ports: Ports, processors: list[Line], coupling: Coupling,
        blocks: Blocks, epoch_of: list[int], epochs: int, record: Record,
    ) -> None:  # fmt: skip
        self.clock, self.disks, self.ports, self.processors = disks.clock, disks, ports, processors
        self.cluster, self.coupling, self.record = disks.cluster, coupling, record
        lists = blocks.consumers.as_lists()
        self.disk = blocks.disk.tolist()
        self.node = self.cluster.node_of[blocks.disk].tolist() if self.disk else []
        self.offset = blocks.offset.tolist()
        self.size = np.broadcast_to(blocks.size, blocks.disk.shape).tolist()
        self.compute = np.broadcast_to(blocks.compute, blocks.disk.shape).tolist()
        self.start, self.consumers = lists.start.tolist(), lists.nodes.tolist()
        self.speed = self.cluster.speed.tolist()
        self.epoch_of = epoch_of
        self.ends = [self.clock.now] * epochs
        self.nodes = [_Node(self, node, epochs) for node in range(len(self.speed))]
        for block, node in enumerate(self.node):
            self._count(block, node)

    def _count(self, block: int, node: int) -> None:
        """Tell nodes what they will have to do with a block."""
        epoch, reader = self.epoch_of[block], self.nodes[node]
        reader.unread.append(block)
        reader.left[epoch] += 1
        for target in self.consumers[self.start[block] : self.start[block + 1]]:
            self.nodes[target].left[epoch] += 1
            if target != node:
                reader.left[epoch] += 1
                self.nodes[target].expected[node] += 1

    def begin(self) -> None:
        """Start the process of every node."""
        for node in self.nodes:
            node.go()


class _Node(Process):
    """A node's process: what it still has to do, and what has completed without its notice."""

    def __init__(self, application: Application, node: int, epochs: int) -> None:
        super().__init__(application.clock, self.steps(), lambda: None)
        self.application, self.node = application, node
        self.unread: deque[int] = deque()
        self.left = [0] * epochs  # reads, sends and computations of each epoch
        self.epoch = 0
        self.completed: deque[Callable[[], Any]] = deque()
        self.waiting: deque[tuple[int, int]] = deque()  # blocks to be computed on, their positions
        self.reading: Counter[int] = Counter()  # by disk
        self.sending = self.computing = 0
        self.expected: Counter[int] = Counter()  # messages, by sender
        self.buffered = 0
        self.holders: dict[int, int] = {}

    def steps(self) -> Steps:
        """Read, check, send and compute until nothing is left."""
        while self.advance():
            yield from self.read_on()
            yield from self.check()
            while self.completed:
                yield from self.completed.popleft()() or ()
            if self.waiting:
                yield from self.compute_now(*self.waiting.popleft())

    def advance(self) -> bool:
        """Leave the epochs in which nothing is left; tell whether there is another."""
        ends = self.application.ends
        while self.epoch < len(self.left) and not self.left[self.epoch]:
            ends[self.epoch] = max(ends[self.epoch], self.clock.now)
            self.epoch += 1
        return self.epoch < len(self.left)

    def read_on(self) -> Steps:
        """Issue the reads that may be issued now."""
        application, blocking = self.application, self.application.coupling.reads == "blocking"
        while (
            self.unread
            and self.buffered < application.cluster.hardware.buffers
            and application.epoch_of[self.unread[0]] <= self.epoch
        ):
            block = self.unread.popleft()
            self.buffered += 1
            self.reading[application.disk[block]] += 1
            span = application.disks.access(
                application.disk[block],
                application.offset[block],
                application.size[block],
                partial(self.read, block),
            )
            if len(application.record.disk_start):
                application.record.disk_start[block], application.record.disk_end[block] = span
            if blocking:
                yield partial(self.holders.__contains__, block)
                return

    def check(self) -> Steps:
        """Wait until something has completed, looking at each server and sender in turn."""
        round_time = self.application.coupling.polling * self.tests()
        since = self.clock.now
        if self.waiting or self.completed:
            if round_time:
                yield since + round_time
            return
        yield lambda: bool(self.completed)
        if round_time:
            yield detection(since, self.clock.now, round_time)

    def tests(self) -> int:
        """Return how many checks a round has: calls to one server complete in order."""
        return (
            len(self.reading) + bool(self.sending) + bool(self.computing) + len(self.expected)
            if self.application.coupling.polling
            else 0
        )

    # what completes, and what the process does when it notices

    def complete(self, handle: Callable[[], Any]) -> None:
        self.completed.append(handle)
        self.wake()

    def read(self, block: int, begin: float, end: float) -> None:
        application = self.application
        if len(application.record.bus_start):
            application.record.bus_start[block], application.record.bus_end[block] = begin, end
        self.holders[block] = application.start[block + 1] - application.start[block]
        self.complete(partial(self.pass_on, block))

    def pass_on(self, block: int) -> Steps:
        """Send a block that has been read to its consumers."""
        application = self.application
        bus = int(application.cluster.bus_of[application.disk[block]])
        _decrement(self.reading, application.disk[block])
        self.done(block)
        if not self.holders[block]:
            self.release(block, 0)
        for position in range(application.start[block], application.start[block + 1]):
            if application.consumers[position] == self.node:
                self.compute(block, position, (CPU, 0, bus))
            else:
                yield from self.send(block, position, bus)

    def send(self, block: int, position: int, bus: int) -> Steps:
        application, target = (
            self.application,
            self.application.nodes[self.application.consumers[position]],
        )
        self.sending += 1
        departed: list[bool] = []

        def begun(out: float, into: float) -> None:
            if len(application.record.out_start):
                application.record.out_start[position], application.record.in_start[position] = (
                    out,
                    into,
                )

        def sent() -> None:
            departed.append(True)
            self.complete(partial(self.has_sent, block))

        application.ports.send(
            (self.node, target.node),
            ((OUT, bus), (INTO, self.node)),
            application.size[block] / application.cluster.hardware.bandwidth,
            application.cluster.hardware.latency,
            begun,
            sent,
            lambda: target.complete(partial(target.receive, block, position, self.node)),
        )
        if application.coupling.sends == "blocking":
            yield lambda: bool(departed)

    def has_sent(self, block: int) -> None:
        self.sending -= 1
        self.done(block)
        self.release(block, 1)

    def receive(self, block: int, position: int, sender: int) -> None:
        _decrement(self.expected, sender)
        self.compute(block, position, (CPU, 1, sender))

    def compute(self, block: int, position: int, key: tuple[int, ...]) -> None:
        """Let the processor compute beside the process, or let it wait for the process."""
        if self.application.coupling.computation == "blocking":
            self.waiting.append((block, position))
            return
        self.computing += 1

        def begin() -> None:
            line = self.application.processors[self.node]
            completed = partial(self.complete, partial(self.has_computed, block, 1))
            self.note(position, line.serve(key, self.seconds(block), completed))

        self.clock.at(self.clock.now, SERVE, key, begin)

    def compute_now(self, block: int, position: int) -> Steps:
        line = self.application.processors[self.node]
        self.note(position, line.hold(self.seconds(block)))
        yield line.free
        self.has_computed(block, 0)

    def seconds(self, block: int) -> float:
        return float(self.application.compute[block] / self.application.speed[self.node])

    def note(self, position: int, begin: float) -> None:
        if len(self.application.record.cpu_start):
            self.application.record.cpu_start[position] = begin

    def has_computed(self, block: int, background: int) -> None:
        self.computing -= background
        self.done(block)
        if self.application.node[block] == self.node:
            self.release(block, 1)

    def done(self, block: int) -> None:
        self.left[self.application.epoch_of[block]] -= 1

    def release(self, block: int, count: int) -> None:
        """Take some from what a block in memory still waits for; the last one frees its room."""
        self.holders[block] -= count
        if not self.holders[block]:
            self.buffered -= 1


def _decrement(counter: Counter[int], key: int) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
