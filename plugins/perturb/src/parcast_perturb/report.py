"""Answers as people and programs read them: lines of text, and objects for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from parcast_perturb.curve import Curve
from parcast_perturb.forecast import Forecast, spread
from parcast_perturb.span import last_end, makespans
from parcast_traces.trace.columns import Floats, Trace

#: More ranks than these are shown by the least and the most delayed.
_RANKS = 16
_SITES = 8


def forecast_lines(forecast: Forecast) -> list[str]:
    """Return what a reader wants to know: the makespan, every rank, and where it went."""
    return [
        *_makespan_lines(forecast),
        "",
        *_rank_lines(forecast),
        "",
        *_where_lines(forecast),
        *_path_lines(forecast),
        *_note_lines(forecast),
    ]


def forecast_json(forecast: Forecast) -> dict[str, Any]:
    """Return everything as an object; times are in ticks of ``tick`` seconds."""
    trace, main = forecast.trace, forecast.delays[forecast.main]
    changes = main.changes
    names = {"upper": "clockfree_final", "lower": "lower_final", "clocked": "clocked_final"}
    if "equation-2" in forecast.delays:
        names["equation-2"] = "equation_2_final"
    finals = {
        names[policy]: forecast.ends(policy).mean(axis=1).tolist() for policy in forecast.delays
    }
    return {
        "schema": 1,
        "trace": trace.where,
        "ranks": trace.size,
        "events": trace.count,
        "tick": trace.tick,
        "policy": forecast.main,
        **{name: finals.get(name) for name in names.values()},
        "before": trace.ends.tolist(),
        "delay": main.final.mean(axis=1).tolist(),
        "makespan": {
            "before": float(makespans(trace)[0]),
            **{policy: spread(forecast.makespans(policy)) for policy in forecast.delays},
        },
        "last_end": {
            "before": last_end(trace),
            **{
                policy: spread(forecast.ends(policy).max(axis=0, initial=0.0))
                for policy in forecast.delays
            },
        },
        "where": {
            "sites": _where_json(trace.sites, changes),
            "regions": _where_json(trace.regions, changes),
            "ranks": _where_json(range(trace.size), changes[len(trace.sites) :]),
        },
        "path": attrs.asdict(forecast.path) if forecast.path else None,
        "steps": forecast.steps,
        "replications": main.final.shape[1],
        "notes": list(forecast.notes),
    }


def sweep_json(forecast: Forecast, target: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the makespans of a sweep, in ticks."""
    return {
        "schema": 1,
        "trace": forecast.trace.where,
        "tick": forecast.trace.tick,
        "of": target,
        "added": list(values),
        "makespan": {policy: forecast.makespans(policy).tolist() for policy in forecast.delays},
        "mean_delay": forecast.delays[forecast.main].final.mean(axis=0).tolist(),
        "notes": list(forecast.notes),
    }


def sweep_lines(forecast: Forecast, target: str, values: Sequence[float]) -> list[str]:
    """Return a row for every step of a sweep."""
    heads = [target.replace("_", "-"), *forecast.delays, "mean delay"]
    rows = ["".join(f"{head:>16}" for head in heads)]
    columns = [forecast.makespans(policy) for policy in forecast.delays]
    columns.append(forecast.delays[forecast.main].final.mean(axis=0))
    for step, value in enumerate(values):
        cells = [value, *(float(column[step]) for column in columns)]
        rows.append("".join(f"{_time(forecast, cell):>16}" for cell in cells))
    return [*rows, *_note_lines(forecast)]


#: Shares of the makespan whose tolerance is shown.
_SHARES = (0.01, 0.02, 0.05)


def curve_json(trace: Trace, curve: Curve, policy: str) -> dict[str, Any]:
    """Return the pieces of the makespan over latency, in ticks."""
    return {
        "schema": 1,
        "trace": trace.where,
        "tick": trace.tick,
        "policy": policy,
        "corners": list(curve.corners),
        "slopes": [piece.slope for piece in curve.pieces],
        "tolerance": {f"{share:g}": curve.tolerance(share) for share in _SHARES},
        "complete": curve.complete,
    }


def curve_lines(trace: Trace, curve: Curve, policy: str, notes: Sequence[str]) -> list[str]:
    """Return the tolerance to latency, and the pieces."""
    rows = [f"{trace.where}: makespan over added latency ({policy})"]
    for share in _SHARES:
        latency = curve.tolerance(share)
        limit = (
            "beyond what was looked at (--most)" if latency is None else in_words(trace, latency)
        )
        rows.append(f"{share:.0%} longer at {limit}")
    starts = (0.0, *curve.corners)
    for start, piece in zip(starts, curve.pieces, strict=True):
        rows.append(f"from {in_words(trace, start)} on: {piece.slope:,.0f} latencies on the path")
    if not curve.complete:
        rows.append("there are more corners than are computed")
    return [*rows, *(f"note: {note}" for note in notes)]


def _time(forecast: Forecast, ticks: float) -> str:
    return in_words(forecast.trace, ticks)


def in_words(trace: Trace, ticks: float) -> str:
    """Return a time in seconds, or in ticks where these have no unit."""
    tick = trace.tick
    if tick is None:
        return f"{ticks:.10g}"
    return f"{ticks * tick:.6g} s"


