"""GOAL schedules, the text that LogGOPSim simulates: operations and what each requires.

Format: LogGOPSim, ``src/LogGOPSim/txt2bin.re``. Times are in ns. A schedule is a graph, and a
rank of a trace calls one thing after the other; `trace_of` starts whatever is ready before it
waits for anything.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.readers.text import lines
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording

#: A source or a tag that says any, as text and as the 32 bits of -1.
ANY = -1
_ANYS = {"-1", "4294967295"}

#: No schedule has more ranks; a larger number is another file given by mistake.
_MOST_RANKS = 1 << 24

#: A graph is held whole, so that a longer text would take gigabytes of memory.
_MOST_BYTES = 512 << 20

_OPERATION = re.compile(
    r"(?:(?P<label>[a-zA-Z]\w*)\s*:\s*)?(?:"
    r"(?P<send>send)\s+(?P<out>\d+)b\s+to\s+(?P<to>\d+)"
    r"|(?P<recv>recv)\s+(?P<into>\d+)b\s+from\s+(?P<source>-?\d+)"
    r"|(?P<calc>calc)\s+(?P<work>\d+))"
    r"(?:\s+tag\s+(?P<tag>-?\d+))?(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+(?P<nic>\d+))?"
)
_ORDER = re.compile(r"([a-zA-Z]\w*)\s+(i?requires)\s+([a-zA-Z]\w*)")


@attrs.define(slots=True)
class Step:
    """One operation of a rank."""

    kind: str  #: ``send``, ``recv`` or ``calc``; of other graphs also a collective
    size: int  #: bytes, or ns
    peer: int = ANY
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    group: str = ""  #: of a collective; of all ranks if it has no name
    ended: list[int] = attrs.field(factory=list)  #: steps that must have ended before
    begun: list[int] = attrs.field(factory=list)  #: steps that must have begun before


@attrs.frozen
class Schedule:
    """The operations of all ranks."""

    where: str
    ranks: tuple[list[Step], ...] = attrs.field(repr=False)
    groups: Mapping[str, list[int]] = attrs.field(factory=dict)  #: the ranks in each
    notes: tuple[str, ...] = ()


def read(path: Path) -> Trace:
    """Return a schedule as a trace, whose clocks count ns of computation.

    Raises
    ------
    FileError
        If the file is no schedule.
    TraceError
        If no run can have left it.
    UnsupportedError
        If a receive says from nobody in particular.
    """
    return trace_of(schedule(path))


def schedule(path: Path) -> Schedule:
    """Return the schedule in a file.

    Raises
    ------
    FileError
        If a line is none of a schedule's.
    """
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        raise FileError(f"{path} has {path.stat().st_size >> 20:,} MiB; a schedule has up to "
                        f"{_MOST_BYTES >> 20}")  # fmt: skip
    parser = _Parser(path)
    for where, text in _statements(path):
        parser.take(where, text)
    return parser.whole()


def _statements(path: Path) -> Iterator[tuple[str, str]]:
    """Yield line and text of every line that says something, without comments."""
    comment = False
    for number, line in lines(path):
        text = line
        if comment:
            _, end, text = text.partition("*/")
            comment = not end
        while not comment and "/*" in text:
            before, _, remainder = text.partition("/*")
            _, end, after = remainder.partition("*/")
            text, comment = before + " " + after, not end
        text = text.partition("//")[0].strip()
        if text:
            yield f"{path}:{number}", text


class _Parser:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.ranks: list[list[Step]] = []
        self.seen: set[int] = set()
        self.open: list[Step] | None = None
        self.labels: dict[str, int] = {}
        self.orders: list[tuple[str, str, bool, str]] = []

    def take(self, where: str, text: str) -> None:
        """Read one line."""
        if not self.ranks:
            self._size(where, text)
        elif self.open is None:
            self._rank(where, text)
        elif text == "}":
            self._close()
        elif match := _OPERATION.fullmatch(text):
            self._step(where, match.groupdict())
        elif match := _ORDER.fullmatch(text):
            later, word, earlier = match.groups()
            self.orders.append((later, earlier, word == "requires", where))
        else:
            raise FileError(f"{where}: {shorten(text)!r} is no line of a schedule (send, recv, "
                            "calc, requires, irequires)")  # fmt: skip

    def _size(self, where: str, text: str) -> None:
        match = re.fullmatch(r"num_ranks\s+(\d{1,9})", text)
        if not match or not 0 < int(match[1]) <= _MOST_RANKS:
            raise FileError(f"{where}: a schedule begins with num_ranks and how many, not "
                            f"{shorten(text)!r}")  # fmt: skip
        self.ranks = [[] for _ in range(int(match[1]))]

    def _rank(self, where: str, text: str) -> None:
        match = re.fullmatch(r"rank\s+(\d{1,9})\s*\{(\s*\})?", text)
        if not match:
            raise FileError(f"{where}: {shorten(text)!r} stands outside any rank")
        rank = int(match[1])
        if rank >= len(self.ranks) or rank in self.seen:
            reason = "comes twice" if rank in self.seen else f"is not below {len(self.ranks)}"
            raise FileError(f"{where}: rank {rank} {reason}")
        self.seen.add(rank)
        self.open = None if match[2] else self.ranks[rank]

    def _step(self, where: str, fields: dict[str, str | None]) -> None:
        assert self.open is not None
        kind = fields["send"] or fields["recv"] or fields["calc"] or ""
        size, peer = (
            fields["out"] or fields["into"] or fields["work"],
            fields["to"] or fields["source"],
        )
        step = Step(kind, int(size or 0))
        if peer is not None:
            step.peer = ANY if kind == "recv" and peer in _ANYS else int(peer)
            if step.peer >= len(self.ranks) or step.peer < ANY:
                raise FileError(f"{where}: there is no rank {peer}, only 0 to "
                                f"{len(self.ranks) - 1}")  # fmt: skip
        tag = fields["tag"] or "0"
        step.tag = ANY if kind == "recv" and tag in _ANYS else int(tag)
        step.cpu, step.nic = int(fields["cpu"] or 0), int(fields["nic"] or 0)
        label = fields["label"]
        if label in self.labels:
            raise FileError(f"{where}: label {label} comes twice")
        if label is not None:
            self.labels[label] = len(self.open)
        self.open.append(step)

    def _close(self) -> None:
        assert self.open is not None
        for later, earlier, ended, where in self.orders:
            missing = next((label for label in (later, earlier) if label not in self.labels), None)
            if missing is not None:
                raise FileError(f"{where}: this rank has no label {missing}")
            step = self.open[self.labels[later]]
            (step.ended if ended else step.begun).append(self.labels[earlier])
        self.open, self.labels, self.orders = None, {}, []

    def whole(self) -> Schedule:
        if not self.ranks:
            raise FileError(f"{self.path} is empty; a schedule begins with num_ranks")
        if self.open is not None:
            raise FileError(f"{self.path} ends inside a rank, without '}}'; is it cut off?")
        if len(self.seen) < len(self.ranks):
            lost = next(rank for rank in range(len(self.ranks)) if rank not in self.seen)
            raise FileError(f"{self.path}: rank {lost} of 0 to {len(self.ranks) - 1} is missing")
        return Schedule(str(self.path), tuple(self.ranks))


def trace_of(schedule: Schedule) -> Trace:
    """Return a schedule as a trace without times.

    Raises
    ------
    TraceError
        If no run can have left it.
    UnsupportedError
        If a receive names no source or no tag, or steps require each other in a cycle.
    """
    recording = Recording(len(schedule.ranks), schedule.where)
    for name, members in schedule.groups.items():
        recording.communicator(name, members)
    for recorder, steps in zip(recording.ranks, schedule.ranks, strict=True):
        _Order(recorder, steps, schedule.where).play()
    notes = [
        *schedule.notes,
        "a rank starts what is ready before it waits, in the order of the file",
    ]
    if any(step.cpu for steps in schedule.ranks for step in steps):
        notes.append("the processors of a rank are one: what they compute adds up")
    return recording.trace(timed=False, tick=1e-9, notes=tuple(notes))


class _Order:
    """The steps of a rank, one after the other."""

    def __init__(self, recorder: RankRecorder, steps: list[Step], where: str) -> None:
        self.recorder, self.steps, self.where = recorder, steps, where
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
            raise UnsupportedError(
                f"{self.where}: rank {self.recorder.rank} has steps that require each other in a "
                "cycle, so none can begin"
            )
        number = heapq.heappop(self.waiting)
        if needs := self.open.intersection(self.steps[number].ended):
            self._wait(sorted(needs))
        return number

    def _wait(self, numbers: list[int]) -> None:
        self.recorder.wait("waitall", self.clock, self.clock, numbers)
        self.open.difference_update(numbers)

    def _begin(self, number: int) -> None:
        step, clock = self.steps[number], self.clock
        if step.kind == "calc":
            self.clock += step.size
        elif step.kind == "send":
            self.recorder.send("isend", clock, clock, step.peer, step.size, step.tag,
                               request=number)  # fmt: skip
        elif step.kind != "recv":
            self.recorder.collective(f"i{step.kind}", clock, clock, step.size, step.group or 0,
                                     step.peer, request=number)  # fmt: skip
        elif ANY in (step.peer, step.tag):
            raise UnsupportedError(
                f"{self.where}: {self.recorder.place}: a receive names no source or no tag, and "
                "a message graph has fixed edges; use 'parcast perturb replay'"
            )
        else:
            self.recorder.receive("irecv", clock, clock, step.peer, step.tag, room=step.size,
                                  request=number)  # fmt: skip
        if step.kind != "calc":
            self.open.add(number)
        for later in self.later[number]:
            self.missing[later] -= 1
            if not self.missing[later]:
                self._ready(later)
