"""The neutral form: a trace in JSON, an object for every call.

Format: as `parcast_traces.readers.neutral` reads it. A wait or a test has the requests that it
completed; a receive has the bytes that it had room for, where these are known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from parcast.errors import UnsupportedError
from parcast.files import write_lines
from parcast_traces.trace.calls import ALL, WAIT
from parcast_traces.trace.columns import NONE, Trace
from parcast_traces.trace.decoding import Called, decoded, received

#: Events made JSON at once.
_BLOCK = 1 << 12


def write(trace: Trace, path: Path) -> tuple[str, ...]:
    """Write a trace; nothing is lost.

    Raises
    ------
    UnsupportedError
        If the trace has no times.
    """
    if not trace.timed:
        raise UnsupportedError(f"{trace.where} has no times; time it on a machine first")
    write_lines(path, _lines(trace))
    return ()


def _lines(trace: Trace) -> Iterator[str]:
    names = [_name(label) for label in trace.labels]
    header: dict[str, Any] = {"nranks": trace.size}
    if trace.tick is not None:
        header["unit"] = "1 ns" if trace.tick == 1e-9 else f"{trace.tick!r} s"
    if trace.comparable:
        header["clocks"] = "comparable"
    header["comms"] = {
        label: members.tolist()
        for label, members in zip(trace.labels[1:], trace.communicators[1:], strict=True)
    }
    sizes = received(trace)
    yield f'{json.dumps(header)[:-1]}, "ranks": ['
    for rank in range(trace.size):
        events = (_event(call, names) for call in decoded(trace, rank, sizes))
        line = "["
        while block := list(islice(events, _BLOCK)):
            yield f"{line}{json.dumps(block)[1:-1]}"
            line = ","
        yield f"{'[' * (line == '[')}{']' if rank == trace.size - 1 else '],'}"
    yield "]}"


def _name(label: str) -> int | str:
    return int(label) if label.isdecimal() else label


def _event(call: Called, names: list[int | str]) -> dict[str, Any]:
    event: dict[str, Any] = {"kind": call.name, **_what(call, names)}
    site = call.site.removesuffix(f" in {call.region}") if call.region else call.site
    if site != call.name:
        event["site"] = site
    if call.region:
        event["region"] = call.region
    return {**event, "t_start": _number(call.start), "t_end": _number(call.end)}


def _what(call: Called, names: list[int | str]) -> dict[str, Any]:
    """Return what a call did, beside its name and times."""
    if call.kind == WAIT:
        return {"requests": list(call.completed)}
    request = {"request": call.request} if call.request != NONE else {}
    if call.name == "request_free":
        return request
    comm = {"comm": names[call.comm]}
    if call.kind >= ALL:
        root = {"root": call.root} if call.root != NONE else {}
        return {"bytes": _number(call.size), **comm, **root, **request}
    room = {"bytes": _number(call.room)} if math.isfinite(call.room) else {}
    if call.name == "sendrecv":
        sent = {"peer": call.to, "tag": call.tag, "bytes": _number(call.size)}
        rbytes = {f"r{name}": size for name, size in room.items()}
        return {**sent, "src": call.source, "rtag": call.source_tag, **rbytes, **comm}
    if call.to != NONE:
        return {"peer": call.to, "tag": call.tag, "bytes": _number(call.size), **comm, **request}
    if call.source != NONE:
        return {"peer": call.source, "tag": call.source_tag, **room, **comm, **request}
    return {}


def _number(value: float) -> float:
    """Return a whole number as such."""
    return int(value) if value.is_integer() else value
