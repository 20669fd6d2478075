"""The neutral format: a trace in JSON, an object for every event.

::

    {"nranks": 2, "unit": "1 ns", "ranks": [
        [{"kind": "send", "peer": 1, "bytes": 8, "t_start": 0, "t_end": 10}],
        [{"kind": "recv", "peer": 0, "bytes": 8, "t_start": 5, "t_end": 70}]]}

Any event may say its ``site`` and the ``region`` of the code that it is in.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, ParcastError, did_you_mean, shorten
from parcast_traces.errors import TraceError
from parcast_traces.trace.calls import ACCESS, ALL, CALLS, ONE_SIDED, RECV, ROOTED, WAIT
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.one_sided import Window, Windows
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording

#: A text file beyond this is another thing given by mistake.
MOST_BYTES = 512 << 20

#: The largest number that a float holds; an integer may be beyond.
LARGEST = sys.float_info.max

_KNOWN: Mapping[str, int] = {**CALLS, **ONE_SIDED}
_TOP = {"nranks", "ranks", "comms", "unit", "clocks"}


def read(path: Path) -> Trace:
    """Return the trace in a JSON file; an object with a ``trace`` in it is one too.

    Raises
    ------
    FileError
        If the file cannot be read, or is no trace.
    TraceError
        If no run can have left the trace.
    """
    data = load(path)
    if isinstance(data, dict) and isinstance(data.get("trace"), dict):
        data = data["trace"]
    return trace_of(data, str(path))


def load(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises
    ------
    FileError
        If it cannot be read, is too large or is no JSON.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FileError(
                f"{path} has {path.stat().st_size >> 20:,} MiB; a trace in JSON has up to "
                f"{MOST_BYTES >> 20}. Give a trace this long in OTF2 or as columns"
            )
        return json.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    except RecursionError:
        raise FileError(f"{path}: its lists and objects are nested too deeply") from None
    except ValueError as error:
        raise FileError(f"{path} is no JSON: {shorten(error)}") from None


def trace_of(data: Any, where: str) -> Trace:
    """Return the trace in an object, as `read` does; ``where`` names it in errors."""
    if not isinstance(data, dict) or not isinstance(data.get("ranks"), list):
        raise FileError(f"{where}: a trace is an object with a list of events for each rank, "
                        "called ranks")  # fmt: skip
    if wrong := next(iter(data.keys() - _TOP), None):
        raise FileError(f"{where}: a trace has no {wrong!r}.{did_you_mean(wrong, _TOP)}")
    ranks = data["ranks"]
    size = data.get("nranks", len(ranks))
    if size != len(ranks):
        raise TraceError("rank_count", f"nranks is {shorten(size)}, and there are events of "
                         f"{len(ranks)} ranks; is a rank's file missing?", where)  # fmt: skip
    recording = Recording(size, where)
    comms = data.get("comms", {})
    if not isinstance(comms, dict):
        raise FileError(f"{where}: comms is an object from a communicator's name to its ranks")
    for name, members in comms.items():
        if not (isinstance(members, list) and all(type(rank) is int for rank in members)):
            raise FileError(f"{where}: communicator {name} must be a list of ranks")
        recording.communicator(_name(name), members)
    windows = Windows()
    for recorder, events in zip(recording.ranks, ranks, strict=True):
        if not isinstance(events, list):
            raise FileError(f"{where}: rank {recorder.rank} must be a list of events")
        for event in events:
            _record(recorder, event, where, windows)
    windows.check_locks()
    return recording.trace(tick=_tick(data, where), comparable=data.get("clocks") == "comparable")


def _tick(data: Mapping[str, Any], where: str) -> float | None:
    from parcast.quantities import to_base

    if "unit" not in data:
        return None
    try:
        tick = float(to_base(data["unit"], "s"))
    except ParcastError as error:
        raise FileError(f"{where}: unit: {error}") from None
    if tick <= 0:
        raise FileError(f"{where}: unit must be above 0 s, not {data['unit']}")
    return tick


def _name(name: object) -> object:
    """Return a communicator's name; keys of JSON objects are texts."""
    return int(name) if isinstance(name, str) and name.isdecimal() else name


