"""GOAL schedules, the text that LogGOPSim simulates: operations and what each requires.

Format: LogGOPSim, ``src/LogGOPSim/txt2bin.re``, and LogGOPSim2, ``README_GOAL``. Times are in ns.
Ranks that the text leaves out do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_traces.readers.goal_binary import MAGIC
from parcast_traces.readers.goal_binary import schedule as binary_schedule
from parcast_traces.readers.plans import Plan, Plans
from parcast_traces.readers.playing import Playing, is_wild, plan_steps, trace_of, wild_note
from parcast_traces.readers.portals import ANYS, Operation, add_messages, parsed
from parcast_traces.readers.schedules import ANY, Schedule, Step
from parcast_traces.readers.text import lines
from parcast_traces.readers.wildcards import Envelopes, messages_of
from parcast_traces.trace.columns import Trace

#: No schedule has more ranks; a larger number is another file given by mistake.
_MOST_RANKS = 1 << 24

#: Ranks without steps cost memory, and no text.
_MOST_IDLE = 1 << 16

#: A graph is held whole, or rank by rank; a longer text would take gigabytes of memory.
_MOST_BYTES = 512 << 20

_OPERATION = re.compile(
    r"(?:(?P<label>[a-zA-Z]\w*)\s*:\s*)?(?:"
    r"(?P<send>send)\s+(?P<out>\d+)b\s+to\s+(?P<to>\d+)"
    r"|(?P<recv>recv)\s+(?P<into>\d+)b\s+from\s+(?P<source>-?\d+)"
    r"|(?P<calc>calc)\s+(?P<work>\d+))"
    r"(?:\s+tag\s+(?P<tag>-?\d+))?(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+(?P<nic>\d+))?"
)
_ORDER = re.compile(r"([a-zA-Z]\w*)\s+(i?requires)\s+([a-zA-Z]\w*)")


def read(path: Path) -> Trace:
    """Return a schedule as a trace, whose clocks count ns of computation.

    Raises
    ------
    FileError
        If the file is no schedule.
    TraceError
        If no run can have left it.
    UnsupportedError
        If steps require each other in a cycle, or nobody sends what a rank receives.
    """
    if _begins(path, MAGIC):
        return trace_of(schedule(path))
    recorded = _Recorded(str(path))
    streamed = _Streamed(path, recorded.take)
    if not streamed.read() and recorded.wild:
        planned = _Planned(str(path))
        if _Streamed(path, planned.take).read():
            recorded = _Recorded(str(path), messages_of(planned.ranks))
            streamed = _Streamed(path, recorded.take)
            streamed.read()
    if streamed.asks_for_all:
        return trace_of(schedule(path))
    return recorded.trace(streamed.size, streamed.notes())


def schedule(path: Path) -> Schedule:
    """Return the schedule in a file, a text or what ``txt2bin`` makes of one.

    Raises
    ------
    FileError
        If a line is none of a schedule's.
    UnsupportedError
        If an operation of Portals is none that sends and receives can tell.
    """
    _check_size(path)
    if _begins(path, MAGIC):
        return binary_schedule(path)
    parser = _Parser(path)
    for where, text in _statements(path):
        parser.take(where, text)
    return parser.whole()


def _check_size(path: Path) -> None:
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        raise FileError(f"{path} has {path.stat().st_size >> 20:,} MiB; a schedule that is not "
                        "read rank by rank (in binary, or with operations of Portals) has up "
                        f"to {_MOST_BYTES >> 20}")  # fmt: skip


def _begins(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(mark)) == mark
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None


def _statements(path: Path) -> Iterator[tuple[str, str]]:
    """Yield line and text of every line that says something, without comments."""
    comment, name = False, str(path)
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
            yield f"{name}:{number}", text


class _Parser:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = self.rank = 0
        self.ranks: dict[int, list[Step]] = {}
        self.operations: dict[int, dict[int, Operation]] = {}  #: of Portals, by rank and step
        self.open: list[Step] | None = None
        self.labels: dict[str, int] = {}
        self.orders: list[tuple[str, str, bool, str]] = []

    def take(self, where: str, text: str) -> None:
        """Read one line."""
        if not self.size:
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
        elif labeled := parsed(text, where):
            self._operation(where, *labeled)
        else:
            raise FileError(f"{where}: {shorten(text)!r} is no line of a schedule (send, recv, "
                            "calc, requires, irequires)")  # fmt: skip

    def _size(self, where: str, text: str) -> None:
        match = re.fullmatch(r"num_ranks\s+(\d{1,9})", text)
        if not match or not 0 < int(match[1]) <= _MOST_RANKS:
            raise FileError(f"{where}: a schedule begins with num_ranks and how many, not "
                            f"{shorten(text)!r}")  # fmt: skip
        self.size = int(match[1])

    def _rank(self, where: str, text: str) -> None:
        match = re.fullmatch(r"rank\s+(\d{1,9})\s*\{(\s*\})?", text)
        if not match:
            raise FileError(f"{where}: {shorten(text)!r} stands outside any rank")
        rank = int(match[1])
        if rank >= self.size or rank in self.ranks:
            reason = "comes twice" if rank in self.ranks else f"is not below {self.size}"
            raise FileError(f"{where}: rank {rank} {reason}")
        self.rank, self.ranks[rank] = rank, []
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
            step.peer = ANY if kind == "recv" and peer in ANYS else int(peer)
            self._check_peer(where, step.peer)
        tag = fields["tag"] or "0"
        step.tag = ANY if kind == "recv" and tag in ANYS else int(tag)
        step.cpu, step.nic = int(fields["cpu"] or 0), int(fields["nic"] or 0)
        self._add(where, fields["label"], step)

    def _operation(self, where: str, label: str | None, operation: Operation) -> None:
        assert self.open is not None
        self._check_peer(where, operation.peer)
        if operation.verb.endswith("put") and operation.peer == ANY:
            raise FileError(f"{where}: {operation.verb} names no rank")
        self.operations.setdefault(self.rank, {})[len(self.open)] = operation
        self._add(where, label, operation.step())

    def _check_peer(self, where: str, peer: int) -> None:
        if peer >= self.size or peer < ANY:
            raise FileError(f"{where}: there is no rank {peer}, only 0 to {self.size - 1}")

    def _add(self, where: str, label: str | None, step: Step) -> None:
        assert self.open is not None
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
        """Return all that was read."""
        notes = self.notes()
        ranks = tuple(self.ranks.get(rank, []) for rank in range(self.size))
        return Schedule(
            str(self.path), ranks, notes=(*notes, *add_messages(ranks, self.operations))
        )

    def notes(self) -> tuple[str, ...]:
        """Return what is to be said of the ranks that were read, or refuse a part of a schedule."""
        if not self.size:
            raise FileError(f"{self.path} is empty; a schedule begins with num_ranks")
        if self.open is not None:
            raise FileError(f"{self.path} ends inside a rank, without '}}'; is it cut off?")
        idle, last = self.size - len(self.ranks), max(self.ranks, default=-1)
        if last < self.size - 1:
            raise FileError(f"{self.path}: rank {last + 1} of 0 to {self.size - 1} is missing; is "
                            "the end cut off?")  # fmt: skip
        if idle > _MOST_IDLE:
            raise FileError(f"{self.path}: {idle:,} of {self.size:,} ranks have no steps; is it "
                            "cut off?")  # fmt: skip
        note = f"{idle:,} of {self.size:,} ranks have no steps in the schedule, and do nothing"
        return (note,) if idle else ()


class _Streamed(_Parser):
    """A schedule that is read rank by rank, so that one rank's steps are held at a time."""

    def __init__(self, path: Path, each: Callable[[int, int, list[Step]], bool]) -> None:
        super().__init__(path)
        self.each = each  #: takes how many ranks there are, a rank and its steps, if it can
        self.asks_for_all = False  #: what a rank does depends on the others
        self.begun = False  #: a rank has been taken
        self.characters = 0  #: of the rank that is being read

    def read(self) -> bool:
        """Take all ranks; return whether that could be done without the others."""
        for where, text in _statements(self.path):
            self.take(where, text)
            if self.asks_for_all:
                return False
        return True

    def take(self, where: str, text: str) -> None:
        """Read one line."""
        self.characters += len(text)
        if self.characters > _MOST_BYTES:
            raise FileError(f"{where}: rank {self.rank} has more than {_MOST_BYTES >> 20} MiB of "
                            "steps, and a rank is read whole")  # fmt: skip
        super().take(where, text)

    def _close(self) -> None:
        super()._close()
        self.characters = 0
        self.asks_for_all = (
            self._is_short()
            or bool(self.operations)
            or not self.each(self.size, self.rank, self.ranks[self.rank])
        )
        self.begun = True
        self.ranks[self.rank] = []

    def _is_short(self) -> bool:
        """Return whether the file has too few bytes to name as many ranks as it says it has."""
        if self.begun or not self.path.is_file():
            return False
        return self.size > _MOST_IDLE + self.path.stat().st_size // len("rank 0{}")