def _makespan_lines(forecast: Forecast) -> Iterator[str]:
    trace = forecast.trace
    before = float(makespans(trace)[0])
    yield f"{trace.where}: {trace.size} ranks, {trace.count:,} events"
    yield f"before    {_time(forecast, before)}{_by_clocks(trace, before)}"
    for policy in forecast.delays:
        values = forecast.makespans(policy)
        estimate = spread(values)
        change = f", {estimate['mean'] / before - 1:+.2%}" if before > 0 else ""
        line = f"{policy:9} {_time(forecast, estimate['mean'])}{change}"
        if "ci" in estimate:
            low, high = (_time(forecast, ticks) for ticks in estimate["ci"])
            levels = ", ".join(_time(forecast, ticks) for ticks in estimate["quantiles"].values())
            line += f" (mean between {low} and {high}; 5 %, 50 %, 95 %: {levels})"
        yield line
    if forecast.steps:
        means = {policy: spread(forecast.makespans(policy))["mean"] for policy in forecast.delays}
        each = ", ".join(
            f"{name} {_time(forecast, ticks / forecast.steps)}"
            for name, ticks in {"before": before, **means}.items()
        )
        yield f"each of {forecast.steps} steps: {each}"


def _by_clocks(trace: Trace, before: float) -> str:
    """Return where the last end is on the clocks, if that is not how long the run took."""
    last = last_end(trace)
    if last == before:
        return ""
    since = "the first call" if trace.comparable else "each rank's first call"
    return f" since {since}; the last end is at {in_words(trace, last)} on its clock"


def _rank_lines(forecast: Forecast) -> Iterator[str]:
    delay, before = forecast.delays[forecast.main].final, forecast.trace.ends
    replicated = delay.shape[1] > 1
    yield f"{'rank':>6}{'before':>16}{'after':>16}{'delay':>16}" + (
        "   5 % .. 95 %" if replicated else ""
    )
    mean = delay.mean(axis=1)
    order = range(forecast.trace.size)
    if forecast.trace.size > _RANKS:
        by_delay = sorted(order, key=lambda rank: (-mean[rank], rank))
        order = [*by_delay[: _RANKS // 2], *by_delay[-_RANKS // 2 :]]  # type: ignore[assignment]
    for rank in order:
        values = (before[rank], before[rank] + mean[rank], mean[rank])
        line = f"{rank:6}" + "".join(f"{_time(forecast, ticks):>16}" for ticks in values)
        yield line + (_band(forecast, delay[rank]) if replicated else "")
    if forecast.trace.size > _RANKS:
        yield f"   (the {_RANKS // 2} most and the {_RANKS // 2} least delayed ranks)"


def _band(forecast: Forecast, values: Floats) -> str:
    quantiles = spread(values)["quantiles"]
    return f"   {_time(forecast, quantiles['0.05'])} .. {_time(forecast, quantiles['0.95'])}"


def _where_lines(forecast: Forecast) -> Iterator[str]:
    trace, changes = forecast.trace, forecast.delays[forecast.main].changes
    yield from _change_lines(forecast, "call", summed(trace.sites, changes))
    if trace.regions:
        yield ""
        yield from _change_lines(forecast, "region", summed(trace.regions, changes))


def _change_lines(
    forecast: Forecast, head: str, sums: Mapping[str, tuple[float, float]]
) -> Iterator[str]:
    yield f"{head:24}{'absorbed':>16}{'made':>16}   (sums over all ranks)"
    order = sorted(sums, key=lambda name: -sum(sums[name]))
    for name in order[:_SITES]:
        cells = "".join(f"{_time(forecast, ticks):>16}" for ticks in sums[name])
        yield f"{name[:23] or '(not recorded)':24}{cells}"


def _path_lines(forecast: Forecast) -> Iterator[str]:
    path = forecast.path
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
    order = sorted(path.sites.items(), key=lambda item: (-item[1].get("events", 0), item[0]))
    for site, counts in order[:_SITES]:
        cells = "".join(f"{_whole(counts.get(head, 0)):>12}" for head in heads)
        yield f"{site[:23]:24}{cells}"


def _whole(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "unknown"


def _note_lines(forecast: Forecast) -> Iterator[str]:
    if forecast.notes:
        yield ""
    for note in forecast.notes:
        yield f"note: {note}"


def summed(names: Iterable[object], changes: Floats) -> dict[str, tuple[float, float]]:
    """Return what was absorbed and what was made by each name, of those with either.

    Parameters
    ----------
    names
        Of the first rows; rows of one name are added up.
    changes
        Of `Delays`, or a part of it.
    """
    sums: dict[str, tuple[float, float]] = {}
    for name, (absorbed, created) in zip(map(str, names), changes.tolist(), strict=False):
        if absorbed or created:
            before = sums.get(name, (0.0, 0.0))
            sums[name] = before[0] + absorbed, before[1] + created
    return sums


def _where_json(names: Iterable[object], changes: Floats) -> dict[str, dict[str, float]]:
    sums = summed(names, changes)
    return {
        name: {"absorbed": absorbed, "made": created} for name, (absorbed, created) in sums.items()
    }
