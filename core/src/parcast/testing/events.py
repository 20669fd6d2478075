"""The cost table of ``docs/program.md``, evaluated event by event in the order of time.

Written apart from `parcast.program.reference.process_sweep`, so that the two check each other:
processes are generators that yield when they go on, or None to sleep until something wakes them.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from itertools import count

import attrs

from parcast.errors import InvalidPointError, SolveError
from parcast.model.costs import Costs
from parcast.model.messages import SIGNAL
from parcast.model.query import Parts
from parcast.program import ANY, Operation, Unrolled
from parcast.program.reference.instants import SAME_INSTANT
from parcast.program.reference.outcome import Reference
from parcast.testing.streams import Streams

#: What happens first among the events of one instant: processes run and messages arrive, then
#: resources are served, then wildcards are decided.
_RUN, _SERVE, _DECIDE = range(3)

#: Of one instant: what kind of event, a rank and a place there; then as they were asked for.
_Turn = tuple[int, int, int, int]

_PARTS = ("compute", "communication", "io", "synchronization")

#: A source, a destination and a tag.
_Channel = tuple[int, int, int]

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


@attrs.define(eq=False)
class _Letter:
    """What the k-th send and the k-th receive of a channel share; either may come first."""

    source: int
    target: int
    tag: int
    size: float = 0
    order: int = 0  #: of the send, among the operations of its process
    number: int = 0  #: of the send, among all that are alike
    eager: bool = False  #: its sender goes on
    early: bool = False  #: it leaves before its receive is posted
    by: int | None = None  #: who asks for what it passes, where that is not its source
    sent: bool = False
    posted: bool = False
    left: float = 0  #: when the transfer began
    arrival: float | None = None  #: set when it has arrived

    @property
    def asker(self) -> int:
        """The process that asks for what the letter passes."""
        return self.source if self.by is None else self.by


def _end(time: float) -> float:
    """Return the end of the instant that begins at a time; fractions are exact."""
    return time * (1 + SAME_INSTANT) if isinstance(time, float) else time


class _Simulation:
    def __init__(self, unrolled: Unrolled, costs: Costs) -> None:
        self.unrolled = unrolled
        self.costs = costs
        self.node = costs.placement.node.tolist()
        self.speed = costs.placement.speed.tolist()
        self.sharing = costs.placement.sharing.tolist()
        self.now: float = 0
        self.start: float = 0
        self.events: list[tuple[float, _Turn, Callable[[], None]]] = []
        self.instant: list[tuple[_Turn, float, Callable[[], None]]] = []  # of what is now
        self.until: float = 0  # the end of this instant
        self.counter = count()
        self.processes = [self.process(rank) for rank in range(unrolled.size)]
        self.clocks: list[float] = [0] * unrolled.size
        self.asleep: set[int] = set()
        self.stands: dict[int, Operation] = {}  # what each process that has not ended is at
        self.ends: list[float] = [0] * unrolled.size
        self.spent: list[dict[str, float]] = [defaultdict(int) for _ in self.ends]
        self.letters: dict[tuple[_Channel, int], _Letter] = {}
        self.sends: dict[_Channel, Iterator[int]] = defaultdict(count)
        self.posts: dict[_Channel, Iterator[int]] = defaultdict(count)
        #: what wildcards of a destination and tag may take: when it was there, source and order
        self.offers: dict[tuple[int, int], list[tuple[float, int, int, int, _Letter]]] = {}
        self.wanting: dict[tuple[int, int], int] = {}  # wildcards, and the order of their receive
        self.taken: dict[int, _Letter] = {}
        self.tasks_taken: dict[int, Iterator[int]] = defaultdict(count)  # tasks of each pool
        self.dealt: dict[int, int] = {}  # the task that a master has sent each process
        self.streams = Streams(costs)
        self.changes = 0  # of what is on its way
        self.bus_free: float = 0
        self.out_free: dict[int, float] = defaultdict(int)
        self.in_free: dict[int, float] = defaultdict(int)
        self.disk_free: dict[int, float] = defaultdict(int)

    def at(self, time: float, kind: int, rank: int, order: int, do: Callable[[], None]) -> None:
        turn = kind, rank, order, next(self.counter)
        if self.instant and time <= self.until:
            heapq.heappush(self.instant, (turn, time, do))
        else:
            heapq.heappush(self.events, (time, turn, do))

    def first(self) -> Callable[[], None]:
        """Go on to the first event: of one instant by its turn, whatever the last bits say."""
        if not self.instant:
            self.until = _end(self.events[0][0])
            while self.events and self.events[0][0] <= self.until:
                time, turn, do = heapq.heappop(self.events)
                heapq.heappush(self.instant, (turn, time, do))
        _, self.now, do = heapq.heappop(self.instant)
        return do

    def result(self) -> Reference:
        for rank in range(self.unrolled.size):
            self.step(rank)
        while self.events or self.instant:
            self.first()()
        if self.stands:
            rank, operation = min(self.stands.items(), key=lambda item: item[0])
            raise InvalidPointError(
                f"{self.unrolled.line(operation.site)}: at p={self.unrolled.size} rank {rank} "
                f"never leaves its {operation.op}; order sends and receives so that they can meet"
            )
        last = max(self.ends)
        for rank, end in enumerate(self.ends):
            self.charge(rank, "synchronization", end, last)
        parts = tuple(Parts(*(spent[name] for name in _PARTS)) for spent in self.spent)
        return Reference(last - self.start, self.start, tuple(self.ends), parts)

    def charge(self, rank: int, part: str, since: float, until: float) -> None:
        """Add a time to a part, without what lies before the latest ``start()``."""
        self.spent[rank][part] += max(until, self.start) - max(since, self.start)

    def step(self, rank: int) -> None:
        now = self.now
        self.now = max(now, self.clocks[rank])  # what wakes it may be behind by last bits
        try:
            until = next(self.processes[rank])
        except StopIteration:
            self.ends[rank] = self.now
            self.stands.pop(rank, None)
        else:
            if until is None:
                self.asleep.add(rank)
            else:
                self.at(until, _RUN, rank, 0, lambda: self.step(rank))
        self.clocks[rank], self.now = self.now, now

    def wake(self, rank: int) -> None:
        if rank in self.asleep:
            self.asleep.remove(rank)
            self.step(rank)

    def process(self, rank: int) -> _Steps:
        requests: dict[
            int, tuple[_Letter, bool]
        ] = {}  # whether received; no sends that need not be awaited
        for order, operation in enumerate(self.unrolled.rank(rank)):
            self.stands[rank] = operation
            match operation.op:
                case "start":
                    self.start = max(self.start, self.now)
                    for spent in self.spent:
                        spent.clear()
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
        to_pool, _ = self.crossing(_Letter(rank, pool.keeper, 0))
        letter = _Letter(pool.keeper, rank, 0, order=order, by=rank)
        task = 0

        def give() -> None:
            nonlocal task
            task = next(self.tasks_taken[number])
            letter.size = pool.bytes_of(task)
            self.depart(letter)

        while True:
            letter.arrival, since = None, self.now
            yield self.now + self.overhead("overhead", 0)
            self.at(self.now + to_pool, _SERVE, rank, order, give)
            while letter.arrival is None:
                yield None
            yield self.now + self.overhead("overhead_receive", letter.size)
            self.charge(rank, "communication", since, self.now)
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
        requests: dict[int, tuple[_Letter, bool]],
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

    def receive(self, rank: int, letter: _Letter) -> _Steps:
        """Pay for a message that has arrived."""
        seconds = self.overhead("overhead_receive", letter.size)
        yield from self.busy(rank, "communication", seconds)

    def take(self, rank: int, letters: list[tuple[_Letter, bool]]) -> _Steps:
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
        self.charge_taken(rank, begun, taken)

    def charge_taken(self, rank: int, now: float, taken: list[tuple[_Letter, float]]) -> None:
        """Charge a wait that took these; of those of one instant, first what left first."""
        while taken:
            until = _end(min(letter.arrival or 0 for letter, _ in taken))
            together = [entry for entry in taken if (entry[0].arrival or 0) <= until]
            first = min(together, key=lambda entry: entry[0].left)
            taken = [entry for entry in taken if entry is not first]
            letter, seconds = first
            since, now = now, max(now, letter.arrival or 0)
            gone = min(max(since, letter.left), now)
            self.charge(rank, "synchronization", since, gone)
            self.charge(rank, "communication", gone, now + seconds)
            now += seconds

    def busy(self, rank: int, part: str, seconds: float) -> _Steps:
        since = self.now
        yield self.now + seconds
        self.charge(rank, part, since, self.now)

    def wait(self, rank: int, letters: list[_Letter]) -> _Steps:
        """Sleep until all letters have arrived."""
        since = self.now
        while not all(letter.arrival is not None for letter in letters):
            yield None
        self.charge_wait(rank, since, [(letter.arrival or 0, letter.left) for letter in letters])

    def charge_wait(self, rank: int, since: float, ends: list[tuple[float, float]]) -> None:
        """Charge a wait until now by the letter that ended it: its end and when it left."""
        last = max((end for end, _ in ends), default=since)
        left = min((left for end, left in ends if last <= _end(end)), default=since)
        gone = min(max(since, left), self.now)
        self.charge(rank, "synchronization", since, gone)
        self.charge(rank, "communication", gone, self.now)

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
        self.charge_wait(rank, since, ends)

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
            self.at(end, _RUN, rank, order, finish)

        def finish() -> None:
            served.append(True)
            self.wake(rank)

        self.at(self.now, _SERVE, rank, order, serve)
        while not served:
            yield None
        self.charge(rank, "io", since, self.now)

    def letter(self, ordinals: dict[_Channel, Iterator[int]], channel: _Channel) -> _Letter:
        """Return the next letter of a channel, as one of its two sides counts them."""
        key = (channel, next(ordinals[channel]))
        return self.letters.setdefault(key, _Letter(*channel))

    def send(
        self, rank: int, order: int, operation: Operation
    ) -> Generator[float | None, None, _Letter]:
        arguments = operation.arguments
        n = arguments["bytes"]
        seconds = self.overhead("overhead", n) + max(n, 0) * self.costs.overhead_per_byte
        yield from self.busy(rank, "communication", seconds)
        letter = self.letter(self.sends, (rank, arguments["dst"], arguments["tag"]))
        letter.size, letter.order, letter.sent = arguments["bytes"], order, True
        letter.number = next(self.counter)
        letter.eager = arguments["bytes"] <= self.costs.eager_limit
        letter.early = letter.eager and self.costs.eager == "buffered"
        if not letter.early:
            self.offer(letter)
        if letter.early or letter.posted:
            self.depart(letter)
        return letter

    def post(self, rank: int, src: int, tag: int) -> _Letter:
        letter = self.letter(self.posts, (src, rank, tag))
        self.accept(letter)
        return letter

    def accept(self, letter: _Letter) -> None:
        letter.posted = True
        if letter.sent and not letter.early:
            self.depart(letter)

    def receive_any(
        self, rank: int, order: int, tag: int
    ) -> Generator[float | None, None, _Letter]:
        since = self.now
        self.wanting[rank, tag] = order
        self.ask(rank, tag)
        while rank not in self.taken:
            yield None
        letter = self.taken.pop(rank)
        while letter.arrival is None:
            yield None
        self.charge_wait(rank, since, [(letter.arrival, letter.left)])
        return letter

    def offer(self, letter: _Letter) -> None:
        """Let a wildcard take a letter from now on."""
        offers = self.offers.setdefault((letter.target, letter.tag), [])
        offers.append((self.now, letter.source, letter.order, letter.number, letter))
        self.ask(letter.target, letter.tag)

    def ask(self, rank: int, tag: int) -> None:
        """Have a wildcard decided, if there is one and something that it can take."""
        if self.offers.get((rank, tag)) and (rank, tag) in self.wanting:
            order = self.wanting.pop((rank, tag))
            self.at(self.now, _DECIDE, rank, order, lambda: self.decide(rank, tag))

    def decide(self, rank: int, tag: int) -> None:
        offers = self.offers[rank, tag]
        until = _end(min(time for time, *_ in offers))
        offer = min((offer for offer in offers if offer[0] <= until), key=lambda entry: entry[1:4])
        offers.remove(offer)
        letter = offer[4]
        self.taken[rank] = letter
        self.accept(letter)
        self.wake(rank)

    def depart(self, letter: _Letter) -> None:
        """Begin the transfer of a letter."""
        letter.left = self.now
        latency, seconds = self.crossing(letter)
        if self.costs.contention == "fair":
            self.go(letter, self.now + latency)
        elif self.node[letter.source] == self.node[letter.target] or (
            self.costs.contention == "none" or letter.size == SIGNAL
        ):
            self.land(letter, self.now + latency + seconds)
        else:
            through = self.bus if self.costs.contention == "bus" else self.out_port
            self.at(self.now, _SERVE, letter.asker, letter.order, lambda: through(letter))

    def crossing(self, letter: _Letter) -> tuple[float, float]:
        """Return the latency of a letter, and its seconds on the links alone."""
        if letter.size == SIGNAL:
            return 0, 0
        latency, per_byte, size = self.prices(letter)
        if self.costs.fabric is not None:
            wiring, steps = self.costs.wiring(), self.costs.sizes
            factors = [step.latency_factor for step in steps if step.least <= letter.size]
            for link in self.streams.route(letter.source, letter.target):
                if link < len(self.costs.fabric.latency):
                    latency += self.costs.fabric.latency[link] * (factors[-1] if factors else 1)
            for link, weight in self.streams.crossed(letter.source, letter.target).items():
                per_byte = max(per_byte, weight / wiring.capacity[link])
        return latency, size * per_byte

    def prices(self, letter: _Letter) -> tuple[float, float, float]:
        """Return the startup of a letter, the seconds of each byte, and its bytes."""
        costs, source, target = self.costs, letter.source, letter.target
        apart = self.node[source] != self.node[target]
        steps = [step for step in costs.sizes if step.least <= letter.size]
        size = letter.size
        if apart:
            size = (size + costs.header) * (steps[-1].expansion if steps else 1)
        for level in costs.levels:
            if level.instance[source] == level.instance[target]:
                return level.startup, level.per_byte, size
        if not apart:
            return costs.local_startup, costs.local_per_byte, size
        far = steps[-1] if steps else costs
        return far.startup, far.per_byte, size

    def go(self, letter: _Letter, time: float) -> None:
        """Let the bytes of a letter share the links of its route from a time on."""
        _, per_byte, size = self.prices(letter)
        route = self.streams.route(letter.source, letter.target)
        if letter.size == SIGNAL or not size or not (per_byte or route):
            self.land(letter, time)
            return
        self.streams.add(letter, size, per_byte, time)
        self.look()

    def look(self) -> None:
        """Be there when the streams change, unless they change before."""
        self.changes += 1
        change, time = self.changes, self.streams.next_change()

        def step() -> None:
            if change == self.changes:
                for letter in self.streams.change(self.now):
                    self.arrive(letter)
                self.look()

        if time is not None:
            self.at(time, _RUN, -1, 0, step)

    def land(self, letter: _Letter, time: float) -> None:
        self.at(time, _RUN, letter.source, letter.order, lambda: self.arrive(letter))

    def arrive(self, letter: _Letter) -> None:
        letter.arrival = self.now
        if letter.early:
            self.offer(letter)
        self.wake(letter.target)
        self.wake(letter.source)

    def bus(self, letter: _Letter) -> None:
        latency, seconds = self.crossing(letter)
        self.bus_free = max(self.bus_free, self.now) + seconds
        self.land(letter, self.bus_free + latency)

    def out_port(self, letter: _Letter) -> None:
        node = self.node[letter.source]
        begin = max(self.out_free[node], self.now)
        latency, seconds = self.crossing(letter)
        self.out_free[node] = begin + seconds
        self.at(begin + latency, _SERVE, letter.asker, letter.order, lambda: self.in_port(letter))

    def in_port(self, letter: _Letter) -> None:
        node = self.node[letter.target]
        begin = max(self.in_free[node], self.now)
        self.in_free[node] = begin + self.crossing(letter)[1]
        self.land(letter, self.in_free[node])
