"""A forecast in words and columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parcast_perturb.curve import Curve
from parcast_perturb.prediction import Forecast, spread, summed
from parcast_perturb.span import last_end, makespans
from parcast_traces.trace.columns import Floats, Trace

#: More ranks than these are shown by the least and the most delayed.
_RANKS = 16
_SITES = 8


def lines(found: Forecast) -> list[str]:
    """Return what a reader wants to know: the makespan, every rank, and where it went."""
    return [
        *_makespan(found),
        "",
        *_ranks(found),
        "",
        *_where(found),
        *_path(found),
        *_notes(found),
    ]


def sweep_json(found: Forecast, what: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the makespans of a sweep, in ticks."""
    return {
        "schema": 1,
        "trace": found.trace.where,
        "tick": found.trace.tick,
        "of": what,
        "added": list(values),
        "makespan": {policy: found.makespans(policy).tolist() for policy in found.delays},
        "mean_delay": found.delays[found.main].final.mean(axis=0).tolist(),
        "notes": list(found.notes),
    }


def sweep_lines(found: Forecast, what: str, values: Sequence[float]) -> list[str]:
    """Return a row for every step of a sweep."""
    heads = [what.replace("_", "-"), *found.delays, "mean delay"]
    rows = ["".join(f"{head:>16}" for head in heads)]
    columns = [found.makespans(policy) for policy in found.delays]
    columns.append(found.delays[found.main].final.mean(axis=0))
    for step, value in enumerate(values):
        cells = [value, *(float(column[step]) for column in columns)]
        rows.append("".join(f"{_time(found, cell):>16}" for cell in cells))
    return [*rows, *_notes(found)]


#: Shares of the makespan whose tolerance is told.
_SHARES = (0.01, 0.02, 0.05)


def curve_json(trace: Trace, found: Curve, policy: str) -> dict[str, Any]:
    """Return the pieces of the makespan over latency, in ticks."""
    return {
        "schema": 1,
        "trace": trace.where,
        "tick": trace.tick,
        "policy": policy,
        "corners": list(found.corners),
        "slopes": [piece.slope for piece in found.pieces],
        "tolerance": {f"{share:g}": found.tolerance(share) for share in _SHARES},
        "complete": found.complete,
    }


def curve_lines(trace: Trace, found: Curve, policy: str, notes: Sequence[str]) -> list[str]:
    """Return the tolerance to latency, and the pieces."""
    rows = [f"{trace.where}: makespan over added latency ({policy})"]
    for share in _SHARES:
        most = found.tolerance(share)
        said = "beyond what was looked at (--most)" if most is None else in_words(trace, most)
        rows.append(f"{share:.0%} longer at {said}")
    starts = (0.0, *found.corners)
    for start, piece in zip(starts, found.pieces, strict=True):
        rows.append(f"from {in_words(trace, start)} on: {piece.slope:,.0f} latencies on the path")
    if not found.complete:
        rows.append("there are more corners than are looked for")
    return [*rows, *(f"note: {note}" for note in notes)]


def _time(found: Forecast, ticks: float) -> str:
    return in_words(found.trace, ticks)


def in_words(trace: Trace, ticks: float) -> str:
    """Return a time in seconds, or in ticks where these have no unit."""
    tick = trace.tick
    if tick is None:
        return f"{ticks:.10g}"
    return f"{ticks * tick:.6g} s"


def _makespan(found: Forecast) -> Iterator[str]:
    trace = found.trace
    before = float(makespans(trace)[0])
    yield f"{trace.where}: {trace.size} ranks, {trace.count:,} events"
    yield f"before    {_time(found, before)}{_by_clocks(trace, before)}"
    for policy in found.delays:
        values = found.makespans(policy)
        said = spread(values)
        change = f", {said['mean'] / before - 1:+.2%}" if before > 0 else ""
        line = f"{policy:9} {_time(found, said['mean'])}{change}"
        if "ci" in said:
            low, high = (_time(found, one) for one in said["ci"])
            levels = ", ".join(_time(found, one) for one in said["quantiles"].values())
            line += f" (mean between {low} and {high}; 5 %, 50 %, 95 %: {levels})"
        yield line


def _by_clocks(trace: Trace, before: float) -> str:
    """Return where the last end is on the clocks, if that is not how long the run took."""
    last = last_end(trace)
    if last == before:
        return ""
    since = "the first call" if trace.comparable else "each rank's first call"
    return f" since {since}; the last end is at {in_words(trace, last)} on its clock"


def _ranks(found: Forecast) -> Iterator[str]:
    delay, before = found.delays[found.main].final, found.trace.ends
    many = delay.shape[1] > 1
    yield f"{'rank':>6}{'before':>16}{'after':>16}{'delay':>16}" + (
        "   5 % .. 95 %" if many else ""
    )
    mean = delay.mean(axis=1)
    order = range(found.trace.size)
    if found.trace.size > _RANKS:
        by_delay = sorted(order, key=lambda rank: (-mean[rank], rank))
        order = [*by_delay[: _RANKS // 2], *by_delay[-_RANKS // 2 :]]  # type: ignore[assignment]
    for rank in order:
        values = (before[rank], before[rank] + mean[rank], mean[rank])
        line = f"{rank:6}" + "".join(f"{_time(found, one):>16}" for one in values)
        yield line + (_band(found, delay[rank]) if many else "")
    if found.trace.size > _RANKS:
        yield f"   (the {_RANKS // 2} most and the {_RANKS // 2} least delayed ranks)"


def _band(found: Forecast, values: Floats) -> str:
    quantiles = spread(values)["quantiles"]
    return f"   {_time(found, quantiles['0.05'])} .. {_time(found, quantiles['0.95'])}"


def _where(found: Forecast) -> Iterator[str]:
    trace, moved = found.trace, found.delays[found.main].moved
    yield from _moved(found, "call", summed(trace.sites, moved))
    if trace.regions:
        yield ""
        yield from _moved(found, "region", summed(trace.regions, moved))


def _moved(found: Forecast, head: str, sums: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    yield f"{head:24}{'absorbed':>16}{'made':>16}   (sums over all ranks)"
    order = sorted(sums, key=lambda name: -sum(sums[name]))
    for name in order[:_SITES]:
        cells = "".join(f"{_time(found, one):>16}" for one in sums[name])
        yield f"{name[:23] or '(not told)':24}{cells}"


def _path(found: Forecast) -> Iterator[str]:
    path = found.path
    if path is None:
        return
    yield ""
    yield (
        f"the last end, of rank {path.rank}, has {path.messages:,} latencies, "
        f"{sum(path.calls.values()):,} calls, {sum(path.gaps.values()):,} gaps and "
        f"{_whole(path.bytes)} bytes on its path, which changes rank {path.hops:,} times"
    )
    heads = ("events", "latencies", "bytes", "calls", "gaps")
    yield f"{'of these':24}" + "".join(f"{head:>12}" for head in heads)
    order = sorted(path.sites.items(), key=lambda one: (-one[1].get("events", 0), one[0]))
    for site, counts in order[:_SITES]:
        cells = "".join(f"{_whole(counts.get(head, 0)):>12}" for head in heads)
        yield f"{site[:23]:24}{cells}"


def _whole(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "unknown"


def _notes(found: Forecast) -> Iterator[str]:
    if found.notes:
        yield ""
    for note in found.notes:
        yield f"note: {note}"
