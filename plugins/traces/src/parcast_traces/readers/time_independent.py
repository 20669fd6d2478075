"""Time-independent traces of SimGrid: an action a line, or an index of such files.

Format: SimGrid 4, ``src/smpi/internals/smpi_replay.cpp``. The traces hold work, not times:
computation in floating-point operations. What one says is timed on a named machine.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parcast.errors import FileError, did_you_mean
from parcast_traces.readers.text import lines, number, whole
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.recording import RankRecorder, Recording

#: Bytes of an element by SimGrid's number of its type.
_SIZES = {"0": 8, "1": 4, "2": 1, "3": 2, "4": 8, "5": 4, "6": 1}


def read(path: Path) -> Trace:
    """Return the trace in a file, or in the files that an index lists.

    Raises
    ------
    FileError
        If a file cannot be read, or a line is no action.
    TraceError
        If no run can have left it.
    """
    files, ranks = list(_files(path)), set[int]()
    for rank, _, _ in _actions(files):
        ranks.add(rank)
    if not ranks:
        raise FileError(f"{path} has no actions")
    size = max(ranks) + 1
    if len(ranks) < size:
        missing = next(rank for rank in range(size) if rank not in ranks)
        raise FileError(
            f"{path}: rank {missing} of 0 to {size - 1} has no actions; is its file missing?"
        )
    recording, notes = Recording(size, str(path)), dict[str, None]()
    players = [_Player(recorder, size) for recorder in recording.ranks]
    for rank, words, where in _actions(files):
        players[rank].play(words, where)
    for player in players:
        notes.update(player.give_up())
    return recording.trace(timed=False, notes=tuple(notes))


def _actions(files: Iterable[Path]) -> Iterator[tuple[int, Sequence[str], str]]:
    """Yield the rank, the words and the place of every action."""
    for file in files:
        for line, text in lines(file):
            words: Sequence[str] = text.split()
            if not words or words[0].startswith("#"):
                continue
            where = f"{file}:{line}"
            if len(words) < 2:
                raise FileError(f"{where}: an action is a rank and a word, such as '0 init'")
            yield whole(words[0], where), words[1:], where


def _files(path: Path) -> Iterator[Path]:
    """Yield the file itself, or those that it lists."""
    first = next((text for _, text in lines(path) if text and not text.startswith("#")), "")
    if not first or first.split()[0].isdigit():
        yield path
        return
    for line, text in lines(path):
        if text and not text.startswith("#"):
            file = path.parent / text
            if not _is_file(file):
                raise FileError(f"{path}:{line}: there is no file {text[:80]!r}")
            yield file


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no file has such a name
        return False


class _Player:
    """The actions of one rank; ``clock`` counts its work."""

    def __init__(self, recorder: RankRecorder, size: int) -> None:
        self.recorder, self.size = recorder, size
        self.clock, self.default, self.where = 0.0, "0", ""
        self.told = 0.0  #: the clock at the last call
        self.opened, self.tested = 0, False
        self.requests: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        self.order: dict[int, tuple[int, int, int]] = {}

    def play(self, words: Sequence[str], where: str) -> None:
        """Record one action."""
        self.where, name = where, words[0].lower()
        action = _ACTIONS.get(name)
        if action is None:
            raise FileError(f"{where}: there is no action {name!r}.{did_you_mean(name, _ACTIONS)}")
        before = self.clock
        try:
            action(self, words[1:])
        except IndexError:
            raise FileError(f"{where}: {name} lacks an argument") from None
        if name != "location":
            self.recorder.line = ""
        if name not in ("compute", "location"):
            self.told = before

    def give_up(self) -> dict[str, None]:
        """Free the requests that nobody waited for; return what is to be said."""
        notes = dict[str, None]()
        for request in self.order:
            self.recorder.free(self.clock, self.clock, request)
        if self.clock > self.told and not self.order:  # or what it computed last would be lost
            self.recorder.local("finalize", self.clock, self.clock)
        if self.order:
            notes["requests that no rank waits for are given up when their rank ends"] = None
        if self.tested:
            notes["tests are taken to complete nothing, as the format does not say"] = None
        return notes

    def amount(self, words: Sequence[str], at: int, kind: int | None) -> float:
        """Return bytes: a count, and the number of its type if that is given."""
        given = words[kind] if kind is not None and kind < len(words) else self.default
        if given not in _SIZES:
            raise FileError(f"{self.where}: type {given!r} is not one of {', '.join(_SIZES)}")
        return number(words[at], self.where) * _SIZES[given]

    def init(self, words: Sequence[str]) -> None:
        self.default = "6" if words else "0"
        self.recorder.local("init", self.clock, self.clock)

    def local(self, _: Sequence[str]) -> None:
        self.recorder.local("call", self.clock, self.clock)

    def location(self, words: Sequence[str]) -> None:
        self.recorder.line = f"{words[0]}:{words[1]}"

    def finalize(self, _: Sequence[str]) -> None:
        self.recorder.local("finalize", self.clock, self.clock)

    def compute(self, words: Sequence[str]) -> None:
        self.clock += number(words[0], self.where)

    def sleep(self, _: Sequence[str]) -> None:
        raise FileError(
            f"{self.where}: sleep is in seconds, and the rest of the trace in operations; "
            "write it as compute"
        )

    def send(self, words: Sequence[str]) -> None:
        to, tag, size = self._message(words)
        self.recorder.send("send", self.clock, self.clock, to, size, tag)

    def isend(self, words: Sequence[str]) -> None:
        to, tag, size = self._message(words)
        request = self._open((self.recorder.rank, to, tag))
        self.recorder.send("isend", self.clock, self.clock, to, size, tag, request=request)

    def recv(self, words: Sequence[str]) -> None:
        source, tag, size = self._message(words)
        self.recorder.receive("recv", self.clock, self.clock, source, tag, room=size)

    def irecv(self, words: Sequence[str]) -> None:
        source, tag, size = self._message(words)
        request = self._open((source, self.recorder.rank, tag))
        self.recorder.receive(
            "irecv", self.clock, self.clock, source, tag, room=size, request=request
        )

    def sendrecv(self, words: Sequence[str]) -> None:
        size, to = self.amount(words, 0, 4), whole(words[1], self.where)
        room, source = self.amount(words, 2, 5), whole(words[3], self.where)
        self.recorder.exchange(self.clock, self.clock, to, size, 0, source, 0, room=room)

    def wait(self, words: Sequence[str]) -> None:
        key = self._key(words)
        if not self.requests[key]:
            raise FileError(f"{self.where}: no request {' '.join(words[:3])} is open")
        request = self.requests[key].popleft()
        del self.order[request]
        self.recorder.wait("wait", self.clock, self.clock, [request])

    def test(self, words: Sequence[str]) -> None:
        self._key(words)
        self.tested = True
        self.recorder.wait("test", self.clock, self.clock, [])

    def waitall(self, _: Sequence[str]) -> None:
        self.recorder.wait("waitall", self.clock, self.clock, list(self.order))
        self.order.clear()
        self.requests.clear()

    def _message(self, words: Sequence[str]) -> tuple[int, int, float]:
        peer, tag = whole(words[0], self.where), whole(words[1], self.where, least=-1)
        return peer, tag, self.amount(words, 2, 3)

    def _key(self, words: Sequence[str]) -> tuple[int, int, int]:
        source, target = whole(words[0], self.where), whole(words[1], self.where)
        return source, target, whole(words[2], self.where, least=-1)

    def _open(self, key: tuple[int, int, int]) -> int:
        self.opened += 1
        self.requests[key].append(self.opened)
        self.order[self.opened] = key
        return self.opened


def _many(name: str, kind: int, work: int | None = None) -> Any:
    """Return the action of a collective; ``kind`` is where its type stands, ``work`` its work."""

    def action(player: _Player, words: Sequence[str]) -> None:
        player.recorder.collective(name, player.clock, player.clock, player.amount(words, 0, kind))
        if work is not None:
            player.clock += number(words[work], player.where)

    return action


def _rooted(name: str, root: int, kind: int, work: int | None = None) -> Any:
    """Return the action of a collective with a root."""

    def action(player: _Player, words: Sequence[str]) -> None:
        given = whole(words[root], player.where) if root < len(words) else 0
        player.recorder.collective(
            name, player.clock, player.clock, player.amount(words, 0, kind), root=given
        )
        if work is not None:
            player.clock += number(words[work], player.where)

    return action


def _barrier(player: _Player, _: Sequence[str]) -> None:
    player.recorder.collective("barrier", player.clock, player.clock)


def _alltoallv(player: _Player, words: Sequence[str]) -> None:
    counts = [player.amount(words, at, None) for at in range(1, player.size + 1)]
    mean = sum(counts) / player.size
    player.recorder.collective("alltoallv", player.clock, player.clock, mean)


def _gatherv(player: _Player, words: Sequence[str]) -> None:
    at = player.size + 1
    root = whole(words[at], player.where) if at < len(words) else 0
    size = player.amount(words, 0, None)
    player.recorder.collective("gatherv", player.clock, player.clock, size, root=root)


def _reduce_scatter(player: _Player, words: Sequence[str]) -> None:
    total = sum(player.amount(words, at, player.size + 1) for at in range(player.size))
    player.recorder.collective("reduce_scatter", player.clock, player.clock, total)
    player.clock += number(words[player.size], player.where)


_ACTIONS: Mapping[str, Callable[[Any, Sequence[str]], None]] = {
    "init": _Player.init,
    "finalize": _Player.finalize,
    "comm_size": _Player.local,
    "comm_split": _Player.local,
    "comm_dup": _Player.local,
    "location": _Player.location,
    "compute": _Player.compute,
    "sleep": _Player.sleep,
    "send": _Player.send,
    "isend": _Player.isend,
    "recv": _Player.recv,
    "irecv": _Player.irecv,
    "sendrecv": _Player.sendrecv,
    "wait": _Player.wait,
    "test": _Player.test,
    "waitall": _Player.waitall,
    "barrier": _barrier,
    "bcast": _rooted("bcast", 1, 2),
    "reduce": _rooted("reduce", 2, 3, work=1),
    "allreduce": _many("allreduce", 2, work=1),
    "alltoall": _many("alltoall", 2),
    "alltoallv": _alltoallv,
    "allgather": _many("allgather", 2),
    "allgatherv": _many("allgatherv", 10**9),
    "gather": _rooted("gather", 2, 3),
    "scatter": _rooted("scatter", 2, 3),
    "gatherv": _gatherv,
    "reducescatter": _reduce_scatter,
    "scan": _many("scan", 2, work=1),
    "exscan": _many("exscan", 2, work=1),
}
