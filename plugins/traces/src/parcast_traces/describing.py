"""What ``parcast show`` says of a recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parcast_traces.trace.calls import ALL, CODES, NAMES, PROBE
from parcast_traces.trace.columns import BYTES, END, KIND, NAME, NONE, OUT, START, Trace

_ENDS = tuple(CODES[name] for name in ("init", "finalize"))


def described(trace: Trace) -> Mapping[str, Any]:
    """Return the facts of a trace by name: its format and tool, and what is in it.

    Of traces that are mapped, which may be larger than memory, events are not looked at.
    """
    facts: dict[str, Any] = {**trace.about, "ranks": trace.size}
    if trace.mapped is None:
        facts |= _span(trace) | _events(trace)
    else:
        facts["events"] = f"{trace.count:,}"
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
    inside = float((times[:, END] - times[:, START]).sum()) * trace.tick
    facts = {"span": f"{spans.max(initial=0):.9g} s"}
    if spans.sum() > 0:
        facts["inside calls"] = f"{inside:.6g} s of all ranks together ({inside / spans.sum():.1%})"
    return facts


def _events(trace: Trace) -> dict[str, Any]:
    """Return how many events there are of each call, and what they move."""
    whole, moved = trace.events.whole, trace.events.times[:, BYTES]
    counts = np.bincount(whole[:, NAME], minlength=len(NAMES))
    facts: dict[str, Any] = {
        "events": {NAMES[code]: f"{counts[code]:,}" for code in np.flatnonzero(counts).tolist()}
    }
    two = (whole[:, KIND] < ALL) & (whole[:, KIND] != PROBE) & (whole[:, OUT] != NONE)
    together = whole[:, KIND] >= ALL
    for name, rows in (("messages", two), ("collectives", together)):
        if rows.any():
            facts[name] = f"{rows.sum():,} calls, {moved[rows].sum():,.0f} bytes"
    if len(trace.communicators) > 1:
        facts["communicators"] = len(trace.communicators)
    if not counts.sum() - counts[list(_ENDS)].sum():
        facts["calls"] = "none: all time is computation"
    return facts
