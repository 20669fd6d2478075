"""LogGOPSim's replay of a schedule: LogGOPS with its own rules, event by event.

Model: Hoefler, Schneider, Lumsdaine, "LogGOPSim" (LSAP 2010), as the simulator computes it: a send
keeps its processor for o + (n-1) O and its network card for g + (n-1) G; the first byte is there
o + L after it began; the receiver is charged o + (n-1) max(O, G). A send of more than S bytes ends
when its receiver has it, without latency for the acknowledgment.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Sequence

import attrs

from parcast.errors import UnsupportedError
from parcast_traces.readers.goal import ANY, Schedule, Step


@attrs.frozen(kw_only=True)
class LogGOPS:
    """The parameters, in ns; LogGOPSim's own defaults."""

    latency: int = 2500  #: L
    overhead: int = 1500  #: o
    gap: int = 1000  #: g
    per_byte: int = 6  #: G
    overhead_per_byte: int = 0  #: O
    eager: int = 65535  #: S


@attrs.define(slots=True)
class _Message:
    sender: int
    number: int  #: of the send among its rank's steps
    step: Step


def replay(schedule: Schedule, model: LogGOPS) -> list[int]:
    """Return when the processors of each rank are done, in ns.

    Raises
    ------
    UnsupportedError
        If messages are left without receive, or receives without message.
    """
    run = _Run(schedule.ranks, model)
    run.go()
    run.over(schedule.where)
    return [max(one.values(), default=0) for one in run.processor]


