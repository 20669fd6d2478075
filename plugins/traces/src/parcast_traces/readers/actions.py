"""The actions of SimGrid's time-independent traces, one rank's in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from parcast.errors import FileError, did_you_mean
from parcast_traces.readers.plans import Plan
from parcast_traces.readers.text import Place, Position, number, whole
from parcast_traces.readers.wildcards import ANY, Envelope
from parcast_traces.trace.columns import NONE
from parcast_traces.trace.rank_recorder import RankRecorder

#: Bytes of an element by SimGrid's number of its type: what C and Fortran have on 64 bits.
_WIDTHS = (
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8,
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, None,
    None, 1, 8, 8,
)  # fmt: skip
_SIZES = {str(number): width for number, width in enumerate(_WIDTHS) if width is not None}
_DOUBLE, _BYTE = "0", "6"

#: What SMPI's tracer, and its replay, write for a source or a tag that is not named.
_ANY_SOURCE, _ANY_TAG = (-333, -555), -444


#: What a line does when it is played: it is read once, and may be played many times.
Action = Callable[[], None]


class Player:
    """The actions of one rank; ``clock`` counts its work, ``where`` is the line that is played."""

    def __init__(self, recorder: RankRecorder | Plan, size: int, where: Position) -> None:
        self.recorder: Any = recorder
        self.size, self.where = size, where
        self.began: Place | None = None  #: its first line
        self.clock, self.default = 0.0, _BYTE
        self.last_call = 0.0  #: the clock at the last call
        self.opened, self.tested = 0, False
        self.keys: dict[int, tuple[int, int, int]] = {}  #: open requests, as waits name them
        self.requests_of: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
        self.nobody = set[int]()  #: requests behind which there is no message
        #: What the receives got that name no source or no tag; None: that is being found out.
        self.envelopes: Iterator[Envelope] | None = None

    def action(self, words: Sequence[str]) -> Action:
        """Return what a line does."""
        name = words[0].lower()
        read = _ACTIONS.get(name)
        if read is None:
            raise FileError(
                f"{self.where}: there is no action {name!r}.{did_you_mean(name, _ACTIONS)}"
            )
        try:
            return read(self, name, words[1:])
        except IndexError:
            raise FileError(f"{self.where}: {name} lacks an argument") from None

    def give_up(self) -> dict[str, None]:
        """Free the requests that nobody waited for; return notes."""
        notes = dict[str, None]()
        left = [request for request in self.keys if request not in self.nobody]
        for request in left:
            self.recorder.free(self.clock, self.clock, request)
        if self.clock > self.last_call and not left:  # or what it computed last would be lost
            self.recorder.local("finalize", self.clock, self.clock)
        if left:
            notes["requests that no rank waits for are freed when their rank ends"] = None
        if self.tested:
            notes["tests complete nothing, as the format does not record what they completed"] = (
                None
            )
        return notes

    def amount(self, words: Sequence[str], at: int, kind: int | None) -> float:
        """Return bytes: a count, and the number of its type if that is given."""
        type_number = words[kind] if kind is not None and kind < len(words) else self.default
        if type_number not in _SIZES:
            raise FileError(f"{self.where}: type {type_number!r} is not one of {', '.join(_SIZES)}")
        return number(words[at], self.where) * _SIZES[type_number]

    def init(self, _: str, words: Sequence[str]) -> Action:
        """Begin, and say of what type amounts are that name none."""
        self.default = _DOUBLE if words else _BYTE
        return partial(self._local, "init")

    def local(self, _: str, __: Sequence[str]) -> Action:
        """Record a call that meets nobody."""
        return partial(self._local, "call")

    def location(self, _: str, words: Sequence[str]) -> Action:
        """Say at which line the next call is."""
        return partial(setattr, self.recorder, "line", f"{words[0]}:{words[1]}")

    def finalize(self, _: str, __: Sequence[str]) -> Action:
        """End."""
        return partial(self._local, "finalize")

    def compute(self, _: str, words: Sequence[str]) -> Action:
        """Work for some operations."""
        return partial(self._compute, number(words[0], self.where))

    def sleep(self, _: str, words: Sequence[str]) -> Action:
        """Sleep for some seconds."""
        return partial(self._sleep, number(words[0], self.where))

    def send(self, name: str, words: Sequence[str]) -> Action:
        """Send, blocking or not."""
        return partial(self._send, name, *self._message(words))

    def receive(self, name: str, words: Sequence[str]) -> Action:
        """Receive, blocking or not, perhaps from any source."""
        return partial(self._receive, name, *self._message(words))

    def sendrecv(self, _: str, words: Sequence[str]) -> Action:
        """Send and receive."""
        size, to = self.amount(words, 0, 4), whole(words[1], self.where)
        room, source = self.amount(words, 2, 5), self._source(words[3])
        return partial(self._sendrecv, size, to, room, source)

    def together(
        self, name: str, size: float = 0.0, root: int | None = None, work: float = 0.0
    ) -> Action:
        """Record a collective of all ranks, after which each works."""
        return partial(self._together, name, size, root, work)

    def root(self, words: Sequence[str], at: int) -> int:
        """Return the root of a collective: rank 0 where the word is left out."""
        return whole(words[at], self.where) if at < len(words) else 0

    def wait(self, _: str, words: Sequence[str]) -> Action:
        """Wait for a request; what is any on either side may be it."""
        key = self._source(words[0]), self._source(words[1]), self._tag(words[2])
        return partial(self._wait, key)

    def test(self, _: str, words: Sequence[str]) -> Action:
        """Ask for a request, which may not be over."""
        for word in words[:3]:
            whole(word, self.where, least=min(_ANY_SOURCE))
        return self._test

    def waitall(self, _: str, __: Sequence[str]) -> Action:
        """Wait for all open requests."""
        return self._waitall

    def _local(self, name: str) -> None:
        self.recorder.local(name, self.clock, self.clock)

    def _compute(self, operations: float) -> None:
        self.clock += operations

    def _sleep(self, seconds: float) -> None:
        self.recorder.sleep(self.clock, seconds)

    def _test(self) -> None:
        self.tested = True
        self.recorder.wait("test", self.clock, self.clock, [])

    def _send(self, name: str, to: int, tag: int, size: float) -> None:
        request = self._open((self.recorder.rank, to, tag)) if name[0] == "i" else None
        if to in _ANY_SOURCE:  # MPI_PROC_NULL, as SMPI's tracer writes it
            self._to_nobody(request)
            return
        self.recorder.send(name, self.clock, self.clock, to, size, tag, request=request)

    def _receive(self, name: str, source: int, tag: int, size: float) -> None:
        key = (source, self.recorder.rank, tag)
        request = self._open(key) if name[0] == "i" else None
        if source in _ANY_SOURCE or tag == _ANY_TAG:
            envelope = self._envelope(source, tag)
            if envelope is None:
                self._to_nobody(request)
                return
            source, tag = envelope
        self.recorder.receive(name, self.clock, self.clock, source, tag, room=size, request=request)

    def _sendrecv(self, size: float, to: int, room: float, source: int) -> None:
        envelope: Envelope = (source, 0)
        if source in _ANY_SOURCE:
            envelope = self._envelope(source, 0)
        if envelope is None:
            self.recorder.send("send", self.clock, self.clock, to, size, 0)
            return
        self.recorder.exchange(self.clock, self.clock, to, size, 0, envelope[0], 0, room=room)

    def _together(self, name: str, size: float, root: int | None, work: float) -> None:
        self.recorder.collective(name, self.clock, self.clock, size, root=root)
        self.clock += work

    def _wait(self, key: tuple[int, int, int]) -> None:
        request = self._request(key)
        self._close(request)
        if request in self.nobody:
            self._local("call")
        else:
            self.recorder.wait("wait", self.clock, self.clock, (request,))

    def _close(self, request: int) -> None:
        self.requests_of[self.keys.pop(request)].remove(request)  # the first, or near it

    def _waitall(self) -> None:
        requests = list(self.keys)
        for request in requests:
            self._close(request)
        real = [request for request in requests if request not in self.nobody]
        if requests and not real:
            self._local("call")
        else:
            self.recorder.wait("waitall", self.clock, self.clock, real)

    def _envelope(self, source: int, tag: int) -> Envelope:
        """Return the source and tag of a message whose receive does not name both."""
        if self.envelopes is not None:
            return next(self.envelopes)
        return ANY if source in _ANY_SOURCE else source, ANY if tag == _ANY_TAG else tag

    def _to_nobody(self, request: int | None) -> None:
        """Record a message to or from nobody."""
        if request is not None:
            self.nobody.add(request)
        self.recorder.local("call", self.clock, self.clock)

    def _source(self, text: str) -> int:
        """Return a rank, or what stands for any source."""
        source = whole(text, self.where, least=min(_ANY_SOURCE))
        if source < 0 and source not in _ANY_SOURCE:
            raise FileError(f"{self.where}: {text!r} is no rank; any source is {_ANY_SOURCE[0]}")
        return source

    def _tag(self, text: str) -> int:
        """Return a tag, or what stands for any."""
        tag = whole(text, self.where, least=_ANY_TAG)
        if tag < NONE and tag != _ANY_TAG:
            raise FileError(f"{self.where}: {text!r} is no tag; any tag is {_ANY_TAG}")
        return tag

    def _message(self, words: Sequence[str]) -> tuple[int, int, float]:
        if len(words) == 2:  # before there were tags: the peer and how much
            return self._source(words[0]), 0, self.amount(words, 1, None)
        peer, tag = self._source(words[0]), self._tag(words[1])
        return peer, tag, self.amount(words, 2, 3)

    def _request(self, wait_key: tuple[int, int, int]) -> int:
        """Return the open request that a wait names."""
        if self.requests_of.get(wait_key):
            return self.requests_of[wait_key][0]
        for request, key in self.keys.items():
            pairs = zip(key, wait_key, strict=True)
            if all(left == right or min(left, right) < NONE for left, right in pairs):
                return request
        raise FileError(f"{self.where}: no request {' '.join(map(str, wait_key))} is open")

    def _open(self, key: tuple[int, int, int]) -> int:
        self.opened += 1
        self.keys[self.opened] = key
        self.requests_of[key].append(self.opened)
        return self.opened


def _collective(kind: int, *, root: int | None = None, work: int | None = None) -> Any:
    """Return the reader of a collective; its type, root and work stand at these words."""

    def read(player: Player, name: str, words: Sequence[str]) -> Action:
        rank = None if root is None else player.root(words, root)
        operations = 0.0 if work is None else number(words[work], player.where)
        return player.together(name, player.amount(words, 0, kind), rank, operations)

    return read


def _mean(player: Player, words: Sequence[str], at: int, kind: int) -> float:
    """Return the mean of a list of counts, one for each rank, in bytes of the type at ``kind``."""
    amounts = [player.amount(words, at + rank, kind) for rank in range(player.size)]
    return sum(amounts) / player.size


def _alltoallv(player: Player, name: str, words: Sequence[str]) -> Action:
    return player.together(name, _mean(player, words, 1, 2 * player.size + 2))


def _allgatherv(player: Player, name: str, words: Sequence[str]) -> Action:
    return player.together(name, player.amount(words, 0, player.size + 1))


def _gatherv(player: Player, name: str, words: Sequence[str]) -> Action:
    at = player.size + 1
    return player.together(name, player.amount(words, 0, at + 1), player.root(words, at))


def _scatterv(player: Player, name: str, words: Sequence[str]) -> Action:
    at = player.size + 1
    size = player.amount(words, player.size, at + 2)
    return player.together(name, size, player.root(words, at))


def _reduce_scatter(player: Player, _: str, words: Sequence[str]) -> Action:
    size = _mean(player, words, 0, player.size + 1)
    return player.together("reduce_scatter", size, None, number(words[player.size], player.where))


_ACTIONS: Mapping[str, Callable[[Any, str, Sequence[str]], Action]] = {
    "init": Player.init,
    "finalize": Player.finalize,
    "comm_size": Player.local,
    "comm_split": Player.local,
    "comm_dup": Player.local,
    "location": Player.location,
    "compute": Player.compute,
    "sleep": Player.sleep,
    **dict.fromkeys(("send", "isend", "ssend", "issend", "bsend", "ibsend"), Player.send),
    **dict.fromkeys(("recv", "irecv"), Player.receive),
    "sendrecv": Player.sendrecv,
    "wait": Player.wait,
    "test": Player.test,
    "waitall": Player.waitall,
    "barrier": lambda player, name, _: player.together(name),
    "bcast": _collective(2, root=1),
    "reduce": _collective(3, root=2, work=1),
    "allreduce": _collective(2, work=1),
    "alltoall": _collective(2),
    "alltoallv": _alltoallv,
    "allgather": _collective(2),
    "allgatherv": _allgatherv,
    "gather": _collective(3, root=2),
    "scatter": _collective(3, root=2),
    "gatherv": _gatherv,
    "scatterv": _scatterv,
    "reducescatter": _reduce_scatter,
    "scan": _collective(2, work=1),
    "exscan": _collective(2, work=1),
}
