"""The processes: each a generator, from operation to operation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator
from itertools import count

from parcast.errors import InvalidPointError, SolveError
from parcast.model.costs import Costs
from parcast.model.messages import SIGNAL
from parcast.program import ANY, Operation, Unrolled
from parcast.program.reference.outcome import Reference
from parcast.testing.events.accounts import Accounts
from parcast.testing.events.agenda import RUN, SERVE, Agenda
from parcast.testing.events.letters import Letter, Letters, Wildcards
from parcast.testing.events.transport import Transport

#: What a process yields: when it goes on, or None to sleep until it is woken.
_Steps = Generator[float | None, None, None]


def by_events(unrolled: Unrolled, costs: Costs) -> Reference:
    """Return when every process ends, and what it spends its time on.

    Parameters
    ----------
    unrolled
        A program whose collectives are expanded.
    costs
        Floats, or fractions for an exact answer.

    Raises
    ------
    InvalidPointError
        If processes wait for each other for ever.
    """
    return _Simulation(unrolled, costs).result()


class _Simulation:
    def __init__(self, unrolled: Unrolled, costs: Costs) -> None:
        self.unrolled = unrolled
        self.costs = costs
        self.speed = costs.placement.speed.tolist()
        self.sharing = costs.placement.sharing.tolist()
        self.agenda = Agenda()
        self.letters = Letters()
        self.wildcards = Wildcards(self.agenda, self.take_any)
        self.transport = Transport(costs, self.agenda, self.arrive)
        self.accounts = Accounts(unrolled.size)
        self.processes = [self.process(rank) for rank in range(unrolled.size)]
        self.clocks: list[float] = [0] * unrolled.size
        self.asleep: set[int] = set()
        self.stands: dict[int, Operation] = {}  # what each process that has not ended is at
        self.ends: list[float] = [0] * unrolled.size
        self.taken: dict[int, Letter] = {}
        self.tasks_taken: dict[int, Iterator[int]] = defaultdict(count)  # tasks of each pool
        self.dealt: dict[int, int] = {}  # the task that a master has sent each process
        self.disk_free: dict[int, float] = defaultdict(int)

    @property
    def now(self) -> float:
        """The time of the event that happens."""
        return self.agenda.now

    def result(self) -> Reference:
        for rank in range(self.unrolled.size):
            self.step(rank)
        while self.agenda:
            self.agenda.happen()
        if self.stands:
            rank, operation = min(self.stands.items(), key=lambda item: item[0])
            raise InvalidPointError(
                f"{self.unrolled.line(operation.site)}: at p={self.unrolled.size} rank {rank} "
                f"never leaves its {operation.op}; order sends and receives so that they can meet"
            )
        last = max(self.ends)
        for rank, end in enumerate(self.ends):
            self.accounts.charge(rank, "synchronization", end, last)
        start = self.accounts.start
        return Reference(last - start, start, tuple(self.ends), self.accounts.parts())

    def step(self, rank: int) -> None:
        now = self.now
        self.agenda.now = max(now, self.clocks[rank])  # what wakes it may be behind by last bits
        try:
            until = next(self.processes[rank])
        except StopIteration:
            self.ends[rank] = self.now
            self.stands.pop(rank, None)
        else:
            if until is None:
                self.asleep.add(rank)
            else:
                self.agenda.at(until, RUN, rank, 0, lambda: self.step(rank))
        self.clocks[rank], self.agenda.now = self.now, now

    def wake(self, rank: int) -> None:
        if rank in self.asleep:
            self.asleep.remove(rank)
            self.step(rank)

    def process(self, rank: int) -> _Steps:
        # Whether received; no sends that need not be awaited
        requests: dict[int, tuple[Letter, bool]] = {}
        for order, operation in enumerate(self.unrolled.rank(rank)):
            self.stands[rank] = operation
            match operation.op:
                case "start":
                    self.accounts.restart(self.now)
                case "pool":
                    number = operation.arguments["pool"]
                    master = self.unrolled.pools[number].master
                    does = self.tasks if master is None else self.work_for_master
                    does = self.deal if master == rank else does
                    yield from does(rank, order, number)
                case "compute" | "elapse" | "read" | "write" | "region":
                    yield from self.alone(rank, order, operation)
                case _:
                    yield from self.communicate(rank, order, operation, requests)

    def alone(self, rank: int, order: int, operation: Operation) -> _Steps:
        """Do what meets no other process."""
        if operation.op in {"compute", "elapse"}:
            yield from self.busy(rank, "compute", self.work(rank, operation))
        elif operation.op in {"read", "write"}:
            yield from self.access(rank, order, operation)
        elif operation.op == "send":
            yield from self.send_and_wait(rank, order, *operation.arguments.values())

    def tasks(self, rank: int, order: int, number: int) -> _Steps:
        """Fetch one task after another, until there are none."""
        pool = self.unrolled.pools[number]
        to_pool, _ = self.transport.crossing(Letter(rank, pool.keeper, 0))
        letter = Letter(pool.keeper, rank, 0, order=order, by=rank)
        task = 0

        def give() -> None:
            nonlocal task
            task = next(self.tasks_taken[number])
            letter.size = pool.bytes_of(task)
            self.transport.depart(letter)

        while True:
            letter.arrival, since = None, self.now
            yield self.now + self.overhead("overhead", 0)
            self.agenda.at(self.now + to_pool, SERVE, rank, order, give)
            while letter.arrival is None:
                yield None
            yield self.now + self.overhead("overhead_receive", letter.size)
            self.accounts.charge(rank, "communication", since, self.now)
            if task >= pool.tasks:
                return
            for operation in pool.work.lists[task]:
                yield from self.alone(rank, order, operation)

    def deal(self, rank: int, order: int, number: int) -> _Steps:
        """Answer whoever sends a message, as often as there are tasks and processes."""
        pool = self.unrolled.pools[number]
        for task in range(pool.tasks + pool.workers):
            letter = yield from self.receive_any(rank, order, pool.tag)
            yield from self.receive(rank, letter)
            self.dealt[letter.source] = task
            yield from self.send_and_wait(rank, order, letter.source, pool.bytes_of(task), pool.tag)

    def work_for_master(self, rank: int, order: int, number: int) -> _Steps:
        """Send the master nothing, then result after result, and do the tasks that it sends."""
        pool = self.unrolled.pools[number]
        assert pool.master is not None
        size: float = 0
        while True:
            yield from self.send_and_wait(rank, order, pool.master, size, pool.tag)
            letter = self.post(rank, pool.master, pool.tag)
            yield from self.wait(rank, [letter])
            yield from self.receive(rank, letter)
            task = self.dealt[rank]
            if task >= pool.tasks:
                return
            for operation in pool.work.lists[task]:
                yield from self.alone(rank, order, operation)
            size = pool.result_of(task)

    def send_and_wait(self, rank: int, order: int, to: int, size: float, tag: int) -> _Steps:
        """Send a message as ``send`` does."""
        arguments = {"dst": to, "bytes": size, "tag": tag}
        letter = yield from self.send(rank, order, Operation(0, "send", arguments))
        if not letter.eager:
            yield from self.wait(rank, [letter])

    def work(self, rank: int, operation: Operation) -> float:
        arguments, costs = operation.arguments, self.costs
        if operation.op == "elapse":
            return arguments["seconds"]  # type: ignore[no-any-return]
        seconds: float = arguments["flops"] / (costs.rate * self.speed[rank])
        if costs.memory_bandwidth is not None:
            seconds = max(seconds, arguments["bytes"] / costs.memory_bandwidth * self.sharing[rank])
        if costs.core_bandwidth is not None:
            seconds = max(seconds, arguments["bytes"] / costs.core_bandwidth)
        return seconds

    def communicate(
        self,
        rank: int,
        order: int,
        operation: Operation,
        requests: dict[int, tuple[Letter, bool]],
    ) -> _Steps:
        arguments = operation.arguments
        match operation.op:
            case "send" | "isend":
                letter = yield from self.send(rank, order, operation)
                if not letter.eager and operation.op == "isend":
                    requests[order] = letter, False
                elif not letter.eager:
                    yield from self.wait(rank, [letter])
                return
            case "sendrecv":
                yield from self.exchange(rank, order, operation)
                return
            case "recv" if arguments["src"] == ANY:
                letter = yield from self.receive_any(rank, order, arguments["tag"])
                yield from self.receive(rank, letter)
            case "recv":
                letter = self.post(rank, arguments["src"], arguments["tag"])
                yield from self.wait(rank, [letter])
                yield from self.receive(rank, letter)
            case "irecv":
                requests[order] = self.post(rank, arguments["src"], arguments["tag"]), True
                yield from self.call(rank)
            case "wait" | "waitall":
                awaited = [
                    requests[request] for request in operation.requests if request in requests
                ]
                if self.costs.overhead_by == "message":
                    yield from self.take(rank, awaited)
                else:
                    yield from self.wait(rank, [letter for letter, _ in awaited])
                yield from self.call(rank)
            case name:
                raise SolveError(f"{name} must be expanded into messages first")

    def overhead(self, name: str, n: float) -> float:
        """Return an overhead of a message of so many bytes; a signal has none."""
        if n == SIGNAL:
            return 0
        steps = [size for size in self.costs.sizes if size.least <= n]
        seconds: float = getattr(steps[-1] if steps else self.costs, name)
        return seconds

    def call(self, rank: int) -> _Steps:
        """Pay for a call, where calls are paid for."""
        if self.costs.overhead_by == "call":
            yield from self.busy(rank, "communication", self.costs.overhead_receive)

    def receive(self, rank: int, letter: Letter) -> _Steps:
        """Pay for a message that has arrived."""
        seconds = self.overhead("overhead_receive", letter.size)
        yield from self.busy(rank, "communication", seconds)

    def take(self, rank: int, letters: list[tuple[Letter, bool]]) -> _Steps:
        """Take one message after another, in the order in which they arrive."""
        begun, left, taken = self.now, list(letters), []
        while left:
            while all(letter.arrival is None for letter, _ in left):
                yield None
            there = [entry for entry in left if entry[0].arrival is not None]
            first = min(there, key=lambda entry: entry[0].arrival or 0)
            left = [entry for entry in left if entry is not first]
            letter, received = first
            seconds = self.overhead("overhead_receive", letter.size) if received else 0
            taken.append((letter, seconds))
            yield self.now + seconds
        self.accounts.takings(rank, begun, taken)

    def busy(self, rank: int, part: str, seconds: float) -> _Steps:
        since = self.now
        yield self.now + seconds
        self.accounts.charge(rank, part, since, self.now)

    def wait(self, rank: int, letters: list[Letter]) -> _Steps:
        """Sleep until all letters have arrived."""
        since = self.now
        while not all(letter.arrival is not None for letter in letters):
            yield None
        self.accounts.wait(
            rank, since, [(letter.arrival or 0, letter.left) for letter in letters], self.now
        )

    def exchange(self, rank: int, order: int, operation: Operation) -> _Steps:
        letter = yield from self.send(rank, order, operation)
        incoming = self.post(rank, operation.arguments["src"], operation.arguments["tag"])
        since = self.now
        while incoming.arrival is None:
            yield None
        received = incoming.arrival + self.overhead("overhead_receive", incoming.size)
        if received > self.now:
            yield received
        ends = [(received, incoming.left)]
        if not letter.eager:
            while letter.arrival is None:
                yield None
            ends.append((letter.arrival, letter.left))
        self.accounts.wait(rank, since, ends, self.now)

    def access(self, rank: int, order: int, operation: Operation) -> _Steps:
        since, size = self.now, operation.arguments["bytes"]
        served: list[bool] = []
        disks = self.costs.disks
        striped = self.costs.layout == "bus" or operation.arguments["file"] == "shared"
        used = range(disks) if striped else [rank % disks]

        def serve() -> None:
            for disk in used:
                seconds = self.costs.disk_startup + size * self.costs.disk_per_byte / len(used)
                self.disk_free[disk] = max(self.disk_free[disk], self.now) + seconds
            end = max(self.disk_free[disk] for disk in used)
            self.agenda.at(end, RUN, rank, order, finish)

        def finish() -> None:
            served.append(True)
            self.wake(rank)

        self.agenda.at(self.now, SERVE, rank, order, serve)
        while not served:
            yield None
        self.accounts.charge(rank, "io", since, self.now)

    def send(
        self, rank: int, order: int, operation: Operation
    ) -> Generator[float | None, None, Letter]:
        arguments = operation.arguments
        n = arguments["bytes"]
        seconds = self.overhead("overhead", n) + max(n, 0) * self.costs.overhead_per_byte
        yield from self.busy(rank, "communication", seconds)
        letter = self.letters.to_send((rank, arguments["dst"], arguments["tag"]))
        letter.size, letter.order, letter.sent = arguments["bytes"], order, True
        letter.number = self.agenda.number()
        letter.eager = arguments["bytes"] <= self.costs.eager_limit
        letter.early = letter.eager and self.costs.eager == "buffered"
        if not letter.early:
            self.wildcards.offer(letter)
        if letter.early or letter.posted:
            self.transport.depart(letter)
        return letter

    def post(self, rank: int, src: int, tag: int) -> Letter:
        letter = self.letters.to_receive((src, rank, tag))
        self.accept(letter)
        return letter

    def accept(self, letter: Letter) -> None:
        letter.posted = True
        if letter.sent and not letter.early:
            self.transport.depart(letter)

    def receive_any(self, rank: int, order: int, tag: int) -> Generator[float | None, None, Letter]:
        since = self.now
        self.wildcards.want(rank, order, tag)
        while rank not in self.taken:
            yield None
        letter = self.taken.pop(rank)
        while letter.arrival is None:
            yield None
        self.accounts.wait(rank, since, [(letter.arrival, letter.left)], self.now)
        return letter

    def take_any(self, rank: int, letter: Letter) -> None:
        """Let a wildcard of a rank take a letter."""
        self.taken[rank] = letter
        self.accept(letter)
        self.wake(rank)

    def arrive(self, letter: Letter) -> None:
        letter.arrival = self.now
        if letter.early:
            self.wildcards.offer(letter)
        self.wake(letter.target)
        self.wake(letter.source)
