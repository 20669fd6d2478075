"""Programs: the process of every rank issues its operations one by one.

What each costs, who pays and what is served first stands in ``docs/program.md``; this is that
page, executed on the clock. Beyond it, accesses may go to the disks of the process's own node,
and checking whether a call has completed may cost time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

from parcast import Parts
from parcast.errors import InvalidPointError, SolveError
from parcast.model import Costs
from parcast.program import ANY, Operation, Unrolled
from parcast.program.reference import by_arrival, latest_end
from parcast.program.unroll import Pool
from parcast_emulator.engines.usage import Progress
from parcast_emulator.processes.clock import SERVE, Clock, Process, Steps, detection
from parcast_emulator.processes.lines import Line
from parcast_emulator.processes.messages import Message, Post, Receive
from parcast_emulator.processes.node_files import NodeFiles
from parcast_emulator.processes.ports import Ports

_PARTS = ("compute", "communication", "io", "synchronization")

#: The tag of a message that no receive takes.
_NO_TAG = -(2**62)

#: What a process waits for.
_Awaited = Message | Receive


class Run:
    """One run of a program; in the end ``ends`` and ``parts`` have an entry for each rank."""

    def __init__(
        self, unrolled: Unrolled, costs: Costs, clock: Clock, ports: Ports,
        files: NodeFiles | None = None, polling: float = 0.0,
    ) -> None:  # fmt: skip
        self.unrolled, self.costs, self.clock = unrolled, costs, clock
        self.files, self.polling = files, polling
        self.start = 0.0  #: the latest ``start()``
        self.starts = [0.0] * unrolled.size  #: of each rank its own
        self.ends = [0.0] * unrolled.size
        self.ranks = [_Rank(self, rank, listed) for rank, listed in enumerate(unrolled.lists)]
        self.post = Post(clock, costs, ports, lambda rank: self.ranks[rank].wake())
        for rank in self.ranks:
            for operation in rank.operations:
                if operation.op == "recv" and operation.arguments["src"] == ANY:
                    self.post.take_any(rank.rank, operation.arguments["tag"])
        self.disks = [Line(clock) for _ in range(costs.disks)]
        for pool in unrolled.pools:
            if pool.master is not None:
                self.post.take_any(pool.master, pool.tag)
        self.dealt: dict[int, int] = {}  # the task that a master has sent each process
        self.given: defaultdict[int, Iterator[int]] = defaultdict(count)  # tasks of each pool

    def run(self, progress: Progress = lambda _time, _done: None) -> None:
        """Run all processes to their ends.

        Raises
        ------
        InvalidPointError
            If processes wait for each other for ever; one and its line are named.
        """
        for rank in self.ranks:
            rank.go()
        self.clock.run(progress)
        for rank in self.ranks:
            if rank.position < len(rank.operations):
                operation = rank.operations[rank.position]
                line, size = self.unrolled.line(operation.site), self.unrolled.size
                raise InvalidPointError(
                    f"{line}: at p={size} rank {rank.rank} never leaves its {operation.op}; order "
                    "sends and receives so that they can meet"
                )
        for rank in self.ranks:
            rank.charge("synchronization", self.ends[rank.rank], max(self.ends))

    @property
    def time(self) -> float:
        """The seconds from the latest ``start()`` to the latest end."""
        return max(self.ends) - self.start

    @property
    def parts(self) -> list[Parts]:
        """What each rank spent the time on."""
        return [Parts(*(rank.spent[name] for name in _PARTS)) for rank in self.ranks]


class _Rank(Process):
    """The process of one rank."""

    def __init__(self, run: Run, rank: int, operations: Sequence[Operation]) -> None:
        super().__init__(run.clock, self.steps(), self.end)
        self.run, self.rank, self.operations = run, rank, operations
        self.position = 0
        self.open: dict[int, _Awaited] = {}  # requests by their position
        self.spent: defaultdict[str, float] = defaultdict(float)

    def end(self) -> None:
        self.run.ends[self.rank] = self.clock.now

    def steps(self) -> Steps:
        for position, operation in enumerate(self.operations):
            self.position = position
            arguments = operation.arguments
            match operation.op:
                case "compute" | "elapse" | "read" | "write" | "region":
                    yield from self.alone(operation)
                case "start":
                    self.run.start = max(self.run.start, self.clock.now)
                    self.run.starts[self.rank] = self.clock.now
                    for rank in self.run.ranks:
                        rank.spent.clear()
                case "pool":
                    pool = self.run.unrolled.pools[arguments["pool"]]
                    if pool.master is None:
                        yield from self.tasks(arguments["pool"])
                    elif pool.master == self.rank:
                        yield from self.deal(pool)
                    else:
                        yield from self.work(pool, pool.master)
                case _:
                    yield from self.communicate(operation)
        self.position = len(self.operations)

    def alone(self, operation: Operation) -> Steps:
        """Do what meets no other process."""
        arguments = operation.arguments
        match operation.op:
            case "compute":
                cost = self.run.costs.compute(self.rank, arguments["flops"], arguments["bytes"])
                yield from self.busy("compute", float(cost))
            case "elapse":
                cost = self.run.costs.elapse(self.rank, arguments["seconds"])
                yield from self.busy("compute", float(cost))
            case "read" | "write":
                yield from self.access(arguments["bytes"], arguments["file"])
            case "send":
                yield from self.send_to(arguments["dst"], arguments["bytes"], arguments["tag"])

    def tasks(self, number: int) -> Steps:
        """Fetch tasks of a pool from its keeper, until there are none."""
        costs, pool, key = (
            self.run.costs,
            self.run.unrolled.pools[number],
            (self.rank, self.position),
        )
        task = 0

        def give() -> None:
            nonlocal task
            task = next(self.run.given[number])
            message.size = pool.bytes_of(task)
            self.run.post.fetch(message)

        question = float(costs.latency(self.rank, pool.keeper, 0))
        while True:
            since = self.clock.now
            message = Message(
                pool.keeper, self.rank, _NO_TAG, 0, self.position, eager=True, early=True, asker=key
            )
            yield since + float(costs.sending(0))
            self.clock.at(self.clock.now + question, SERVE, key, give)
            yield partial(_are_there, [message])
            yield self.clock.now + float(costs.receiving(message.size))
            self.charge("communication", since, self.clock.now)
            if task >= pool.tasks:
                return
            for operation in pool.work.lists[task]:
                yield from self.alone(operation)

    def deal(self, pool: Pool) -> Steps:
        """Answer whoever sends a message, until all processes know that no task is left."""
        for task in range(pool.tasks + pool.workers):
            receive = self.run.post.receive_any(self.rank, pool.tag, self.position)
            yield from self.take(receive)
            assert receive.message is not None
            to = receive.message.source
            self.run.dealt[to] = task
            yield from self.send_to(to, pool.bytes_of(task), pool.tag)

    def work(self, pool: Pool, master: int) -> Steps:
        """Ask the master for task after task, each time with the result of the last one."""
        size = 0.0
        while True:
            yield from self.send_to(master, size, pool.tag)
            yield from self.take(self.run.post.receive(master, self.rank, pool.tag))
            task = self.run.dealt[self.rank]
            if task >= pool.tasks:
                return
            for operation in pool.work.lists[task]:
                yield from self.alone(operation)
            size = pool.result_of(task)

    def send_to(self, to: int, size: float, tag: int) -> Steps:
        """Send a message; wait for it, where it waits for its receive."""
        message = yield from self.send({"dst": to, "bytes": size, "tag": tag})
        if not message.eager:
            yield from self.wait([message])

    def communicate(self, operation: Operation) -> Steps:
        arguments, post = operation.arguments, self.run.post
        match operation.op:
            case "send" | "isend":
                if operation.op == "send":
                    yield from self.send_to(arguments["dst"], arguments["bytes"], arguments["tag"])
                else:
                    self.open[self.position] = yield from self.send(arguments)
                return
            case "sendrecv":
                yield from self.exchange(operation)
                return
            case "recv" if arguments["src"] == ANY:
                receive = post.receive_any(self.rank, arguments["tag"], self.position)
                yield from self.take(receive)
                return
            case "recv":
                yield from self.take(post.receive(arguments["src"], self.rank, arguments["tag"]))
                return
            case "irecv":
                self.open[self.position] = post.receive(
                    arguments["src"], self.rank, arguments["tag"]
                )
            case "wait" | "waitall":
                requests = [self.open.pop(position) for position in operation.requests]
                yield from self.check(requests)
            case name:
                raise SolveError(f"{name} must be expanded into messages first")
        if self.run.costs.overhead_by == "call":
            yield from self.busy("communication", self.run.costs.overhead_receive)

    def take(self, receive: Receive) -> Steps:
        """Wait for a message, and pay for it."""
        yield from self.wait([receive])
        yield from self.busy("communication", self.receiving(receive))

    def receiving(self, request: _Awaited) -> float:
        """Return this process's own time for what has arrived: none for its own messages."""
        if isinstance(request, Message) or request.message is None:
            return 0.0
        return float(self.run.costs.receiving(request.message.size))

    def charge(self, part: str, since: float, until: float) -> None:
        """Add a time to a part, without what lies before the latest ``start()``."""
        start = self.run.start
        self.spent[part] += max(until, start) - max(since, start)

    def busy(self, part: str, seconds: float) -> Steps:
        since = self.clock.now
        yield since + seconds
        self.charge(part, since, self.clock.now)

    def send(self, arguments: Any) -> Any:
        """Be busy with a message, and hand it over."""
        size = arguments["bytes"]
        costs = self.run.costs
        yield from self.busy("communication", float(costs.sending(size)))
        eager = size <= costs.eager_limit
        message = Message(
            self.rank, arguments["dst"], arguments["tag"], size, self.position, eager,
            eager and costs.eager == "buffered",
        )  # fmt: skip
        self.run.post.send(message)
        return message

    def wait(self, awaited: Sequence[_Awaited]) -> Steps:
        """Sleep until all of these are there, and charge the wait to the one that ended it."""
        since = self.clock.now
        yield partial(_are_there, awaited)
        self.reach(max((request.arrival or 0.0 for request in awaited), default=0.0))
        self.charge_wait(since, [(request.arrival or 0.0, request.left) for request in awaited])

    def check(self, requests: Sequence[_Awaited]) -> Steps:
        """Wait for requests by rounds of checks, each of which may cost time."""
        since, round_time = self.clock.now, self.run.polling * len(requests)
        awaited = [request for request in requests if not _is_eager(request)]
        if self.run.costs.overhead_by == "message":
            yield from self.take_all(awaited)
        else:
            yield from self.wait(awaited)
        if round_time:
            completed = self.clock.now
            yield detection(since, completed, round_time)
            self.charge("communication", completed, self.clock.now)

    def take_all(self, awaited: Sequence[_Awaited]) -> Steps:
        """Take one message after another, in the order in which they arrive."""
        begun, left = self.clock.now, list(awaited)
        taken: list[tuple[float, float, float]] = []
        while left:
            yield partial(_is_any_there, left)
            there = [request for request in left if request.arrival is not None]
            first = min(there, key=lambda request: request.arrival or 0.0)
            self.reach(first.arrival or 0.0)
            left = [request for request in left if request is not first]
            seconds = self.receiving(first)
            taken.append((first.arrival or 0.0, first.left, seconds))
            yield self.clock.now + seconds
        now = begun
        for arrival, departure, seconds in by_arrival(taken):
            since, now = now, max(now, arrival)
            gone = min(max(since, departure), now)
            self.charge("synchronization", since, gone)
            self.charge("communication", gone, now + seconds)
            now += seconds

    def charge_wait(self, since: float, ends: list[tuple[float, float]]) -> None:
        _, left = latest_end(ends) if ends else (since, since)
        gone = min(max(since, left), self.clock.now)
        self.charge("synchronization", since, gone)
        self.charge("communication", gone, self.clock.now)

    def exchange(self, operation: Operation) -> Steps:
        """Send and receive at once."""
        arguments = operation.arguments
        message: Message = yield from self.send(arguments)
        receive = self.run.post.receive(arguments["src"], self.rank, arguments["tag"])
        since = self.clock.now
        yield partial(_are_there, [receive])
        received = (receive.arrival or 0.0) + self.receiving(receive)
        if received > self.clock.now:
            yield received
        ends = [(received, receive.left)]
        if not message.eager:
            yield partial(_are_there, [message])
            self.reach(message.arrival or 0.0)
            ends.append((message.arrival or 0.0, message.left))
        self.charge_wait(since, ends)

    def access(self, size: float, file: str) -> Steps:
        """Wait for a disk, or for all that a file lies on."""
        since, completed = self.clock.now, []

        def finish() -> None:
            completed.append(True)
            self.wake()

        def serve() -> None:
            if self.run.files is not None:
                self.run.files.access(self.rank, size, finish)
                return
            costs, end = self.run.costs, self.clock.now
            for disk in costs.disks_of(self.rank, file):
                line = self.run.disks[disk]
                line.hold(float(costs.piece(size, file)))
                end = max(end, line.free)
            self.clock.at(end, 0, (self.rank, self.position), finish)

        self.clock.at(since, SERVE, (self.rank, self.position), serve)
        yield lambda: bool(completed)
        self.charge("io", since, self.clock.now)


def _are_there(requests: Sequence[_Awaited]) -> bool:
    return all(request.arrival is not None for request in requests)


def _is_any_there(requests: Sequence[_Awaited]) -> bool:
    return any(request.arrival is not None for request in requests)


def _is_eager(request: _Awaited) -> bool:
    return isinstance(request, Message) and request.eager