class _Run:
    def __init__(self, ranks: Sequence[list[Step]], model: LogGOPS) -> None:
        self.ranks, self.model = ranks, model
        self.queue: list[tuple[int, int, int, int, _Message | None]] = []
        self.count = 0
        self.processor: list[dict[int, int]] = [defaultdict(int) for _ in ranks]
        self.sending: list[dict[int, int]] = [defaultdict(int) for _ in ranks]
        self.receiving: list[dict[int, int]] = [defaultdict(int) for _ in ranks]
        self.posted: list[deque[int]] = [deque() for _ in ranks]
        self.arrived: list[deque[_Message]] = [deque() for _ in ranks]
        self.missing = [[len(one.ended) + len(one.begun) for one in steps] for steps in ranks]
        self.after_end = [_followers(steps, begun=False) for steps in ranks]
        self.after_begin = [_followers(steps, begun=True) for steps in ranks]
        self.fresh: dict[int, list[int]] = {}

    def go(self) -> None:
        for rank, missing in enumerate(self.missing):
            self.fresh[rank] = [number for number, left in enumerate(missing) if not left]
        self._start()
        while self.queue:
            at, turn, rank, number, message = heapq.heappop(self.queue)
            free = self._free(rank, number, message)
            if free > at:  # of those that wait for one time, the first to come is the first
                heapq.heappush(self.queue, (free, turn, rank, number, message))
                continue
            if message is not None:
                self._message(at, rank, message)
            else:
                getattr(self, f"_{self.ranks[rank][number].kind}")(at, rank, number)
            self._start()

    def over(self, where: str) -> None:
        """Refuse a schedule that came to no end."""
        for rank, steps in enumerate(self.ranks):
            if self.posted[rank]:
                one = steps[self.posted[rank][0]]
                raise UnsupportedError(
                    f"{where}: rank {rank} receives what nobody sends: from {one.peer}, tag "
                    f"{one.tag}"
                )
            if self.arrived[rank]:
                left = self.arrived[rank][0]
                raise UnsupportedError(
                    f"{where}: rank {left.sender} sends to rank {rank}, tag {left.step.tag}, what "
                    "is never received"
                )
            if any(self.missing[rank]):
                raise UnsupportedError(f"{where}: steps of rank {rank} require each other in a "
                                       "ring, so none can begin")  # fmt: skip

    def _start(self) -> None:
        """Put steps into the queue that may begin, sends before receives before computation."""
        for rank in sorted(self.fresh):
            steps, free = self.ranks[rank], self.processor[rank]
            for number in sorted(self.fresh[rank], key=lambda one: _ORDER[steps[one].kind]):
                step = steps[number]
                at = free[step.cpu]
                if step.kind == "send":
                    at = max(at, self.sending[rank][step.nic])
                self._push(at, rank, number, None)
        self.fresh = {}

    def _push(self, at: int, rank: int, number: int, message: _Message | None) -> None:
        self.count += 1
        heapq.heappush(self.queue, (at, self.count, rank, number, message))

    def _free(self, rank: int, number: int, message: _Message | None) -> int:
        """Return when processor and network card can take a step, or a message that came."""
        step = self.ranks[rank][number] if message is None else message.step
        if message is None and step.kind == "recv":
            return 0  # being posted takes nothing
        cards = self.sending if message is None else self.receiving
        busy = self.processor[rank][step.cpu]
        return busy if step.kind == "calc" else max(busy, cards[rank][step.nic])

    def _release(self, rank: int, later: list[int]) -> None:
        for number in later:
            self.missing[rank][number] -= 1
            if not self.missing[rank][number]:
                self.fresh.setdefault(rank, []).append(number)

    def _begun(self, rank: int, number: int) -> None:
        self._release(rank, self.after_begin[rank][number])

    def _ended(self, rank: int, number: int) -> None:
        self._release(rank, self.after_end[rank][number])

    def _calc(self, at: int, rank: int, number: int) -> None:
        step = self.ranks[rank][number]
        self.processor[rank][step.cpu] = at + step.size
        self._begun(rank, number)
        self._ended(rank, number)

    def _send(self, at: int, rank: int, number: int) -> None:
        step, model = self.ranks[rank][number], self.model
        more = max(step.size - 1, 0)
        self._begun(rank, number)
        self.processor[rank][step.cpu] = at + model.overhead + more * model.overhead_per_byte
        self.sending[rank][step.nic] = at + model.gap + more * model.per_byte
        message = _Message(rank, number, step)
        self._push(at + model.overhead + model.latency, step.peer, NO_STEP, message)
        if step.size <= model.eager:
            self._ended(rank, number)

    def _recv(self, at: int, rank: int, number: int) -> None:
        step = self.ranks[rank][number]
        self._begun(rank, number)
        found = next((one for one in self.arrived[rank] if _fits(step, one)), None)
        if found is None:
            self.posted[rank].append(number)
            return
        self.arrived[rank].remove(found)
        if step.size > self.model.eager:
            self._acknowledge(at, found, step)
        self._ended(rank, number)

    def _message(self, at: int, rank: int, message: _Message) -> None:
        step, model = message.step, self.model
        more = max(step.size - 1, 0)
        each = max(model.overhead_per_byte, model.per_byte)
        self.processor[rank][step.cpu] = at + model.overhead + more * each
        self.receiving[rank][step.nic] = at + model.gap + more * model.per_byte
        steps, posted = self.ranks[rank], self.posted[rank]
        found = next((one for one in posted if _fits(steps[one], message)), None)
        if found is None:
            self.arrived[rank].append(message)
            return
        posted.remove(found)
        if step.size > model.eager:
            self._acknowledge(at, message, step)
        self._ended(rank, found)

    def _acknowledge(self, at: int, message: _Message, step: Step) -> None:
        """End a send that waited for its receiver."""
        for free, which in ((self.processor, step.cpu), (self.sending, step.nic)):
            free[message.sender][which] = max(free[message.sender][which], at)
        self._ended(message.sender, message.number)


#: Instead of a step's number where a message comes.
NO_STEP = -1

_ORDER = {"send": 0, "recv": 1, "calc": 2}


def _followers(steps: list[Step], *, begun: bool) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in steps]
    for number, one in enumerate(steps):
        for before in one.begun if begun else one.ended:
            found[before].append(number)
    return found


def _fits(receive: Step, message: _Message) -> bool:
    return receive.peer in (ANY, message.sender) and receive.tag in (ANY, message.step.tag)