class _Event:
    """The fields of one event, taken one after the other."""

    def __init__(self, recorder: RankRecorder, data: Any, where: str) -> None:
        self.place = f"{where}: {recorder.place}"
        if not isinstance(data, dict):
            raise FileError(f"{self.place} must be an object, not {shorten(data)}")
        self.data = dict(data)
        self.kind = str(self.data.pop("kind", None)).lower().removeprefix("mpi_")
        if self.kind not in _KNOWN:
            raise FileError(f"{self.place}: kind {shorten(self.kind)!r} is not modeled."
                            f"{did_you_mean(self.kind, _KNOWN)}")  # fmt: skip
        self.start, self.end = (self.number(name) for name in ("t_start", "t_end"))
        self.site, recorder.region = self.text("site"), self.text("region") or ""

    def text(self, name: str) -> str | None:
        value = self.data.pop(name, None)
        if not isinstance(value, str | None):
            raise FileError(f"{self.place} ({self.kind}): {name} must be a text")
        return value

    def number(self, name: str, default: float | None = None, *, least: float = -math.inf) -> float:
        value: Any = self.data.pop(name, default)
        if type(value) not in (int, float) or not -LARGEST <= value <= LARGEST or value < least:
            if value is default and default is not None:
                return float(default)
            bound = f" of {least:g} or more" if math.isfinite(least) else ""
            raise FileError(f"{self.place} ({self.kind}): {name} must be a number{bound}, "
                            f"not {shorten(value)}")  # fmt: skip
        return float(value)

    def whole(self, name: str, default: int | None = None) -> int:
        value = self.number(name, default)
        if value != int(value):
            raise FileError(f"{self.place} ({self.kind}): {name} must be a whole number, "
                            f"not {value}")  # fmt: skip
        return int(value)

    def request(self) -> Any:
        value = self.data.pop("request", None)
        if type(value) not in (int, str):
            raise FileError(f"{self.place} ({self.kind}): request must be a name or a number")
        return value

    def handle(self, field: str) -> object:
        """Return a communicator or a window."""
        value = self.data.pop(field, 0)
        if type(value) not in (int, str):
            raise FileError(f"{self.place} ({self.kind}): {field} must be a name or a number")
        return _name(value)

    def requests(self) -> list[Any]:
        """Return the requests that a wait or a test completed."""
        single = "request" in self.data
        requests = [self.request()] if single else self.data.pop("requests", [])
        completed = self.data.pop("completed", None)
        flag = self.data.pop("flag", True)
        finished = (requests if completed is None else completed) if flag else []
        if not isinstance(finished, list) or any(
            type(request) not in (int, str) for request in finished
        ):
            raise FileError(f"{self.place} ({self.kind}): requests must be a list of names")
        return finished

    def group(self) -> list[int]:
        ranks = self.data.pop("group", None)
        if not isinstance(ranks, list) or any(type(rank) is not int for rank in ranks):
            raise FileError(f"{self.place} ({self.kind}): group must be a list of ranks")
        return ranks

    def finish(self) -> None:
        if self.data:
            raise FileError(f"{self.place} ({self.kind}): it has no {next(iter(self.data))!r}")


def _record(recorder: RankRecorder, data: Any, where: str, windows: Windows) -> None:
    event = _Event(recorder, data, where)
    kind, start, end, site = event.kind, event.start, event.end, event.site
    comm = event.handle("comm")
    behavior = _KNOWN[kind]
    if kind in ONE_SIDED:
        _one_sided(event, windows.of(recorder, event.handle("win"), comm))
    elif kind == "request_free":
        recorder.free(start, end, event.request())
    elif behavior == 0:
        recorder.local(kind, start, end, site)
    elif behavior == WAIT:
        recorder.wait(kind, start, end, event.requests(), site)
    elif behavior >= ALL:
        nonblocking = kind.startswith("i")
        recorder.collective(
            kind, start, end, event.number("bytes", 0, least=0), comm,
            event.whole("root", 0) if kind in ROOTED else None,
            event.request() if nonblocking else None, site,
        )  # fmt: skip
    elif kind == "sendrecv":
        size, tag = event.number("bytes", least=0), event.whole("tag", 0)
        recorder.exchange(
            start, end, event.whole("peer"), size, tag, event.whole("src"),
            event.whole("rtag", tag), comm, event.number("rbytes", math.inf, least=0), site,
        )  # fmt: skip
    elif behavior < RECV:
        request = event.request() if kind.startswith("i") else None
        recorder.send(kind, start, end, event.whole("peer"), event.number("bytes", least=0),
                      event.whole("tag", 0), comm, request, site)  # fmt: skip
    else:
        request = event.request() if kind == "irecv" else None
        recorder.receive(kind, start, end, event.whole("peer"), event.whole("tag", 0), comm,
                         event.number("bytes", math.inf, least=0), request, site)  # fmt: skip
    event.finish()


def _one_sided(event: _Event, window: Window) -> None:
    kind, start, end = event.kind, event.start, event.end
    if _KNOWN[kind] == ACCESS:
        window.access(kind, start, end, event.whole("peer"), event.number("bytes", least=0))
    elif _KNOWN[kind] == ALL:
        window.together(kind, start, end)
    elif kind == "win_post":
        window.expose(start, end, event.group())
    elif kind == "win_start":
        window.begin(start, end, event.group())
    elif kind == "win_complete":
        window.complete(start, end)
    elif kind == "win_wait" or (kind == "win_test" and event.data.pop("flag", True)):
        window.wait(kind, start, end)
    elif kind.startswith("win_lock"):
        target = event.whole("peer") if kind == "win_lock" else None
        exclusive = event.data.pop("exclusive", False) is True
        window.lock(kind, start, end, target, exclusive=exclusive)
    elif kind in ("win_sync", "win_test"):
        window.recorder.local("win_sync", start, end)
    else:
        window.flush(kind, start, end, None if kind.endswith("_all") else event.whole("peer"))
