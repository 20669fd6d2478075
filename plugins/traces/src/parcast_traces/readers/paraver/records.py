"""The records of a Paraver file: the calls of every rank, and the communications between them.

Format: Paraver's trace-generation manual, and what Extrae's merger writes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.errors import TraceError
from parcast_traces.readers.paraver import calls as c
from parcast_traces.readers.paraver.calls import Call
from parcast_traces.readers.paraver.keeping import Kept, Transfer
from parcast_traces.readers.text import lines

_HEADER = re.compile(
    r"#Paraver \([^)]*\):(?P<length>\d{1,15})(?:_(?P<unit>[a-z]+))?:\d+(?:\([^)]*\))?:"
    r"(?P<applications>\d{1,4}):(?P<lists>.*)"
)
#: Of an application: how many tasks, of each its threads and its node, how many communicators.
_APPLICATION = re.compile(r"(?P<tasks>\d+)\((?P<threads>[\d:,]*)\)(?:,\d+(?![\d(]))?(?:[:,]|$)")
_UNITS = {None: 1e-6, "us": 1e-6, "ns": 1e-9, "ms": 1e-3}
_CODE = (c.FUNCTION, c.CALLER, c.LINE)
_READ_TYPES = {
    str(kind): kind for kind in (*c.TYPES, c.SENT, c.GOT, c.IS_ROOT, c.COMMUNICATOR, *_CODE)
}
_LABELED = {*c.TYPES, *_CODE}
#: A longer list of names is another thing.
_MOST_LABELS = 16 << 20

_EVENT, _COMMUNICATION, _MEMBERS, _UNREAD = "2:", "3:", "c:", ("1:", "4:", "#")


@attrs.define(eq=False)
class Records:
    """What a file holds; ranks are its tasks, from 0 on."""

    path: Path
    size: int
    application: int  #: the one that calls MPI, from 1 on
    applications: int
    tick: float  #: seconds
    length: int  #: of the run, in ticks
    labels: Mapping[tuple[int, int], str]  #: of calls and of the code, from the ``.pcf``
    kept: Kept
    members: dict[int, list[int]] = attrs.field(factory=dict)
    threads: list[dict[int, None]] = attrs.field(factory=list)  #: those that call MPI
    _open: dict[int, tuple[Call, int]] = attrs.field(factory=dict)
    _inside: dict[tuple[int, int], list[str]] = attrs.field(factory=dict)  #: functions of threads

    @property
    def ended(self) -> bool:
        """Whether every rank has come to its end, so that nothing is cut off."""
        return all(rank.last_name == "finalize" for rank in self.kept.ranks)

    @property
    def called(self) -> bool:
        """Whether any rank calls MPI."""
        return any(rank.count for rank in self.kept.ranks)

    @property
    def origin(self) -> int:
        """When the first call begins: the run's clock begins there, the file's before MPI does."""
        return min((rank.first_start for rank in self.kept.ranks if rank.count), default=0)

    def place(self, rank: int) -> str:
        """Return the last call of a rank, as errors name it."""
        return f"rank {rank}, event {max(self.kept.ranks[rank].count - 1, 0)}"

    def take(self, line: int, text: str) -> None:
        """Take the record of a line."""
        kind = text[:2]
        if kind == _EVENT:
            self._events(line, text.split(":"))
        elif kind == _COMMUNICATION:
            self._communication(line, text.split(":"))
        elif kind == _MEMBERS:
            self._communicator(line, text.split(":"))
        elif text and not text.startswith(_UNREAD):
            raise self.wrong(line, f"{shorten(text)!r} is no record of Paraver")

    def wrong(self, line: int, sentence: str) -> FileError:
        """Return what a wrong record raises."""
        return FileError(f"{self.path}:{line}: {sentence}")

    def finish(self) -> None:
        """Refuse calls that never end."""
        for rank, (call, _) in sorted(self._open.items()):
            raise TraceError(
                "never_left",
                f"{self.place(rank)} ({call.name}): it never ends; is the file cut off?",
                str(self.path),
            )

    def _whole(self, line: int, text: str) -> int:
        if not text.isdigit() or len(text) > 15:  # which a float holds
            raise self.wrong(line, f"{shorten(text)!r} must be a whole number of up to 15 digits")
        return int(text)

    def _rank(self, line: int, parts: Sequence[str]) -> int:
        """Return the rank of cpu, application, task and thread."""
        if self._whole(line, parts[1]) != self.application:
            raise UnsupportedError(f"{self.path}:{line}: applications {self.application} and "
                                   f"{parts[1]} both call MPI, and a trace is of one")  # fmt: skip
        rank = self._whole(line, parts[2]) - 1
        if not 0 <= rank < self.size:
            raise self.wrong(line, f"task {parts[2]} is none of 1 to {self.size}")
        return rank

    def _communicator(self, line: int, parts: Sequence[str]) -> None:
        if len(parts) < 4:
            raise self.wrong(line, "a communicator is c:application:number:size:tasks")
        if self._whole(line, parts[1]) != self.application:
            return
        number = self._whole(line, parts[2])
        members = [self._whole(line, task) - 1 for task in parts[4:]]
        if len(members) != self._whole(line, parts[3]) or len(set(members)) < len(members):
            raise self.wrong(line, f"communicator {number} has not {shorten(parts[3])} members")
        if self.applications > 1:  # a number beyond is a task of another
            members = [member for member in members if member < self.size]
        if not all(0 <= member < self.size for member in members):
            raise self.wrong(line, f"communicator {number} has a task beyond 1 to {self.size}")
        self.members[number] = members

    def _communication(self, line: int, parts: Sequence[str]) -> None:
        if len(parts) != 15:
            raise self.wrong(line, f"a communication has 15 fields, and this has {len(parts)}; is "
                             "the file cut off?")  # fmt: skip
        tag = self._whole(line, parts[14].removeprefix("-"))
        sent, posted, got, size = (self._whole(line, parts[at]) for at in (5, 11, 12, 13))
        tag = tag if parts[14].isdigit() else -tag
        source, target = self._rank(line, parts[1:5]), self._rank(line, parts[7:11])
        sides = (
            Transfer(self.kept.messages, line, at, got, peer, size, tag, sends)
            for at, peer, sends in ((sent, target, True), (posted, source, False))
        )
        self.kept.add_transfer(source, target, *sides)

    def _events(self, line: int, parts: Sequence[str]) -> None:
        if len(parts) < 8 or len(parts) % 2:
            raise self.wrong(line, "an event has a time, and a type and a value or more of them; "
                             "is the file cut off?")  # fmt: skip
        rank = time = -1
        for at in range(6, len(parts), 2):
            kind = _READ_TYPES.get(parts[at])
            if kind is None:
                continue
            if rank < 0:
                rank, time = self._rank(line, parts[1:5]), self._whole(line, parts[5])
            value = self._whole(line, parts[at + 1])
            if kind in _CODE:
                self._code(rank, self._whole(line, parts[4]), kind, value)
            elif kind not in c.TYPES:
                self._describe(line, rank, kind, value)
            elif value:
                self._begin(line, rank, self._whole(line, parts[4]), time, kind, value)
            else:
                self._end(line, rank, time)

    def _begin(self, line: int, rank: int, thread: int, time: int, kind: int, value: int) -> None:
        name = self._name(line, rank, kind, value)
        if rank in self._open:
            open_call, of = self._open[rank]
            who = "it" if of == thread else "another thread of the rank"
            raise UnsupportedError(
                f"{self.path}:{line}: {self.place(rank)} ({open_call.name}): {who} calls {name} "
                "before this call ends, and a rank of a message graph has one order"
            )
        tally, inside = self.kept.ranks[rank], self._inside.get((rank, thread))
        tally.count += 1
        if tally.count == 1:
            tally.first_start = time
        elif tally.last_end > time:
            raise TraceError("time_backwards", f"{self.place(rank)} ({name}): it starts at {time}, "
                             f"before the event ahead of it ends at {tally.last_end}",
                             str(self.path))  # fmt: skip
        self.threads[rank][thread] = None
        call = Call(name, time, line, region=inside[-1] if inside else "")
        self._open[rank] = call, thread

    def _end(self, line: int, rank: int, time: int) -> None:
        if rank not in self._open:
            raise self.wrong(line, f"rank {rank} ends a call that it did not begin; is this a "
                             "part of a longer trace? Give the whole")  # fmt: skip
        call, _ = self._open.pop(rank)
        if time < call.start:
            raise TraceError("negative_duration", f"{self.place(rank)} ({call.name}): it ends "
                             f"at {time}, before it starts at {call.start}",
                             str(self.path))  # fmt: skip
        call.end = time
        self.kept.add_call(rank, call)

    def _code(self, rank: int, thread: int, kind: int, value: int) -> None:
        """Keep where in the code a thread is; that a call has begun is said before by whom."""
        label = self.labels.get((kind, value), str(value))
        if kind == c.FUNCTION:
            inside = self._inside.setdefault((rank, thread), [])
            if value:
                inside.append(label)
            elif inside:
                inside.pop()
        elif value and rank in self._open:
            call, _ = self._open[rank]
            if kind == c.CALLER:
                call.region = label
            else:
                call.at = label

    def _describe(self, line: int, rank: int, kind: int, value: int) -> None:
        """Keep what is said of the collective that has begun."""
        if rank not in self._open:
            raise self.wrong(line, f"rank {rank} says of a collective what it is, and is in "
                             "none; is this a part of a longer trace? Give the whole")  # fmt: skip
        call, _ = self._open[rank]
        if kind == c.COMMUNICATOR:
            call.comm = value
        elif kind == c.IS_ROOT:
            call.is_root = value == 1
        else:
            call.size = max(call.size, float(value))

    def _name(self, line: int, rank: int, kind: int, value: int) -> str:
        """Return the name of a call; ``call`` is one that waits for nobody."""
        name = c.NAMES.get(value) or c.MAKING.get(value)
        if name is not None:
            return name
        if value not in c.UNMODELED and (kind in c.OTHERS or value in c.SETTING_UP):
            return "call"
        label = c.UNMODELED.get(value) or self.labels.get((kind, value)) or f"{kind}:{value}"
        why = "a Paraver file does not record whom it waits for"
        if kind == c.ONE_SIDED:
            why = "one-sided communication is not read from Paraver"
        place = f"rank {rank}, event {self.kept.ranks[rank].count}"
        raise UnsupportedError(f"{self.path}:{line}: {place} ({label}): {why}")


def read_records(path: Path) -> Records:
    """Return the records of a file.

    Raises
    ------
    FileError
        If it is none of Paraver, or cut off.
    TraceError
        If a call never ends, or time goes backwards.
    UnsupportedError
        If there are calls of which it does not tell enough.
    """
    numbered_lines = lines(path)
    _, text = next(numbered_lines, (1, ""))
    header = _HEADER.match(text)
    if header is None:
        raise FileError(f"{path}:1: it does not begin as a trace of Paraver does: #Paraver (date)")
    if header["unit"] not in _UNITS:
        raise FileError(f"{path}:1: its times have no known unit: {header['unit']}")
    sizes, application = _sizes(path, header), 1
    if len(sizes) > 1:
        application = _calling(path)
    if application > len(sizes):
        raise FileError(f"{path}: an event is of application {application} of {len(sizes)}")
    size = sizes[application - 1]
    records = Records(
        path,
        size,
        application,
        len(sizes),
        _UNITS[header["unit"]],
        int(header["length"]),
        _labels(path.with_suffix(".pcf")),
        Kept(size), threads=[{} for _ in range(size)],
    )  # fmt: skip
    line = 1
    for line, text in numbered_lines:
        records.take(line, text)
    if line > 1 + len(records.members) and not records.called and (size > 1 or len(sizes) > 1):
        raise FileError(f"{path}: its {line:,} lines have no call of MPI; is it cut off?")
    records.finish()
    return records


def _sizes(path: Path, header: re.Match[str]) -> list[int]:
    """Return how many tasks each application has."""
    sizes, lists, at = list[int](), header["lists"], 0
    while len(sizes) < int(header["applications"]):
        match = _APPLICATION.match(lists, at)
        if match is None or match["tasks"] != str(match["threads"].count(",") + 1):
            stated = "no" if match is None else match["tasks"]
            count = 0 if match is None else match["threads"].count(",") + 1
            raise FileError(f"{path}:1: its header has {stated} tasks of application "
                            f"{len(sizes) + 1}, and lists {count}")  # fmt: skip
        sizes.append(int(match["tasks"]))
        at = match.end()
    return sizes


def _calling(path: Path) -> int:
    """Return the application of the first call of MPI; 1 if there is none."""
    types = {str(kind) for kind in c.TYPES}
    for _, text in lines(path):
        parts = text.split(":") if text.startswith(_EVENT) else []
        if types.intersection(parts[6::2]) and parts[2].isdigit():
            return max(1, int(parts[2][:9]))
    return 1


def _labels(path: Path) -> Mapping[tuple[int, int], str]:
    """Return what a ``.pcf`` calls the values of MPI's event types and of the code's."""
    labels, types, values = dict[tuple[int, int], str](), set[int](), False
    if not path.is_file():
        return labels
    with path.open(encoding="ascii", errors="replace") as file:
        texts = file.read(_MOST_LABELS).splitlines()
    for text in texts:
        words = text.split(None, 2)
        if not words or words[0] in ("EVENT_TYPE", "VALUES"):
            values = words[:1] == ["VALUES"]
            types = types if values else set()
        elif not values and len(words) > 1 and words[1].isdigit():
            types.add(int(words[1]))
        elif values and len(words) > 1 and words[0].isdigit():
            name = text.split(None, 1)[1]
            labels.update({(kind, int(words[0])): name for kind in types & _LABELED})
    return labels
