"""GOAL schedules, the text that LogGOPSim simulates: operations and what each requires.

Format: LogGOPSim, ``src/LogGOPSim/txt2bin.re``, and LogGOPSim2, ``README_GOAL``. Times are in ns.
Ranks that the text leaves out do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_traces.readers.goal_binary import MAGIC, Binary, Take
from parcast_traces.readers.goal_labels import Labels
from parcast_traces.readers.plans import Plan, Plans
from parcast_traces.readers.playing import Playing, plan_steps, trace_of, wild_note
from parcast_traces.readers.portals import ANYS, Operation, add_messages, parsed
from parcast_traces.readers.schedules import (
    ANY,
    CALC,
    KINDS,
    MOST_STEPS,
    RECV,
    REQUIREMENTS,
    SEND,
    STEPS,
    Graph,
    Schedule,
    Step,
)
from parcast_traces.readers.text import lines
from parcast_traces.readers.wildcards import Envelopes, messages_of
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.limits import current_limit
from parcast_traces.trace.packed_table import free_memory
from parcast_traces.trace.roomy import GrowingColumns

#: No schedule has more ranks; a larger number is another file given by mistake.
_MOST_RANKS = 1 << 24

#: Ranks without steps cost memory, and no text.
_MOST_IDLE = 1 << 16

#: With operations of Portals a graph is held whole; a longer text would take gigabytes of memory.
_MOST_BYTES = 512 << 20

#: Of a rank's text so much is read between two looks at the memory that is free, which is to be
#: this at least: its labels and what requires later ones are in memory, the rest is in files.
_LOOK, _LEAST_FREE = 16 << 20, 512 << 20

_OPERATION = re.compile(
    r"(?:(?P<label>[a-zA-Z]\w*)\s*:\s*)?(?:"
    r"send\s+(?P<out>\d+)b\s+to\s+(?P<to>\d+)"
    r"|recv\s+(?P<into>\d+)b\s+from\s+(?P<source>-?\d+)"
    r"|calc\s+(?P<work>\d+))"
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
    ranks = Binary if _begins(path, MAGIC) else _Text
    recorded = _Recorded(str(path))
    reader = ranks(path, recorded.take)
    complete = reader.read()
    if not complete and recorded.wild:
        planned = _Planned(str(path))
        if ranks(path, planned.take).read():
            recorded = _Recorded(str(path), messages_of(planned.ranks))
            reader = ranks(path, recorded.take)
            complete = reader.read()
    if not complete:
        return trace_of(schedule(path))
    return recorded.trace(reader.size, reader.notes())


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
    steps_of = dict[int, list[Step]]()

    def take(_: int, rank: int, graph: Graph) -> bool:
        steps_of[rank] = graph.steps(f"{path}: rank {rank}")
        return True

    reader = (Binary if _begins(path, MAGIC) else _Text)(path, take, whole=True)
    reader.read()
    notes = reader.notes()  # which refuses what would take memory for nothing
    ranks = tuple(steps_of.get(rank, []) for rank in range(reader.size))
    messages = add_messages(ranks, reader.operations)
    return Schedule(str(path), ranks, notes=(*notes, *messages))


def _check_size(path: Path) -> None:
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        raise FileError(f"{path} has {path.stat().st_size >> 20:,} MiB; a schedule with operations "
                        "of Portals, whose ranks depend on each other, has up to "
                        f"{_MOST_BYTES >> 20}")  # fmt: skip


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


class _Rank:
    """The steps of the rank that is being read."""

    def __init__(self) -> None:
        self.steps = GrowingColumns(STEPS)
        self.requirements = GrowingColumns(REQUIREMENTS)
        self.labels = Labels()
        self.orders: list[tuple[str, str, bool, str]] = []  #: of labels that come later
        self.operations: dict[int, Operation] = {}
        self.messages = 0

    def add(self, kind: int, size: int, peer: int, tag: int, cpu: int, nic: int) -> None:
        """Add a step."""
        self.messages += kind != CALC
        self.steps.append((kind, size, peer, tag, cpu, nic))

    def require(self, later: str, earlier: str, where: str, *, ended: bool) -> None:
        """Let a step require another."""
        numbers = self.labels.number(later), self.labels.number(earlier)
        if None in numbers:
            self.orders.append((later, earlier, ended, where))
            return
        self.requirements.append((*numbers, ended))  # type: ignore[arg-type]

    def graph(self) -> Graph:
        """Return all of it.

        Raises
        ------
        FileError
            If a label is missing.
        """
        for later, earlier, ended, where in self.orders:
            numbers = []
            for label in (later, earlier):
                number = self.labels.number(label)
                if number is None:
                    raise FileError(f"{where}: this rank has no label {label}")
                numbers.append(number)
            self.requirements.append((*numbers, ended))
        return Graph(**self.steps.arrays(), **self.requirements.arrays())


class _Text:
    """A schedule as text, read rank by rank."""

    def __init__(self, path: Path, take: Take, *, whole: bool = False) -> None:
        self.path, self.take = path, take
        self.whole = whole  #: ranks may depend on each other, so that all of them are wanted
        self.size = self.rank = 0
        self.ranks: dict[int, None] = {}
        self.operations: dict[int, dict[int, Operation]] = {}  #: of Portals, by rank and step
        self.open: _Rank | None = None
        self.characters = 0  #: of the rank that is being read
        self.look_at = _LOOK  #: characters

    def read(self) -> bool:
        """Take all ranks; return whether that could be done without the others."""
        for where, text in _statements(self.path):
            if self.open is None:
                self._outside(where, text)
            elif text == "}":
                if not self._close():
                    return False
            else:
                self._inside(where, text)
        return True

    def _outside(self, where: str, text: str) -> None:
        if not self.size:
            self._size(where, text)
        else:
            self._begin(where, text)

    def _inside(self, where: str, text: str) -> None:
        """Read a line of a rank."""
        rank = self.open
        assert rank is not None
        self.characters += len(text)
        if self.characters > self.look_at:
            self._look(where, rank)
        if match := _ORDER.fullmatch(text):
            later, word, earlier = match.groups()
            rank.require(later, earlier, where, ended=word == "requires")
        elif match := _OPERATION.fullmatch(text):
            self._step(where, rank, match.groups())
        elif labeled := parsed(text, where):
            self._operation(where, *labeled)
        else:
            raise FileError(f"{where}: {shorten(text)!r} is no line of a schedule (send, recv, "
                            "calc, requires, irequires)")  # fmt: skip

    def _look(self, where: str, rank: _Rank) -> None:
        """Refuse a rank of more events than are wanted, or that takes more memory than there is."""
        self.look_at = self.characters + _LOOK
        if limit := current_limit():
            limit.check(str(self.path), rank.messages)
        if (steps := len(rank.steps)) > MOST_STEPS:
            raise FileError(f"{where}: rank {self.rank} has over {steps:,} steps; give ranks of "
                            "fewer")  # fmt: skip
        if (free := free_memory()) < _LEAST_FREE:
            raise FileError(
                f"{where}: only {free >> 20:,} MiB of memory are free; of rank {self.rank} labels "
                "are kept that do not count up with its steps, and requirements that come before "
                "the labels they name; write them in the order of the steps, or free memory"
            )

    def _size(self, where: str, text: str) -> None:
        match = re.fullmatch(r"num_ranks\s+(\d{1,9})", text)
        if not match or not 0 < int(match[1]) <= _MOST_RANKS:
            raise FileError(f"{where}: a schedule begins with num_ranks and how many, not "
                            f"{shorten(text)!r}")  # fmt: skip
        self.size = int(match[1])

    def _begin(self, where: str, text: str) -> None:
        match = re.fullmatch(r"rank\s+(\d{1,9})\s*\{(\s*\})?", text)
        if not match:
            raise FileError(f"{where}: {shorten(text)!r} stands outside any rank")
        rank = int(match[1])
        if rank >= self.size or rank in self.ranks:
            reason = "comes twice" if rank in self.ranks else f"is not below {self.size}"
            raise FileError(f"{where}: rank {rank} {reason}")
        self.rank, self.ranks[rank] = rank, None
        self.open = None if match[2] else _Rank()
        self.characters, self.look_at = 0, _LOOK

    def _step(self, where: str, rank: _Rank, fields: Sequence[str | None]) -> None:
        label, out, to, into, source, work, tag_text, cpu, nic = fields
        peer, tag = ANY, int(tag_text or 0)
        if out is not None:
            kind, size, peer = SEND, int(out), int(to or 0)
        elif into is not None:
            kind, size, peer = RECV, int(into), ANY if source in ANYS else int(source or 0)
            tag = ANY if tag_text in ANYS else tag
        else:
            kind, size = CALC, int(work or 0)
        self._check_peer(where, peer)
        self._label(where, rank, label)
        try:
            rank.add(kind, size, peer, tag, int(cpu or 0), int(nic or 0))
        except OverflowError:
            raise FileError(f"{where}: a number of this {KINDS[kind]} is beyond what 64 bits (of "
                            "cpu and nic 32) hold") from None  # fmt: skip

    def _operation(self, where: str, label: str | None, operation: Operation) -> None:
        rank = self.open
        assert rank is not None
        self._check_peer(where, operation.peer)
        if operation.verb.endswith("put") and operation.peer == ANY:
            raise FileError(f"{where}: {operation.verb} names no rank")
        self._label(where, rank, label)
        rank.operations[len(rank.steps)] = operation
        step = operation.step()
        rank.add(KINDS.index(step.kind), step.size, step.peer, step.tag, step.cpu, step.nic)

    def _check_peer(self, where: str, peer: int) -> None:
        if peer >= self.size or peer < ANY:
            raise FileError(f"{where}: there is no rank {peer}, only 0 to {self.size - 1}")

    def _label(self, where: str, rank: _Rank, label: str | None) -> None:
        if label is not None and not rank.labels.add(label, len(rank.steps)):
            raise FileError(f"{where}: label {label} comes twice")

    def _close(self) -> bool:
        """Take a rank that has ended; return whether the next is wanted."""
        rank = self.open
        assert rank is not None
        self.open = None
        if rank.operations:
            self.operations[self.rank] = rank.operations
        if not self.whole and (rank.operations or self._is_short()):
            return False
        return self.take(self.size, self.rank, rank.graph())

    def _is_short(self) -> bool:
        """Return whether the file has too few bytes to name as many ranks as it says it has."""
        if len(self.ranks) > 1 or not self.path.is_file():
            return False
        return self.size > _MOST_IDLE + self.path.stat().st_size // len("rank 0{}")

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


class _Planned:
    """The plans of all ranks, by which receives from any source find their messages."""

    def __init__(self, where: str) -> None:
        self.where, self.ranks = where, list[Plan]()

    def take(self, size: int, rank: int, graph: Graph) -> bool:
        """Plan what a rank does."""
        self.ranks = self.ranks or Plans(size, self.where).ranks
        plan_steps(self.ranks[rank], graph.steps(f"{self.where}: rank {rank}"), self.where)
        return True


class _Recorded:
    """The trace; without ``envelopes`` it ends at a receive that names no source or no tag."""

    def __init__(self, where: str, envelopes: Sequence[Envelopes] = ()) -> None:
        self.where, self.envelopes = where, envelopes
        self.playing: Playing | None = None
        self.wild = False  #: a receive names no source or no tag

    def take(self, size: int, rank: int, graph: Graph) -> bool:
        """Record what a rank does; return whether its receives are known."""
        self.wild = graph.is_wild
        if self.wild and not self.envelopes:
            return False
        self.playing = self.playing or Playing(size, self.where)
        if self.wild or graph.has_streams:
            steps = graph.steps(f"{self.where}: rank {rank}")
            self.playing.play(rank, steps, self.envelopes[rank] if self.envelopes else ())
        else:
            self.playing.play_graph(rank, graph)
        return True

    def trace(self, size: int, notes: tuple[str, ...]) -> Trace:
        """Return the trace, in which ranks that were not taken do nothing."""
        return (self.playing or Playing(size, self.where)).trace(
            (*notes, *wild_note(self.envelopes))
        )