class _Planned:
    """The plans of all ranks, by which receives from any source find their messages."""

    def __init__(self, where: str) -> None:
        self.where, self.ranks = where, list[Plan]()

    def take(self, size: int, rank: int, steps: list[Step]) -> bool:
        """Plan what a rank does."""
        self.ranks = self.ranks or Plans(size, self.where).ranks
        plan_steps(self.ranks[rank], steps, self.where)
        return True


class _Recorded:
    """The trace; without ``envelopes`` it ends at a receive that names no source or no tag."""

    def __init__(self, where: str, envelopes: Sequence[Envelopes] = ()) -> None:
        self.where, self.envelopes = where, envelopes
        self.playing: Playing | None = None
        self.wild = False  #: a receive names no source or no tag

    def take(self, size: int, rank: int, steps: list[Step]) -> bool:
        """Record what a rank does; return whether its receives are known."""
        self.wild = any(is_wild(step) for step in steps if step.kind == "recv")
        if self.wild and not self.envelopes:
            return False
        self.playing = self.playing or Playing(size, self.where)
        self.playing.play(rank, steps, self.envelopes[rank] if self.envelopes else ())
        return True

    def trace(self, size: int, notes: tuple[str, ...]) -> Trace:
        """Return the trace, in which ranks that were not taken do nothing."""
        return (self.playing or Playing(size, self.where)).trace(
            (*notes, *wild_note(self.envelopes))
        )
