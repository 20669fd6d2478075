"""Traces in neutral JSON: an object for every call of every rank, as message graphs are read from.

::

    {"nranks": 2, "unit": "1 ns", "clocks": "comparable", "comms": {"5": [0, 1]}, "ranks": [
        [{"kind": "send", "peer": 1, "tag": 0, "bytes": 8, "comm": 0, "t_start": 0, "t_end": 10}],
        [{"kind": "recv", "peer": 0, "tag": 0, "bytes": 8, "comm": 0, "t_start": 5, "t_end": 70}]]}

Times are in ns from the earliest call. A nonblocking receive has the source, tag and bytes that it
got in the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parcast_mpi.tracing.reading import RankTrace, Trace
from parcast_mpi.tracing.records import CALLS, CODES, NONE

_SENDS = frozenset({"send", "bsend", "ssend", "rsend", "isend", "ibsend", "issend", "irsend"})
_PLAIN = frozenset({"init", "finalize", "call", "iprobe"})
_WAITS = frozenset(
    f"{word}{which}" for word in ("wait", "test") for which in ("", "all", "any", "some")
)
_ROOTED = frozenset({"bcast", "reduce", "gather", "gatherv", "scatter", "scatterv"})
_NAMES = {"mprobe": "probe", "improbe": "iprobe"}


def neutral(trace: Trace) -> dict[str, Any]:
    """Return a trace as JSON values."""
    whole: dict[str, Any] = {"nranks": len(trace.ranks), "unit": "1 ns"}
    if trace.comparable:
        whole["clocks"] = "comparable"
    comms = {str(k): list(v) for k, v in sorted(trace.communicators.items()) if k}
    ranks = [
        [
            {**event, "t_start": start - shift, "t_end": end - shift}
            for event, start, end in events(one)
        ]
        for one, shift in zip(trace.ranks, trace.shifts, strict=True)
    ]
    return {**whole, "comms": comms, "ranks": ranks}


def events(one: RankTrace) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Yield every call of a rank with its start and end on the clock."""
    rows = one.records
    got = {int(row["request"]): row for row in rows[rows["done"] > 0]}
    void = _void(rows, got)
    for row, requests in one.calls():
        yield _event(row, requests, got, void), int(row["start"]), int(row["end"])


def _void(rows: Any, got: dict[int, Any]) -> set[int]:
    """Return the requests behind which there is no message: cancelled, or of no peer."""
    codes = [CODES[name] for name in (*_SENDS, "irecv")]
    made = rows[(rows["request"] > 0) & np.isin(rows["call"], codes)]
    nobody = {
        int(row["request"]) for row in made[made["peer"] == NONE]
        if int(row["request"]) not in got or got[int(row["request"])]["peer"] == NONE
    }  # fmt: skip
    return nobody | {number for number, row in got.items() if row["done"] == 2}


def _event(row: Any, requests: Any, got: dict[int, Any], void: set[int]) -> dict[str, Any]:
    name = CALLS[int(row["call"]) - 1]
    kind, request = _NAMES.get(name, name), int(row["request"])
    if kind in _PLAIN or request in void:
        return {"kind": kind if kind in _PLAIN else "call"}
    if kind in _WAITS:
        given, done = (
            [number for number in numbers.tolist() if number not in void]
            for numbers in (requests["request"], requests["request"][requests["done"] == 1])
        )
        return {"kind": kind, "requests": given, **({} if done == given else {"completed": done})}
    if kind == "request_free":
        return {"kind": kind, "request": request}
    asked = {"request": request} if request else {}
    if kind in _SENDS or kind in {"recv", "probe", "irecv"}:
        source = got.get(request, row) if kind == "irecv" else row
        if int(source["peer"]) == NONE:
            return {"kind": "call"}
        return {"kind": kind, **_message(source), "comm": int(row["comm"]), **asked}
    if kind == "sendrecv":
        return _exchange(row)
    rooted = {"root": int(row["peer"])} if kind.removeprefix("i") in _ROOTED else {}
    return {"kind": kind, "bytes": int(row["bytes"]), "comm": int(row["comm"]), **rooted, **asked}


def _message(row: Any) -> dict[str, Any]:
    return {"peer": int(row["peer"]), "tag": int(row["tag"]), "bytes": int(row["bytes"])}


def _exchange(row: Any) -> dict[str, Any]:
    """Return a sendrecv; one without destination or source is a receive or a send alone."""
    comm = {"comm": int(row["comm"])}
    into = {"tag": int(row["source_tag"]), "bytes": int(row["received"])}
    if row["peer"] == NONE:
        if row["source"] == NONE:
            return {"kind": "call"}
        return {"kind": "recv", "peer": int(row["source"]), **into, **comm}
    if row["source"] == NONE:
        return {"kind": "send", **_message(row), **comm}
    more = {"src": int(row["source"]), "rtag": into["tag"], "rbytes": into["bytes"]}
    return {"kind": "sendrecv", **_message(row), **more, **comm}
