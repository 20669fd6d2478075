"""Schedules as traces: a schedule is a graph, a rank of a trace calls one thing after another."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from parcast.errors import UnsupportedError
from parcast_traces.readers.ordering import order_of, record_order
from parcast_traces.readers.plans import Plan, Plans
from parcast_traces.readers.schedules import ANY, Graph, Schedule, Step
from parcast_traces.readers.wildcards import Envelope, Envelopes, messages_of
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording


def trace_of(schedule: Schedule) -> Trace:
    """Return a schedule as a trace without times.

    Raises
    ------
    TraceError
        If no run can have left it.
    FileError
        If the ranks wait for each other for ever.
    UnsupportedError
        If steps require each other in a cycle, or a receive gets no message.
    """
    playing = Playing(len(schedule.ranks), schedule.where)
    for name, members in schedule.groups.items():
        playing.recording.communicator(name, members)
    notes = list(schedule.notes)
    envelopes = _messages(schedule) if any(map(is_wild, _receives(schedule))) else []
    notes += wild_note(envelopes)
    for rank, steps in enumerate(schedule.ranks):
        playing.play(rank, steps, envelopes[rank] if envelopes else ())
    return playing.trace(notes)


class Playing:
    """Schedules of ranks that become a trace one after the other, in any order."""

    def __init__(self, size: int, where: str) -> None:
        self.recording, self.where, self.several = Recording(size, where), where, False
        self.left = dict.fromkeys(range(size))  #: ranks that nothing is said of as yet

    def play(self, rank: int, steps: list[Step], envelopes: Iterable[Envelope] = ()) -> None:
        """Record the steps of a rank, and the messages of its receives that may be of any."""
        streams = _are_several(steps)
        self.several = self.several or streams
        recorder = self.recording.ranks[rank]
        (_Streams if streams else _Order)(recorder, steps, self.where, iter(envelopes)).play()
        del self.left[rank]

    def play_graph(self, rank: int, graph: Graph) -> None:
        """Record the operations of a rank with one stream, whose receives all name their sources.

        Raises
        ------
        UnsupportedError
            If steps require each other in a cycle.
        """
        order = order_of(graph)
        if order is None:
            raise _cycle(self.where, rank)
        record_order(self.recording.ranks[rank], graph, order)
        del self.left[rank]

    def trace(self, notes: Iterable[str]) -> Trace:
        """Return the trace, in which ranks that are left do nothing."""
        for rank in list(self.left):
            self.play(rank, [])
        notes = [*notes, "a rank starts what is ready before it waits, in the order of the file"]
        if self.several:
            notes.append("streams of a rank compute at the same time; none computes while it waits")
        return self.recording.trace(timed=False, tick=1e-9, notes=tuple(notes))


def _cycle(where: str, rank: int) -> UnsupportedError:
    return UnsupportedError(
        f"{where}: rank {rank} has steps that require each other in a cycle, so none can begin"
    )


def _are_several(steps: Sequence[Step]) -> bool:
    """Return whether more than one stream of a rank computes."""
    return len({step.cpu for step in steps if step.kind == "calc" and step.size}) > 1


def _receives(schedule: Schedule) -> Iterator[Step]:
    return (step for steps in schedule.ranks for step in steps if step.kind == "recv")


def is_wild(step: Step) -> bool:
    """Return whether a receive names no source or no tag."""
    return ANY in (step.peer, step.tag)


def _messages(schedule: Schedule) -> list[Envelopes]:
    """Return of each rank whose messages its receives got that name no source or no tag."""
    plans = Plans(len(schedule.ranks), schedule.where).ranks
    for plan, steps in zip(plans, schedule.ranks, strict=True):
        plan_steps(plan, steps, schedule.where)
    return messages_of(plans)


def plan_steps(plan: Plan, steps: list[Step], where: str) -> None:
    """Plan what a rank's steps do."""
    (_Streams if _are_several(steps) else _Order)(plan, steps, where).play()


def wild_note(envelopes: Sequence[Envelopes]) -> Iterator[str]:
    """Yield the note on receives that name no source or no tag."""
    if count := sum(map(len, envelopes)):
        yield (f"{count:,} receives from any source or of any tag take the message that is there "
               "first where nothing but computation takes time")  # fmt: skip


