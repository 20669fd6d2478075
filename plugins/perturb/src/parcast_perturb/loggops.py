"""LogGOPSim's replay of a schedule: LogGOPS with its own rules, event by event.

Model: Hoefler, Schneider, Lumsdaine, "LogGOPSim" (LSAP 2010), as the simulator computes it: a send
keeps its processor for o + (n-1) O and its network card for g + (n-1) G; the first byte is there
o + L after it began; the receiver is charged o + (n-1) max(O, G). A send of more than S bytes ends
when its receiver has it, without latency for the acknowledgment.

Steps that need the same processor and card wait for them in one line, of which only the first,
the one that came first, is woken when they are free. Of steps that are ready at one time the
order is that of the schedule; the simulator's own sort keeps it for up to 16 of them.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

import attrs

from parcast.errors import UnsupportedError
from parcast_perturb.mailbox import Mailbox, receive_keys
from parcast_traces.readers.schedules import Schedule, Step


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
    replayed = _Run(schedule.ranks, model)
    replayed.run()
    replayed.check_finished(schedule.where)
    return [max(free_times.values(), default=0) for free_times in replayed.processor]


#: Rank, number of a step, and the message instead of it where one comes.
_Waiter = tuple[int, int, "_Message | None"]

#: Rank, what is done there, processor and card: a server with one line of waiters.
_Station = tuple[int, int, int, int]
_SENDING, _POSTING, _COMPUTING, _RECEIVING = range(4)
_KINDS = {"send": _SENDING, "recv": _POSTING, "calc": _COMPUTING}


class _Run:
    def __init__(self, ranks: Sequence[list[Step]], model: LogGOPS) -> None:
        self.ranks, self.model = ranks, model
        self.queue: list[tuple[int, int, bool, _Waiter]] = []  # time, turn, whether from a line
        self.lines: dict[_Station, list[tuple[int, _Waiter]]] = defaultdict(list)  # heaps, by turn
        self.wake_times: dict[_Station, int] = {}  # when the first of a line is woken
        self.count = 0
        self.processor: list[dict[int, int]] = [defaultdict(int) for _ in ranks]
        self.sending: list[dict[int, int]] = [defaultdict(int) for _ in ranks]
        self.receiving: list[dict[int, int]] = [defaultdict(int) for _ in ranks]
        self.posted: list[Mailbox[int]] = [Mailbox() for _ in ranks]
        self.arrived: list[Mailbox[_Message]] = [Mailbox() for _ in ranks]
        self.missing = [[len(step.ended) + len(step.begun) for step in steps] for steps in ranks]
        self.after_end = [_followers(steps, begun=False) for steps in ranks]
        self.after_begin = [_followers(steps, begun=True) for steps in ranks]
        self.startable: dict[int, list[int]] = {}

    def run(self) -> None:
        for rank, missing in enumerate(self.missing):
            self.startable[rank] = [number for number, left in enumerate(missing) if not left]
        self._start()
        while self.queue:
            at, turn, woken, waiter = heapq.heappop(self.queue)
            station = self._station(waiter)
            if not woken:
                if (free := self._free(station)) > at:
                    self._line_up(station, turn, waiter, free)
                else:
                    self._do(at, waiter)
            elif self._is_first(station, turn, at):
                self._wake(station, at)

    def _is_first(self, station: _Station, turn: int, at: int) -> bool:
        """Return whether this is still when the first of a line is woken, and not one before."""
        line = self.lines[station]
        return bool(line) and line[0][0] == turn and self.wake_times[station] == at

    def _line_up(self, station: _Station, turn: int, waiter: _Waiter, free: int) -> None:
        line = self.lines[station]
        heapq.heappush(line, (turn, waiter))
        if line[0][0] == turn:
            self._call(station, free)

    def _call(self, station: _Station, free: int) -> None:
        """Have the first of a line woken when its station is free."""
        turn, waiter = self.lines[station][0]
        self.wake_times[station] = free
        heapq.heappush(self.queue, (free, turn, True, waiter))

    def _wake(self, station: _Station, at: int) -> None:
        if (free := self._free(station)) > at:  # others took the processor or the card meanwhile
            self._call(station, free)
            return
        _, waiter = heapq.heappop(self.lines[station])
        self._do(at, waiter)
        if self.lines[station]:
            self._call(station, self._free(station))

    def _do(self, at: int, waiter: _Waiter) -> None:
        rank, number, message = waiter
        if message is not None:
            self._message(at, rank, message)
        else:
            getattr(self, f"_{self.ranks[rank][number].kind}")(at, rank, number)
        self._start()

    def check_finished(self, where: str) -> None:
        """Refuse a schedule that came to no end."""
        for rank, steps in enumerate(self.ranks):
            for number in self.posted[rank]:
                receive = steps[number]
                raise UnsupportedError(
                    f"{where}: rank {rank} receives what nobody sends: from {receive.peer}, tag "
                    f"{receive.tag}"
                )
            for left in self.arrived[rank]:
                raise UnsupportedError(
                    f"{where}: rank {left.sender} sends to rank {rank}, tag {left.step.tag}, what "
                    "is never received"
                )
            if any(self.missing[rank]):
                raise UnsupportedError(f"{where}: steps of rank {rank} require each other in a "
                                       "ring, so none can begin")  # fmt: skip

    def _start(self) -> None:
        """Put steps into the queue that may begin, sends before receives before computation."""
        for rank in sorted(self.startable):
            steps, free = self.ranks[rank], self.processor[rank]
            for number in sorted(self.startable[rank], key=lambda step: _KINDS[steps[step].kind]):
                step = steps[number]
                at = free[step.cpu]
                if step.kind == "send":
                    at = max(at, self.sending[rank][step.nic])
                self._push(at, rank, number, None)
        self.startable = {}

    def _push(self, at: int, rank: int, number: int, message: _Message | None) -> None:
        self.count += 1
        heapq.heappush(self.queue, (at, self.count, False, (rank, number, message)))

    def _station(self, waiter: _Waiter) -> _Station:
        """Return the processor and the card that a step needs, or a message that came."""
        rank, number, message = waiter
        step = self.ranks[rank][number] if message is None else message.step
        cards = _KINDS[step.kind] if message is None else _RECEIVING
        return rank, cards, step.cpu, step.nic if cards in (_SENDING, _RECEIVING) else 0

    def _free(self, station: _Station) -> int:
        """Return when a processor and a card can take something."""
        rank, cards, cpu, nic = station
        if cards == _POSTING:
            return 0  # being posted takes nothing
        busy = self.processor[rank][cpu]
        if cards == _COMPUTING:
            return busy
        return max(busy, (self.sending if cards == _SENDING else self.receiving)[rank][nic])

    def _release(self, rank: int, later: list[int]) -> None:
        for number in later:
            self.missing[rank][number] -= 1
            if not self.missing[rank][number]:
                self.startable.setdefault(rank, []).append(number)

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
        later_bytes = max(step.size - 1, 0)
        self._begun(rank, number)
        self.processor[rank][step.cpu] = at + model.overhead + later_bytes * model.overhead_per_byte
        self.sending[rank][step.nic] = at + model.gap + later_bytes * model.per_byte
        message = _Message(rank, number, step)
        self._push(at + model.overhead + model.latency, step.peer, NO_STEP, message)
        if step.size <= model.eager:
            self._ended(rank, number)

    def _recv(self, at: int, rank: int, number: int) -> None:
        step = self.ranks[rank][number]
        self._begun(rank, number)
        message = self.arrived[rank].take([(step.peer, step.tag)])
        if message is None:
            self.posted[rank].add(number, [(step.peer, step.tag)])
            return
        if step.size > self.model.eager:
            self._acknowledge(at, message, step)
        self._ended(rank, number)

    def _message(self, at: int, rank: int, message: _Message) -> None:
        step, model = message.step, self.model
        later_bytes = max(step.size - 1, 0)
        byte_time = max(model.overhead_per_byte, model.per_byte)
        self.processor[rank][step.cpu] = at + model.overhead + later_bytes * byte_time
        self.receiving[rank][step.nic] = at + model.gap + later_bytes * model.per_byte
        keys = receive_keys(message.sender, message.step.tag)
        receive = self.posted[rank].take(keys)
        if receive is None:
            self.arrived[rank].add(message, keys)
            return
        if step.size > model.eager:
            self._acknowledge(at, message, step)
        self._ended(rank, receive)

    def _acknowledge(self, at: int, message: _Message, step: Step) -> None:
        """End a send that waited for its receiver."""
        for free, which in ((self.processor, step.cpu), (self.sending, step.nic)):
            free[message.sender][which] = max(free[message.sender][which], at)
        self._ended(message.sender, message.number)


#: Instead of a step's number where a message comes.
NO_STEP = -1


def _followers(steps: list[Step], *, begun: bool) -> list[list[int]]:
    followers: list[list[int]] = [[] for _ in steps]
    for number, step in enumerate(steps):
        for before in step.begun if begun else step.ended:
            followers[before].append(number)
    return followers
