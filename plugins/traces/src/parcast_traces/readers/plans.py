"""What ranks do next, kept out of memory until all of them are played.

A plan stands where a recorder does, so that a reader that records a run also plans it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from parcast_traces.readers.text import Place, Position
from parcast_traces.readers.wildcards import ANY, Step
from parcast_traces.trace.by_rank import ByRank

#: Operations that a second of sleep is taken for.
_RATE = 1e9

_ROW = struct.Struct("=2idQ3q")
_ROWS = np.dtype([("kind", "i4"), ("file", "i4"), ("at", "f8"), ("line", "u8"), ("peer", "i8"),
                  ("tag", "i8"), ("request", "i8")])  # fmt: skip
_KINDS = ("send", "receive", "wait", "meet", "")
_SEND, _RECEIVE, _WAIT, _MEET, _REQUEST = range(5)  #: requests stand before the wait for them

#: Rows that are made steps together.
_STEPS = 1024
_NONE = -1


class Plans:
    """The plans of all ranks."""

    def __init__(self, size: int, where: str = "") -> None:
        self.rows, self.files = ByRank(size, _ROWS), dict[str, int]()
        self.ranks = [Plan(rank, self, where) for rank in range(size)]


class Plan:
    """The steps of a rank, as its recorder would get them."""

    def __init__(self, rank: int, plans: Plans, where: str | Place | Position) -> None:
        self.rank, self.plans, self.where, self.line = rank, plans, where, ""
        self.slept = 0.0

    def __iter__(self) -> Iterator[Step]:
        files, requests = list(self.plans.files), list[int]()
        for kind, file, at, line, peer, tag, request in self._rows():
            if kind == _REQUEST:
                requests.append(request)
                continue
            yield Step(
                kind=_KINDS[kind], at=at, peer=peer, tag=tag,
                request=None if request == _NONE else request, requests=tuple(requests),
                where=Place(files[file], line) if line else files[file],
            )  # fmt: skip
            requests = []

    def local(self, *_: Any, **__: Any) -> None:
        """Nothing that another rank sees."""

    def sleep(self, _: float, seconds: float) -> None:
        """Work as long as that may be, as only an order is asked."""
        self.slept += seconds * _RATE

    def send(self, _: str, at: float, *arguments: Any, **__: Any) -> None:
        """Send to a rank, by a tag."""
        self._add(_SEND, at, peer=arguments[1], tag=arguments[3])

    def receive(
        self, _: str, at: float, *arguments: Any, request: int | None = None, **__: Any
    ) -> None:
        """Receive from a rank, by a tag; either may be `ANY`."""
        number = _NONE if request is None else request
        self._add(_RECEIVE, at, peer=arguments[1], tag=arguments[2], request=number)

    def exchange(self, at: float, *arguments: Any, **_: Any) -> None:
        """Send, and receive."""
        self._add(_SEND, at, peer=arguments[1], tag=arguments[3])
        self._add(_RECEIVE, at, peer=arguments[4], tag=arguments[5])

    def wait(self, _: str, at: float, __: float, requests: Sequence[int]) -> None:
        """Wait for requests."""
        for request in requests:
            self._add(_REQUEST, at, request=request)
        self._add(_WAIT, at)

    def collective(self, _: str, at: float, *__: Any, **___: Any) -> None:
        """Wait for all ranks."""
        self._add(_MEET, at)

    def _add(
        self, kind: int, at: float, *, peer: int = ANY, tag: int = ANY, request: int = _NONE
    ) -> None:
        where = self.where
        file, line = (where, 0) if isinstance(where, str) else (where.file, where.line)
        number = self.plans.files.setdefault(file, len(self.plans.files))
        row = _ROW.pack(kind, number, at + self.slept, line, peer, tag, request)
        self.plans.rows.add(self.rank, row)

    def _rows(self) -> Iterator[Sequence[Any]]:
        for part in self.plans.rows.parts(self.rank):
            for low in range(0, len(part), _STEPS):
                yield from part[low : low + _STEPS].tolist()