class _Order:
    """The steps of a rank, one after the other.

    ``got`` are the messages of the receives that name no source or no tag; without, these are
    handed on as they are.
    """

    def __init__(
        self,
        recorder: RankRecorder | Plan,
        steps: list[Step],
        where: str,
        got: Iterator[Envelope] | None = None,
    ) -> None:
        self.recorder, self.steps, self.where, self.got = recorder, steps, where, got
        self.clock = 0.0
        self.open: set[int] = set()  #: messages that are not known to have come or gone
        self.missing = [len(step.ended) + len(step.begun) for step in steps]
        self.later: list[list[int]] = [[] for _ in steps]
        for number, step in enumerate(steps):
            for before in (*step.ended, *step.begun):
                self.later[before].append(number)
        self.free: list[int] = []  #: to be begun without waiting
        self.waiting: list[int] = []  #: whose requirements are begun, but not all ended

    def play(self) -> None:
        """Record all steps."""
        for number, missing in enumerate(self.missing):
            if not missing:
                self._ready(number)
        for _ in self.steps:
            self._begin(self._next())
        if self.open:
            self._wait(sorted(self.open))
        self.recorder.local("finalize", self.clock, self.clock)  # after what is computed last

    def _ready(self, number: int) -> None:
        needs = self.open.intersection(self.steps[number].ended)
        heapq.heappush(self.waiting if needs else self.free, number)

    def _next(self) -> int:
        if self.free:
            return heapq.heappop(self.free)
        if not self.waiting:
            raise _cycle(self.where, self.recorder.rank)
        number = heapq.heappop(self.waiting)
        if needs := self.open.intersection(self.steps[number].ended):
            self._wait(sorted(needs))
        return number

    def _wait(self, numbers: list[int]) -> None:
        self.recorder.wait("waitall", self.clock, self.clock, numbers)
        self.open.difference_update(numbers)

    def _begin(self, number: int) -> None:
        step = self.steps[number]
        if step.kind == "calc":
            self.clock += step.size
        else:
            self._post(number)
        for later in self.later[number]:
            self.missing[later] -= 1
            if not self.missing[later]:
                self._ready(later)

    def _post(self, number: int) -> None:
        """Begin a message or a collective."""
        step, clock = self.steps[number], self.clock
        if step.kind == "send":
            self.recorder.send("isend", clock, clock, step.peer, step.size, step.tag,
                               request=number)  # fmt: skip
        elif step.kind != "recv":
            self.recorder.collective(f"i{step.kind}", clock, clock, step.size, step.group or 0,
                                     step.peer, request=number)  # fmt: skip
        else:
            source, tag = self._envelope(step)
            self.recorder.receive("irecv", clock, clock, source, tag, room=step.size,
                                  request=number)  # fmt: skip
        self.open.add(number)

    def _envelope(self, step: Step) -> tuple[int, int]:
        """Return the source and the tag of the message that a receive gets."""
        if self.got is None or not is_wild(step):
            return step.peer, step.tag
        envelope = next(self.got)
        if envelope is None:
            raise UnsupportedError(
                f"{self.where}: rank {self.recorder.rank} receives from any source, or of any tag, "
                "more messages than are sent to it; is a rank or a send missing?"
            )
        return envelope


class _Streams(_Order):
    """The steps of a rank that has several streams, each of which does one thing at a time.

    They are ordered as if messages and collectives took what they took when recorded, or no time.
    The clock counts the time in which any stream computes: two that do so at once count once.
    """

    def play(self) -> None:
        """Record all steps."""
        self.free_of = defaultdict[int, list[int]](list)  #: heaps, by stream
        self.waiting_of = defaultdict[int, list[int]](list)
        self.running: list[tuple[int, int]] = []  #: until when, and the step
        self.busy = set[int]()  #: streams
        self.now = self.computing = begun = 0
        self.after_begin, self.after_end = ([list[int]() for _ in self.steps] for _ in range(2))
        for number, step in enumerate(self.steps):
            for later, needed in ((self.after_begin, step.begun), (self.after_end, step.ended)):
                for before in needed:
                    later[before].append(number)
        for number, missing in enumerate(self.missing):
            if not missing:
                self._ready(number)
        while True:
            while (startable := self._startable()) is not None:
                self._begin(startable)
                begun += 1
            if not self.running:
                break
            until = self.running[0][0]
            while self.running and self.running[0][0] == until:  # all before what they allow
                self._end(*heapq.heappop(self.running))
        if begun < len(self.steps):
            raise _cycle(self.where, self.recorder.rank)
        if self.open:
            self._wait(sorted(self.open))
        self.recorder.local("finalize", self.clock, self.clock)

    def _ready(self, number: int) -> None:
        step = self.steps[number]
        needs = self.open.intersection(step.ended)
        heapq.heappush((self.waiting_of if needs else self.free_of)[step.cpu], number)

    def _startable(self) -> int | None:
        """Return the first step whose stream is idle: one without a wait, else one with it."""
        for heaps in (self.free_of, self.waiting_of):
            idle = heaps.keys() - self.busy
            if not idle:
                continue
            stream = min(idle, key=lambda stream: heaps[stream][0])
            number = heapq.heappop(heaps[stream])
            if not heaps[stream]:
                del heaps[stream]
            if needs := self.open.intersection(self.steps[number].ended):
                self._wait(sorted(needs))
            return number
        return None

    def _begin(self, number: int) -> None:
        step = self.steps[number]
        takes = step.size if step.kind == "calc" else step.takes
        if step.kind == "calc":
            self.computing += 1
        else:
            self._post(number)
        self.busy.add(step.cpu)
        heapq.heappush(self.running, (self.now + takes, number))
        self._release(self.after_begin[number])

    def _end(self, until: int, number: int) -> None:
        step = self.steps[number]
        if self.computing:
            self.clock += until - self.now
        self.now = until
        self.computing -= step.kind == "calc"
        self.busy.discard(step.cpu)
        self._release(self.after_end[number])

    def _release(self, later: Iterable[int]) -> None:
        for step in later:
            self.missing[step] -= 1
            if not self.missing[step]:
                self._ready(step)
