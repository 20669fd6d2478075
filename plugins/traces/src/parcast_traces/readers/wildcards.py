"""Whose message a receive from any source or of any tag got, where the trace does not say.

The ranks are played by what they compute alone: messages and collectives take no time, and no
send waits. A receive takes the message that is there first, as MPI has it: receives in the order
in which they were posted, messages of one source in theirs.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

import attrs

from parcast.errors import FileError

#: A source or a tag that stands for any; SMPI's tracer writes -333 for a source, -444 for a tag.
ANY = -1

#: The source and the tag of the message that a receive got; None: there was none for it.
Envelope = tuple[int, int] | None


@attrs.frozen(kw_only=True)
class Step:
    """What a rank does next, of a kind: ``send``, ``receive``, ``wait`` or ``meet`` (all ranks)."""

    kind: str
    at: float  #: what the rank computed before, since its start
    peer: int = ANY
    tag: int = ANY
    request: int | None = None  #: of a receive that does not block
    requests: tuple[int, ...] = ()  #: that a wait completes
    where: object = ""  #: the line


class Envelopes:
    """What the receives of a rank got that name no source or no tag, in order."""

    def __init__(self) -> None:
        self.sources, self.tags = array("q"), array("q")  #: `ANY` where there is no message

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[Envelope]:
        for source, tag in zip(self.sources, self.tags, strict=True):
            yield None if source == ANY else (source, tag)

    def append(self) -> int:
        """Add a receive that has no message as yet; return its number."""
        self.sources.append(ANY)
        self.tags.append(ANY)
        return len(self.sources) - 1


@attrs.define(eq=False)
class _Receive:
    source: int
    tag: int
    number: int = 0  #: of those that are wild
    over: bool = False  #: it has its message, or is known to get none

    @property
    def wild(self) -> bool:
        return ANY in (self.source, self.tag)

    def takes(self, source: int, tag: int) -> bool:
        return not self.over and self.source in (ANY, source) and self.tag in (ANY, tag)


def messages_of(ranks: Sequence[Iterable[Step]]) -> list[Envelopes]:
    """Return of each rank what its receives got, in order, those of one source and tag left out.

    The steps of ranks are gone through twice; one of each rank is held at a time.

    Raises
    ------
    FileError
        If the ranks wait for each other for ever.
    """
    run = _Run(ranks)
    run.play()
    return run.envelopes


class _Run:
    """All ranks; the one that is behind does its next step, ties to the lowest rank."""

    def __init__(self, ranks: Sequence[Iterable[Step]]) -> None:
        self.clock, self.worked = [0.0] * len(ranks), [0.0] * len(ranks)
        self.envelopes = [Envelopes() for _ in ranks]
        self.posted: list[list[_Receive]] = [[] for _ in ranks]  #: without message as yet
        self.arrived: list[list[tuple[int, int]]] = [[] for _ in ranks]  #: that nobody has taken
        self.open: list[dict[int, _Receive]] = [{} for _ in ranks]
        self.waits: dict[int, list[_Receive]] = {}  #: ranks that wait, and what for
        self.meeting: list[int] = []
        #: Messages of each source, target and tag that no receive names: any may take so many.
        self.spare = Counter[tuple[int, int, int]]()
        for rank, steps in enumerate(ranks):
            for step in steps:
                if step.kind == "send":
                    self.spare[rank, step.peer, step.tag] += 1
                elif step.kind == "receive" and ANY not in (step.peer, step.tag):
                    self.spare[step.peer, rank, step.tag] -= 1
        self.left = [iter(steps) for steps in ranks]
        self.ahead = [next(steps, None) for steps in self.left]
        self.last: list[Step | None] = [None for _ in ranks]
        self.ready = [(0.0, rank) for rank in range(len(ranks))]

    def play(self) -> None:
        heapify(self.ready)
        while True:
            while self.ready:
                clock, rank = heappop(self.ready)
                self.step(rank, clock)
            if not self.waits and not self.meeting:
                return
            self.give_up()

    def step(self, rank: int, clock: float) -> None:
        """Do one step of a rank, or nothing at its end."""
        step = self.ahead[rank]
        if step is None:
            return
        if step.at > self.worked[rank]:  # others may come first
            self.clock[rank] = clock + step.at - self.worked[rank]
            self.worked[rank] = step.at
            heappush(self.ready, (self.clock[rank], rank))
            return
        self.last[rank], self.ahead[rank] = step, next(self.left[rank], None)
        if step.kind == "meet":
            self.meet(rank)
            return
        if step.kind == "send":
            self.deliver(rank, step.peer, step.tag)
        elif step.kind == "receive":
            receive = self.post(rank, step.peer, step.tag)
            if step.request is not None:
                self.open[rank][step.request] = receive
            else:
                self.waits[rank] = [receive]
        else:
            receives = (self.open[rank].pop(request, None) for request in step.requests)
            self.waits[rank] = [receive for receive in receives if receive is not None]
        self.go_on(rank)

    def go_on(self, rank: int) -> None:
        """Let a rank go on if nothing that it waits for is left."""
        if all(receive.over for receive in self.waits.get(rank, ())):
            self.waits.pop(rank, None)
            heappush(self.ready, (self.clock[rank], rank))

    def meet(self, rank: int) -> None:
        self.meeting.append(rank)
        if len(self.meeting) == len(self.left):
            last = max(self.clock[member] for member in self.meeting)
            for member in self.meeting:
                self.clock[member] = last
                heappush(self.ready, (last, member))
            self.meeting = []

    def post(self, rank: int, source: int, tag: int) -> _Receive:
        receive = _Receive(source, tag)
        if receive.wild:
            receive.number = self.envelopes[rank].append()
        for at, message in enumerate(self.arrived[rank]):
            if self.may_take(rank, receive, message):
                del self.arrived[rank][at]
                self.hand_over(rank, receive, message)
                return receive
        self.posted[rank].append(receive)
        return receive

    def deliver(self, source: int, target: int, tag: int) -> None:
        for receive in self.posted[target]:
            if self.may_take(target, receive, (source, tag)):
                self.posted[target].remove(receive)
                self.hand_over(target, receive, (source, tag))
                self.clock[target] = max(self.clock[target], self.clock[source])
                if target in self.waits:
                    self.go_on(target)
                return
        self.arrived[target].append((source, tag))

    def may_take(self, rank: int, receive: _Receive, message: tuple[int, int]) -> bool:
        source, tag = message
        if not receive.takes(source, tag):
            return False
        return not receive.wild or self.spare[source, rank, tag] > 0

    def hand_over(self, rank: int, receive: _Receive, message: tuple[int, int]) -> None:
        receive.over = True
        if receive.wild:
            envelopes = self.envelopes[rank]
            envelopes.sources[receive.number], envelopes.tags[receive.number] = message
            self.spare[message[0], rank, message[1]] -= 1

    def give_up(self) -> None:
        """Let the first receive that may be of nobody go without a message."""
        for rank in sorted(self.waits):
            for receive in self.waits[rank]:
                if receive.wild and not receive.over:
                    receive.over = True
                    self.posted[rank].remove(receive)
                    self.go_on(rank)
                    return
        rank = min(self.waits, default=min(self.meeting, default=0))
        last = self.last[rank]
        assert last is not None
        raise FileError(
            f"{last.where}: rank {rank} waits here for ever, whichever messages the receives from "
            "any source take; is a line or a rank missing?"
        )


def counted(receives: Iterable[Envelopes]) -> tuple[int, int]:
    """Return how many receives got a message, and how many were of nobody."""
    count, nobody = 0, 0
    for envelopes in receives:
        count, nobody = count + len(envelopes), nobody + envelopes.sources.count(ANY)
    return count - nobody, nobody


def wildcard_notes(messages: int, nobody: int, null: str = "MPI_PROC_NULL") -> Iterator[str]:
    """Yield notes on receives that named no source or no tag; ``null`` is who sends nothing."""
    if messages:
        yield (
            f"{messages:,} receives from any source or of any tag take the message that is there "
            "first where nothing but computation takes time; the format does not say which they got"
        )
    if nobody:
        yield f"{nobody:,} receives that name no source find no message, and count as {null}"
