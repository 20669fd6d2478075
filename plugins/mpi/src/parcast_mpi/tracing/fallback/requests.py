"""Requests of mpi4py that are recorded when they are completed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from parcast_mpi.tracing.fallback.recorder import Recorder, now

#: mpi4py's classes, before those below take their names.
_OWN, _OWN_PERSISTENT = MPI.Request, MPI.Prequest


class RequestOrigin:
    """What a request was made by: its number while it is open, and of a receive its members."""

    recorder: Recorder

    def __init__(self, number: int, comm: int, members: Sequence[int] | None) -> None:
        self.number, self.comm, self.members = number, comm, members

    def row(self, status: MPI.Status | None) -> dict[str, int]:
        """Return the fields of its record; without a status it is not done yet."""
        row = {"request": self.number, "comm": self.comm}
        if status is None:
            return row
        self.number = 0
        if status.Is_cancelled():
            return {**row, "done": 2}
        return {**row, "done": 1, **received(status, self.members)}


def received(status: MPI.Status, members: Sequence[int] | None) -> dict[str, int]:
    """Return source, tag and bytes of a message; nothing where none was received."""
    if members is None or status.Get_source() < 0:
        return {}
    count = status.Get_elements(MPI.BYTE)
    return {"peer": members[status.Get_source()], "tag": status.Get_tag(), "amount": max(count, 0)}


def _completing_one(name: str, kind: str) -> Any:
    """Return a method that completes one request."""
    test = kind == "test"

    def method(self: Request, status: MPI.Status | None = None) -> Any:
        status = MPI.Status() if status is None else status
        start = now()
        result = getattr(_OWN, name)(self, status)
        if not test or (result[0] if isinstance(result, tuple) else result):
            complete(kind, start, [self], {0: status})
        return result

    return method


def _completing_several(name: str, kind: str) -> Any:
    """Return a class method that completes requests of a list."""

    def method(requests: Sequence[Request], statuses: Any = None) -> Any:
        single = kind.endswith("any")
        if statuses is None:
            statuses = MPI.Status() if single else [MPI.Status() for _ in requests]
        start = now()
        result = getattr(_OWN, name)(requests, statuses)
        completed = _completed_indices(name, kind, result, len(requests))
        if completed or kind.startswith("wait"):
            listed = [statuses] if single else statuses
            complete(kind, start, requests, dict(zip(completed, listed, strict=False)))
        return result

    return staticmethod(method)


def _completed_indices(name: str, kind: str, result: Any, count: int) -> list[int]:
    """Return the indices of the requests that are done, from what mpi4py's call returned."""
    if kind == "waitall":
        return list(range(count))
    if kind == "testall":
        return list(range(count)) if (result[0] if name.islower() else result) else []
    first = result[0] if isinstance(result, tuple) else result
    if kind.endswith("some"):
        return [] if first is None else list(first)
    return [] if first == MPI.UNDEFINED else [first]


def complete(
    kind: str, start: int, requests: Sequence[Any], completed: dict[int, MPI.Status]
) -> None:
    """Record a call that was given requests, of which some are done now."""
    rows = [
        origin.row(completed.get(index))
        for index, request in enumerate(requests)
        if (origin := getattr(request, "origin", None)) is not None and origin.number
    ]
    RequestOrigin.recorder.completion(kind, start, rows)


class Request(MPI.Request):
    """A request that knows its number."""

    origin: RequestOrigin | None = None


class Prequest(MPI.Prequest):
    """A persistent request: recorded each time that it is started."""

    origin: RequestOrigin | None = None
    begin: Any = None

    def Start(self) -> None:  # noqa: N802  (MPI's name)
        """Start it."""
        start = now()
        super().Start()
        self.begin(start)

    @classmethod
    def Startall(cls, requests: Any) -> None:  # noqa: N802
        """Start all."""
        start = now()
        _OWN_PERSISTENT.Startall(requests)
        for request in requests:
            request.begin(start)
            start = now()


def _free(self: Any) -> None:
    start, origin = now(), self.origin
    _OWN.Free(self)
    if origin is not None and origin.number:
        RequestOrigin.recorder.record("request_free", start, request=origin.number)


for _class in (Request, Prequest):
    for _name in ("Wait", "wait", "Test", "test"):
        setattr(_class, _name, _completing_one(_name, _name.lower()))
    for _name in ("all", "any", "some"):
        for _word in ("Wait", "Test", "wait", "test"):
            setattr(
                _class, _word + _name, _completing_several(_word + _name, _word.lower() + _name)
            )
    _class.Free = _free  # type: ignore[method-assign]
