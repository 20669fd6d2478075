"""What ``parcast show`` says of a recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parcast_traces.trace.calls import ALL, CODES, NAMES, PROBE
from parcast_traces.trace.columns import BYTES, END, KIND, NAME, NONE, OUT, START, Trace

_ENDS = tuple(CODES[name] for name in ("init", "finalize"))


def described(trace: Trace) -> Mapping[str, Any]:
    """Return the facts of a trace by name: its format and tool, and what is in it."""
    facts: dict[str, Any] = {**trace.about, "ranks": trace.size}
    facts |= _span(trace) | _events(trace)
    if trace.notes:
        facts["notes"] = {str(number): note for number, note in enumerate(trace.notes, 1)}
    return facts


def _span(trace: Trace) -> dict[str, Any]:
    """Return how long the run took, and how much of it ranks were inside calls."""
    if not trace.timed:
        work = float(trace.ends.sum()) * (trace.tick or 1.0)
        of = "operations" if trace.tick is None else "s"
        return {"span": "no times, but work and messages", "work": f"{work:.9g} {of} of all ranks"}
    if trace.tick is None:
        return {"span": "times without a unit"}
    spans = (trace.ends - trace.begins) * trace.tick
    times = trace.events.times
    inside = (
        sum(float((times[part, END] - times[part, START]).sum()) for part in trace.parts())
        * trace.tick
    )
    facts = {"span": f"{spans.max(initial=0):.9g} s"}
    if spans.sum() > 0:
        facts["inside calls"] = f"{inside:.6g} s of all ranks together ({inside / spans.sum():.1%})"
    return facts


def _events(trace: Trace) -> dict[str, Any]:
    """Return how many events there are of each call, and what they move."""
    counts = np.zeros(len(NAMES), np.int64)
    calls, moved = dict[str, int](), dict[str, float]()
    for part in trace.parts():
        whole, amounts = np.array(trace.events.whole[part]), trace.events.times[part, BYTES]
        counts += np.bincount(whole[:, NAME], minlength=len(NAMES))
        two = (whole[:, KIND] < ALL) & (whole[:, KIND] != PROBE) & (whole[:, OUT] != NONE)
        for name, rows in (("messages", two), ("collectives", whole[:, KIND] >= ALL)):
            calls[name] = calls.get(name, 0) + int(rows.sum())
            moved[name] = moved.get(name, 0.0) + float(amounts[rows].sum())
    facts: dict[str, Any] = {
        "events": {NAMES[code]: f"{counts[code]:,}" for code in np.flatnonzero(counts).tolist()}
    }
    for name, number in calls.items():
        if number:
            facts[name] = f"{number:,} calls, {moved[name]:,.0f} bytes"
    if len(trace.communicators) > 1:
        facts["communicators"] = len(trace.communicators)
    if not counts.sum() - counts[list(_ENDS)].sum():
        facts["calls"] = "none: all time is computation"
    return facts
