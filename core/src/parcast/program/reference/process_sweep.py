"""The cost table of ``docs/program.md``, evaluated by sweeping over the processes.

Every process runs until it needs an arrival that is not known yet. Then the earliest request
at a bus, port or disk is served, and the processes run on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from parcast.errors import InvalidPointError, SolveError
from parcast.model.costs import Costs
from parcast.model.messages import SIGNAL
from parcast.model.query import Parts
from parcast.program.reference.flows import Flow, Flows
from parcast.program.reference.instants import Requests, by_arrival, end_of_instant, latest_end
from parcast.program.reference.outcome import Reference
from parcast.program.reference.processes import Mailbox, Message, Process, Receive, Step, is_eager
from parcast.program.source.operations import ANY
from parcast.program.unroll.blocks import Operation, Unrolled


def steps_of(unrolled: Unrolled, costs: Costs) -> list[list[Step]]:
    """Return what each process does, in its order; arguments are those of `by_sweep`."""
    sweep = _Sweep(unrolled, costs)
    sweep.result()
    return [process.steps for process in sweep.processes]


def takers_of(unrolled: Unrolled, costs: Costs) -> dict[int, list[int]]:
    """Return who takes each task of pools without a master, by the number of the pool.

    Arguments are those of `by_sweep`.
    """
    sweep = _Sweep(unrolled, costs)
    sweep.result()
    return dict(sweep.takers)


def by_sweep(unrolled: Unrolled, costs: Costs) -> Reference:
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
    return _Sweep(unrolled, costs).result()


class _Sweep:
    def __init__(self, unrolled: Unrolled, costs: Costs) -> None:
        self.unrolled = unrolled
        self.costs = costs
        self.node = costs.placement.node.tolist()
        self.processes = [Process(list(enumerate(operations))) for operations in unrolled.by_rank()]
        self.tasks_taken: dict[int, int] = defaultdict(int)  # tasks of each pool that are taken
        self.takers: dict[int, list[int]] = defaultdict(list)  # who took each
        self.answers: dict[int, int] = {}  # of masters: the task that each process was sent
        self.mailboxes: dict[tuple[int, int], Mailbox] = defaultdict(Mailbox)
        self.wildcards: dict[int, tuple[Receive, Mailbox]] = {}
        self.requests = Requests()
        self.free: dict[tuple[str, int], float] = defaultdict(int)
        self.start: float = 0
        self.call = costs.overhead_receive if costs.overhead_by == "call" else 0
        self.flows = Flows(costs.wiring() if costs.contention == "fair" else None)
        self.charges: dict[tuple[str, int, int, float], float] = {}  # by name, pair and bytes
        self.woken = set(range(len(self.processes)))  # those that may be able to go on

    def result(self) -> Reference:
        self.run()
        while self.serve():
            self.run()
        for rank, process in enumerate(self.processes):
            if process.position < len(process.operations):
                raise self.stuck(rank, process.operations[process.position][1])
        ends = tuple(process.clock for process in self.processes)
        parts = tuple(self.parts(process, max(ends)) for process in self.processes)
        return Reference(max(ends) - self.start, self.start, ends, parts)

    def parts(self, process: Process, end: float) -> Parts:
        totals: dict[str, float] = defaultdict(int)
        for part, since, until in [*process.spent, ("synchronization", process.clock, end)]:
            totals[part] += max(until, self.start) - max(since, self.start)
        names = ("compute", "communication", "io", "synchronization")
        return Parts(*(totals[name] for name in names))

    def stuck(self, rank: int, operation: Operation) -> InvalidPointError:
        return InvalidPointError(
            f"{self.unrolled.line(operation.site)}: at p={self.unrolled.size} rank {rank} waits in "
            f"{operation.op} for ever; order sends and receives so that each finds its partner"
        )

    def run(self) -> None:
        """Run every process as far as it can, until none moves."""
        while self.woken:
            ranks, self.woken = sorted(self.woken), set()
            for rank in ranks:
                self.advance(rank, self.processes[rank])

    def advance(self, rank: int, process: Process) -> None:
        """Run a process until it waits or ends."""
        while not process.blocked and process.position < len(process.operations):
            if not process.entered:
                process.entered = True
                process.since = process.clock
                self.enter(rank, process, *process.operations[process.position])
            if process.blocked or not self.leave(process):
                break
            process.entered = False
            process.note()
            process.position += 1

    def enter(self, rank: int, process: Process, order: int, operation: Operation) -> None:
        """Do what an operation does before it waits, and note what it waits for."""
        arguments, costs = operation.arguments, self.costs
        process.awaited, process.overhead, process.pays = [], 0, "afterwards"
        match operation.op:
            case "compute":
                seconds = _plain(costs.compute(rank, arguments["flops"], arguments["bytes"]))
                process.spend("compute", process.clock + seconds)
            case "elapse":
                seconds = _plain(costs.elapse(rank, arguments["seconds"]))
                process.spend("compute", process.clock + seconds)
            case "send" | "isend" | "sendrecv":
                self.send(rank, process, order, operation)
            case "recv":
                process.awaited = [self.post(rank, process, order, arguments)]
                process.pays = "taking"
            case "irecv":
                process.requests[order] = self.post(rank, process, order, arguments)
                process.overhead = self.call
            case "wait" | "waitall":
                requests = [process.requests[request] for request in operation.requests]
                process.awaited = [request for request in requests if not is_eager(request)]
                process.overhead = self.call
                process.pays = "afterwards" if costs.overhead_by == "call" else "taking"
            case "read" | "write":
                process.blocked = True
                serve = partial(self.access, rank, arguments["bytes"], arguments["file"])
                self.ask(process.clock, rank, order, serve)
            case "pool" if self.unrolled.pools[arguments["pool"]].master is None:
                self.fetch(rank, process, order, operation)
            case "pool" | "answer":
                attend = self.attend if operation.op == "pool" else self.answer
                attend(rank, process, order, operation)
            case "start":
                self.start = max(self.start, process.clock)
            case "region":
                pass
            case name:
                raise SolveError(f"{name} must be expanded into messages first")

    def leave(self, process: Process) -> bool:
        """Wait if all that is awaited is known, and tell whether it is."""
        ends: list[tuple[float, float, float]] = []
        for awaited in process.awaited:
            received = isinstance(awaited, Receive)
            message = awaited.message if isinstance(awaited, Receive) else awaited
            if message is None or message.flight is None or message.arrival is None:
                return False
            receiving = _plain(self.costs.receiving(message.bytes)) if received else 0
            ends.append((message.arrival, message.flight, receiving))
        if process.pays == "taking":
            for arrival, flight, receiving in by_arrival(ends):
                process.wait(arrival, flight)
                process.spend("communication", process.clock + receiving)
        elif ends:
            meanwhile = process.pays == "meanwhile"
            process.wait(
                *latest_end([(end + cost * meanwhile, since) for end, since, cost in ends])
            )
        process.spend("communication", process.clock + process.overhead)
        return True

    def send(self, rank: int, process: Process, order: int, operation: Operation) -> None:
        arguments = operation.arguments
        sending = _plain(self.costs.sending(arguments["bytes"]))
        process.spend("communication", process.clock + sending)
        n, ready = arguments["bytes"], process.clock
        eager = n <= self.costs.eager_limit
        early = eager and self.costs.eager == "buffered"
        target = arguments["dst"]
        message = Message(rank, order, target, n, eager, early, ready, asker=rank)
        box = self.mailboxes[target, arguments["tag"]]
        receive = next((waiting for waiting in box.receives if waiting.source == rank), None)
        if receive is None:
            box.messages.append(message)
        if early:
            self.fly(message, message.ready)
        if receive is not None:
            box.receives.remove(receive)
            self.join(message, receive)
        if operation.op == "isend":
            process.requests[order] = message
        elif not eager:
            process.awaited.append(message)
        if operation.op == "sendrecv":
            incoming = self.post(rank, process, order, arguments)
            process.awaited.append(incoming)
            process.pays = "meanwhile"

    def post(
        self, rank: int, process: Process, order: int, arguments: Mapping[str, Any]
    ) -> Receive:
        source, box = arguments["src"], self.mailboxes[rank, arguments["tag"]]
        receive = Receive(source, order, process.clock)
        if source == ANY:
            self.wildcards[rank] = (receive, box)
            return receive
        message = next((sent for sent in box.messages if sent.source == source), None)
        if message is None:
            box.receives.append(receive)
        else:
            box.messages.remove(message)
            self.join(message, receive)
        return receive

    def join(self, message: Message, receive: Receive) -> None:
        receive.message = message
        self.woken.add(message.target)
        if not message.early:
            self.fly(message, max(message.ready, receive.posted))

    def fly(self, message: Message, at: float) -> None:
        """Send a message off, or ask for the resource that it passes first."""
        message.flight = at
        source, target, costs = message.source, message.target, self.costs
        if costs.contention == "fair":
            self.flow(message, at + self.latency(message))
            return
        alone = self.node[source] == self.node[target] or message.bytes == SIGNAL
        if alone or costs.contention == "none":
            self.arrive(message, at + self.charge("wire", source, target, message.bytes))
            return
        passes = self.over_bus if costs.contention == "bus" else self.out_of_port
        self.ask(at, message.asker, message.order, partial(passes, message))

    def arrive(self, message: Message, at: float) -> None:
        message.arrival = at
        self.woken |= {message.source, message.target}

    def ask(self, at: float, rank: int, order: int, serve: Callable[[float], None]) -> None:
        self.requests.add(at, rank, order, serve)

    def hold(self, resource: tuple[str, int], at: float, seconds: float) -> float:
        """Return when a request of ``at`` gets a resource, held for so many seconds."""
        begin = max(at, self.free[resource])
        self.free[resource] = begin + seconds
        return begin

    def flow(self, message: Message, at: float) -> None:
        """Let a message's bytes flow over the links of its route from a time on."""
        source, target = message.source, message.target
        size = self.charge("on_wire", source, target, message.bytes)
        alone = self.seconds(message)
        if not alone:
            self.arrive(message, at)
            return
        done = partial(self.arrive, message)
        share = _plain(self.costs.share(source, target))
        flow = Flow(self.flows.links(source, target), size / alone, size, done, share)
        self.flows.begin(flow, at)

    def over_bus(self, message: Message, at: float) -> None:
        begin = self.hold(("bus", 0), at, self.seconds(message))
        self.arrive(message, begin + self.seconds(message) + self.latency(message))

    def out_of_port(self, message: Message, at: float) -> None:
        begin = self.hold(("out", self.node[message.source]), at, self.seconds(message))
        header = begin + self.latency(message)
        self.ask(header, message.asker, message.order, partial(self.into_port, message))

    def into_port(self, message: Message, at: float) -> None:
        seconds = self.seconds(message)
        self.arrive(message, self.hold(("in", self.node[message.target]), at, seconds) + seconds)

    def seconds(self, message: Message) -> float:
        """Return how long a message holds a bus or a port."""
        return self.charge("transfer", message.source, message.target, message.bytes)

    def latency(self, message: Message) -> float:
        return self.charge("latency", message.source, message.target, message.bytes)

    def charge(self, name: str, source: int, target: int, size: float) -> float:
        """Return what the machine charges a message; many are alike, and routes take time."""
        key = name, source, target, size
        if key not in self.charges:
            self.charges[key] = _plain(getattr(self.costs, name)(source, target, size))
        return self.charges[key]

    def access(self, rank: int, size: float, file: str, at: float) -> None:
        disks, seconds = self.costs.disks_of(rank, file), self.costs.piece(size, file)
        process = self.processes[rank]
        process.spend("io", max(self.hold(("disk", disk), at, seconds) for disk in disks) + seconds)
        process.blocked = False
        self.woken.add(rank)

    def fetch(self, rank: int, process: Process, order: int, operation: Operation) -> None:
        """Ask for the next task of a pool."""
        process.blocked = True
        process.spend("communication", process.clock + _plain(self.costs.sending(0)))
        keeper = self.unrolled.pools[operation.arguments["pool"]].keeper
        arrival = process.clock + self.charge("latency", rank, keeper, 0)
        self.ask(arrival, rank, order, partial(self.give, rank, order, operation))

    def give(self, rank: int, order: int, operation: Operation, at: float) -> None:
        """Give a process the next task of a pool, or the word that there is none."""
        process, number = self.processes[rank], operation.arguments["pool"]
        pool, task, fetched = self.unrolled.pools[number], self.tasks_taken[number], 0
        process.spend("communication", at)
        if task < pool.tasks:
            self.tasks_taken[number] += 1
            self.takers[number].append(rank)
            fetched = pool.bytes_of(task)
            process.insert(order, [*pool.work.lists[task], operation])
        message = Message(pool.keeper, order, rank, fetched, True, True, at, asker=rank)
        process.awaited, process.blocked = [message], False
        process.overhead = _plain(self.costs.receiving(fetched))
        self.fly(message, at)

    def attend(self, rank: int, process: Process, order: int, operation: Operation) -> None:
        """Put what a process does next in a pool with a master, until it comes here again.

        The master takes a message and answers it. Others do the task that the answer was, if one
        was, and send the result, or nothing at first; then they receive the next answer.
        """
        number, site = operation.arguments["pool"], operation.site
        pool, following = self.unrolled.pools[number], list[Operation]()
        tag = {"tag": pool.tag}
        if rank == pool.master:
            if self.tasks_taken[number] < pool.tasks + pool.workers:
                taking = Operation(site, "recv", {"src": ANY, **tag})
                following = [taking, Operation(site, "answer", {"pool": number}), operation]
        elif (task := self.answers.pop(rank, -1)) < pool.tasks:
            work, size = ((), 0) if task < 0 else (pool.work.lists[task], pool.result_of(task))
            sending = Operation(site, "send", {"dst": pool.master, "bytes": size, **tag})
            receiving = Operation(site, "recv", {"src": pool.master, **tag})
            following = [*work, sending, receiving, operation]
        process.insert(order, following)

    def answer(self, rank: int, process: Process, order: int, operation: Operation) -> None:
        """Send the next task, or nothing, to whom the last message was from."""
        number, to = operation.arguments["pool"], process.steps[-1].source
        pool, task = self.unrolled.pools[number], self.tasks_taken[number]
        self.tasks_taken[number] += 1
        self.answers[to] = task
        arguments = {"dst": to, "bytes": pool.bytes_of(task), "tag": pool.tag}
        sending = Operation(operation.site, "send", arguments)
        process.operations[process.position] = order, sending
        self.send(rank, process, order, sending)

    def serve(self) -> bool:
        """Serve the first request, or decide the first wildcard; tell whether there was one.

        A wildcard is decided after the requests of its time, as these may yet bring a message.
        """
        wildcards = [candidate for rank in self.wildcards if (candidate := self.candidate(rank))]
        first, change = self.requests.time(), self.flows.time()
        deciding = end_of_instant(min(wildcards)[0]) if wildcards else change
        if change is not None and change <= deciding and (first is None or change <= first):
            self.flows.change()
            return True
        if not wildcards:
            if first is not None:
                self.requests.serve()
            return first is not None
        until = end_of_instant(min(wildcards)[0])
        if first is not None and first <= until:
            self.requests.serve()
        else:
            self.decide(min(rank for at, rank in wildcards if at <= until))
        return True

    def candidate(self, rank: int) -> tuple[float, int] | None:
        """Return when a wildcard can be decided, and its rank."""
        receive, box = self.wildcards[rank]
        times = [at for message in box.messages if (at := message.eligible()) is not None]
        return (max(receive.posted, min(times)), rank) if times else None

    def decide(self, rank: int) -> None:
        receive, box = self.wildcards.pop(rank)
        candidates = [
            (at, message) for message in box.messages if (at := message.eligible()) is not None
        ]
        until = end_of_instant(min(at for at, _ in candidates))
        eligible = [message for at, message in candidates if at <= until]
        message = min(eligible, key=lambda entry: (entry.source, entry.order))
        box.messages.remove(message)
        self.join(message, receive)


def _plain(value: Any) -> Any:
    """Return a Python number for one of numpy's."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
