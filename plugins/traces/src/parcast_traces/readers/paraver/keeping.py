"""Calls and communications of all ranks, kept until a rank's are wanted, some at a time."""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import attrs
import numpy as np

from parcast_traces.readers.paraver import calls as c
from parcast_traces.readers.paraver.calls import Call
from parcast_traces.trace.by_rank import ByRank

_CALL = struct.Struct("=3i?4qd")
_CALLS = np.dtype([
    ("name", "i4"), ("region", "i4"), ("at", "i4"), ("is_root", "?"), ("start", "i8"),
    ("end", "i8"), ("line", "i8"), ("comm", "i8"), ("size", "f8"),
])  # fmt: skip

_TRANSFER = struct.Struct("=8q")
_TRANSFERS = np.dtype([
    (name, "i8") for name in ("number", "line", "at", "got", "peer", "size", "tag", "sends")
])  # fmt: skip

_NO_COMMUNICATOR = -1


class Transfer(NamedTuple):
    """One side of a communication: who sent when, or who began to receive when and had it when."""

    number: int
    line: int
    at: int  #: when it was sent, or the receive posted
    got: int
    peer: int
    size: int
    tag: int
    sends: bool


@attrs.define(eq=False)
class Tally:
    """What is known of a rank without its calls."""

    count: int = 0
    first_start: int = 0
    last_end: int = 0
    last_name: str = ""
    making: array[int] = attrs.field(factory=lambda: array("i"))  #: calls that make communicators


class Kept:
    """The calls and transfers of a file, and what is known of all of them."""

    def __init__(self, size: int) -> None:
        self.ranks = [Tally() for _ in range(size)]
        self.messages = 0
        self._calls, self._transfers = ByRank(size, _CALLS), ByRank(size, _TRANSFERS)
        self._texts: dict[str, int] = {}
        self._collectives = Counter[tuple[int, int]]()  #: of ranks in communicators
        self._roots: dict[int, array[int]] = {}  #: of each collective of a communicator

    def add_call(self, rank: int, call: Call) -> None:
        """Keep a call that has ended."""
        tally, comm = self.ranks[rank], call.comm
        tally.last_end, tally.last_name = call.end, call.name
        if comm is None and call.name in c.MAKING.values():
            tally.making.append(self._text(call.name))
        if comm is not None:
            if call.is_root:
                self._put_root(comm, self._collectives[rank, comm], rank)
            self._collectives[rank, comm] += 1
        texts = (self._text(text) for text in (call.name, call.region, call.at))
        self._calls.add(rank, _CALL.pack(
            *texts, call.is_root, call.start, call.end, call.line,
            _NO_COMMUNICATOR if comm is None else comm, call.size,
        ))  # fmt: skip

    def add_transfer(self, source: int, target: int, sent: Transfer, received: Transfer) -> None:
        """Keep both sides of a communication."""
        self._transfers.add(source, self.packed(sent))
        self._transfers.add(target, self.packed(received))
        self.messages += 1

    def calls(self, rank: int, window: int) -> Iterator[Any]:
        """Yield the records of a rank's calls, so many at a time but for the last."""
        rows = np.empty(0, _CALLS)
        for part in self._calls.parts(rank):
            rows = np.concatenate([rows, part]) if len(rows) else part
            whole = len(rows) - len(rows) % window
            yield from (rows[low : low + window] for low in range(0, whole, window))
            rows = rows[whole:]
        if len(rows):
            yield rows

    def as_calls(self, rows: Any) -> list[Call]:
        """Return calls of their records."""
        texts = list(self._texts)
        return [
            Call(texts[name], start, line, end,
                 None if comm == _NO_COMMUNICATOR else comm, size, is_root, texts[region],
                 texts[at])
            for name, region, at, is_root, start, end, line, comm, size in rows.tolist()
        ]  # fmt: skip

    def transfers_by_time(self, rank: int, starts: Any) -> ByRank:
        """Return a rank's sides of communications, in the order of the file, by their window.

        It is the last that begins (``starts``) as they are sent, or the receive is posted.
        """
        windows = ByRank(max(len(starts), 1), _TRANSFERS)
        for part in self._transfers.parts(rank):
            window = np.maximum(np.searchsorted(starts, part["at"], side="right") - 1, 0)
            for number in np.unique(window).tolist():
                windows.add(number, part[window == number].tobytes())
        return windows

    def completions(self, windows: int) -> ByRank:
        """Return an empty place for receives that wait for a later window."""
        return ByRank(max(windows, 1), _TRANSFERS)

    def packed(self, transfer: Transfer) -> bytes:
        """Return the record of a side of a communication."""
        return _TRANSFER.pack(*transfer)

    def as_transfers(self, rows: Any) -> Iterator[Transfer]:
        """Yield sides of communications of their records."""
        for number, line, at, got, peer, size, tag, sends in rows.tolist():
            yield Transfer(number, line, at, got, peer, size, tag, sends == 1)

    def root(self, comm: int, number: int) -> int | None:
        """Return the root of a communicator's collective, None where no rank says that it is."""
        roots = self._roots.get(comm, ())
        return roots[number] if number < len(roots) and roots[number] >= 0 else None

    def _put_root(self, comm: int, number: int, rank: int) -> None:
        roots = self._roots.setdefault(comm, array("i"))
        roots.extend([-1] * (number + 1 - len(roots)))
        roots[number] = rank

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))
