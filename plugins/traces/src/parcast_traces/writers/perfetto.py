"""A picture to scroll: a run before and after a perturbation, as Perfetto and Chrome open it.

Format: the trace-event format of Chrome, JSON: complete events (``X``) with ``ts`` and ``dur`` in
us, a process for each run and a thread for each rank, messages as flows (``s`` to ``f``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from parcast.errors import UnsupportedError
from parcast.files import write_lines
from parcast_traces.trace.columns import BYTES, END, START, Floats, Trace
from parcast_traces.trace.decoding import Called, completions, decoded, pairs, received

#: Longer traces make files that no browser opens.
MOST_EVENTS = 1_000_000

_RUNS = ("before", "after")


def write(trace: Trace, delays: Floats, path: Path) -> None:
    """Write a run before and after a perturbation.

    Parameters
    ----------
    trace
        The run before.
    delays
        Of each event's end, in ticks.
    path
        The file, ending in ``.json``.

    Raises
    ------
    UnsupportedError
        If the trace has no times, or more events than a browser takes.
    """
    if not trace.timed:
        raise UnsupportedError(f"{trace.where} has no times to show; time it on a machine first")
    if trace.count > MOST_EVENTS:
        raise UnsupportedError(
            f"{trace.where} has {trace.count:,} events, and up to {MOST_EVENTS:,} can be shown"
        )
    write_lines(path, _lines(trace, delays))


def spans(trace: Trace, delays: Floats) -> tuple[Floats, Floats]:
    """Return when each call begins and ends after a perturbation, in ticks.

    A call begins as long after the end before it as it was recorded; what is added in between
    is shown as part of the call.
    """
    before = np.zeros(trace.count)
    before[1:] = delays[:-1]
    first = trace.events.offsets[:-1]
    before[first[first < trace.count]] = 0.0
    ends = trace.events.times[:, END] + delays
    return np.minimum(trace.events.times[:, START] + before, ends), ends


def _lines(trace: Trace, delays: Floats) -> Iterator[str]:
    scale = 1e6 * (trace.tick or 1e-6)
    yield '{"displayTimeUnit": "ns", "traceEvents": ['
    lines = (json.dumps(event, allow_nan=False) for event in _events(trace, delays, scale))
    last = next(lines, None)
    for line in lines:
        yield f"{last},"
        last = line
    if last is not None:
        yield last
    yield "]}"


def _events(trace: Trace, delays: Floats, scale: float) -> Iterator[dict[str, Any]]:
    got = received(trace)
    runs = ((trace.events.times[:, START], trace.events.times[:, END]), spans(trace, delays))
    origin = float(trace.events.times[:, START].min(initial=0.0)) if trace.count else 0.0
    for process, (name, (starts, ends)) in enumerate(zip(_RUNS, runs, strict=True), 1):
        yield _metadata("process_name", process, 0, name)
        for rank in range(trace.size):
            yield _metadata("thread_name", process, rank + 1, f"rank {rank}")
            for call in decoded(trace, rank, got):
                begin = (float(starts[call.row]) - origin) * scale
                yield {
                    "ph": "X", "name": call.name, "cat": call.site, "pid": process,
                    "tid": rank + 1, "ts": begin,
                    "dur": (float(ends[call.row]) - origin) * scale - begin,
                    "args": _arguments(call),
                }  # fmt: skip
        yield from _flows(trace, process, (starts - origin) * scale, (ends - origin) * scale)


def _metadata(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _arguments(call: Called) -> dict[str, Any]:
    arguments: dict[str, Any] = {"event": call.row}
    if call.to >= 0:
        arguments |= {"to": call.to, "tag": call.tag, "bytes": call.size}
    if call.source >= 0:
        arguments |= {"from": call.source, "received": call.got}
    if call.root >= 0:
        arguments["root"] = call.root
    return arguments


def _flows(trace: Trace, process: int, starts: Floats, ends: Floats) -> Iterator[dict[str, Any]]:
    """Yield an arrow for every message, from the start of its send to the end of its receive."""
    by_send, by_receive = pairs(trace)
    by_receive = completions(trace)[by_receive]
    ranks = trace.events.rank_of(by_send), trace.events.rank_of(by_receive)
    sizes = trace.events.times[by_send, BYTES]
    for number in range(len(by_send)):
        common = {"name": "message", "cat": "message", "id": f"{process}.{number}", "pid": process}
        for side, (word, rows, times) in enumerate(
            (("s", by_send, starts), ("f", by_receive, ends))
        ):
            end = {"bp": "e"} if word == "f" else {"args": {"bytes": float(sizes[number])}}
            yield {"ph": word, **common, "tid": int(ranks[side][number]) + 1,
                   "ts": float(times[rows[number]]), **end}  # fmt: skip
