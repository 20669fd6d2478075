"""What a surface says, once for each combination of settings: as data and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from parcast import Results, Row, Status
from parcast.quantities import format_seconds
from parcast_spmd.surface.advice import (
    Budget,
    Limits,
    answered,
    enough_disks,
    fastest,
    fastest_within,
    limits,
)
from parcast_spmd.surface.picture import bottleneck_map, sample, speedup_table
from parcast_spmd.tables import aligned


@attrs.frozen
class Advice:
    """What one combination of settings says to a buyer."""

    chosen: Mapping[str, Any] = attrs.field(hash=False)  #: the settings varied over
    rows: Sequence[Row]
    best: Row | None
    within: Row | None
    spent: float
    limits: Sequence[Limits]
    disks: Mapping[int, int] = attrs.field(hash=False)

    def to_data(self, budget: Budget | None) -> dict[str, Any]:
        """Return the advice as JSON-ready data."""
        data: dict[str, Any] = {
            "params": dict(self.chosen),
            "fastest": _point(self.best),
            "processors": [attrs.asdict(one) for one in self.limits],
            "enough_disks": {str(p): d for p, d in self.disks.items()},
        }
        if budget is not None:
            data["budget"] = {
                "most": budget.text,
                "spent": self.spent,
                "fastest": _point(self.within),
            }
        return data


def advise(results: Results, budget: Budget | None, threshold: float) -> list[Advice]:
    """Return the advice of each combination of the settings that were varied over."""
    found = []
    for chosen, rows in _groups(results):
        within, spent = (None, 0.0) if budget is None else fastest_within(rows, budget)
        stops = list(limits(rows, threshold))
        found.append(Advice(chosen, rows, fastest(rows), within, spent, stops, enough_disks(rows)))
    return found


def _groups(results: Results) -> Iterator[tuple[dict[str, Any], list[Row]]]:
    names = list(results.provenance.get("over", {}))
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in results.rows:
        groups.setdefault(tuple(row.params.get(name) for name in names), []).append(row)
    for values, rows in groups.items():
        yield dict(zip(names, values, strict=True)), rows


def _point(row: Row | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {name: getattr(row, name) for name in ("p", "d", "time", "speedup", "binding")}


def lines(
    results: Results, found: Sequence[Advice], budget: Budget | None, threshold: float, width: int
) -> list[str]:
    """Return what a reader sees: map, speedups and advice, or a line for each combination."""
    row = results.rows[0]
    rows = answered(results.rows) or results.rows
    solvers = ", ".join(dict.fromkeys(row.solver for row in rows))
    head = f"{row.workload} on {row.machine} by {solvers}: {_count(results.rows)}"
    if len(found) == 1:
        body = _whole(found[0], budget, threshold, width)
    else:
        body = _combinations(results, found, budget, threshold)
    notes = results.notes()
    return [head, "", *body, *([""] if notes else []), *notes]


def _count(rows: Sequence[Row]) -> str:
    good = len(answered(rows))
    if good == len(rows):
        return f"{good:,} points"
    first = next(row for row in rows if row.status is not Status.OK)
    return f"{good:,} of {len(rows):,} points answered; p={first.p}, d={first.d}: {first.message}"


def _whole(one: Advice, budget: Budget | None, threshold: float, width: int) -> list[str]:
    if one.best is None:
        return ["no point is answered"]
    table = speedup_table(one.rows)
    shown = {int(d) for d in table[0][1:]}
    stops = {stop.d: stop for stop in one.limits if stop.d in shown}
    pays = [str(stops[int(d)].pays or "-") if int(d) in stops else "-" for d in table[0][1:]]
    text = [
        "what binds",
        *bottleneck_map(one.rows, width),
        "",
        "speedup",
        *aligned([*table, ("pays to p", *pays)]),
        "",
        f"fastest: {_told(one.best)}",
    ]
    if budget is not None:
        text.append(_within(one, budget))
    return [*text, *_stopping(one, threshold), *_enough(one)]


def _told(row: Row) -> str:
    speedup = "" if row.speedup is None else f", speedup {row.speedup:.4g}"
    return f"p={row.p}, d={row.d}: {format_seconds(row.time or 0.0)}{speedup}, {row.binding} binds"


def _within(one: Advice, budget: Budget) -> str:
    if one.within is None:
        return f"within {budget.text}: none of the points asked"
    spent = f" (spends {one.spent:.4g}{' ' + budget.currency if budget.currency else ''})"
    return f"within {budget.text}: {_told(one.within)}{spent}"


def _stopping(one: Advice, threshold: float) -> Iterator[str]:
    """Yield where more processors stop paying, with the disks of the fastest point."""
    if one.best is None or len({row.p for row in one.rows}) < 2:
        return
    (stop,) = [found for found in one.limits if found.d == one.best.d]
    end = (
        f"the time rises beyond p={stop.least_time}"
        if stop.beyond
        else f"the time still falls at p={stop.least_time}"
    )
    last = max(row.p for row in one.rows)
    pays = (
        ""
        if stop.pays in {None, last}
        else f"; beyond p={stop.pays} a processor adds less than {threshold:.3g} to the speedup"
    )
    yield f"with d={stop.d}: {end}{pays}"


def _enough(one: Advice) -> Iterator[str]:
    if len({row.d for row in one.rows}) < 2:
        return
    shown = [f"{one.disks[p]} at p={p}" for p in sample(one.disks, 5)]
    yield f"disks that are enough, within 1 % of the least time: {', '.join(shown)}"


def _combinations(
    results: Results, found: Sequence[Advice], budget: Budget | None, threshold: float
) -> list[str]:
    """Return a line for each combination of settings: its best point, and its limits."""
    units = {name: one["unit"] for name, one in results.provenance["over"].items()}
    names = [f"{name} [{unit}]" if unit else name for name, unit in units.items()]
    table = [(*names, "p", "d", "time", "speedup", "binding", "pays to p")]
    several = len({row.p for row in results.rows}) > 1
    for values, one in zip(_values(results, found), found, strict=True):
        row = one.best if budget is None else one.within
        if row is None:
            table.append((*values, "-", "-", "-", "-", "-", "-"))
            continue
        (stop,) = [limit for limit in one.limits if limit.d == row.d]
        speedup = "-" if row.speedup is None else f"{row.speedup:.4g}"
        place = (str(row.p), str(row.d), format_seconds(row.time or 0.0), speedup)
        pays = str(stop.pays or "-") if several else "-"
        table.append((*values, *place, row.binding or "-", pays))
    what = "fastest" if budget is None else f"fastest within {budget.text}"
    if not several:
        return aligned([line[:-1] for line in table])
    return [
        f"the {what} point of each setting, its speedup over its own p=1 and d=1,",
        f"and the p up to which a processor adds {threshold:.3g} to that speedup",
        "",
        *aligned(table),
    ]


def _values(results: Results, found: Sequence[Advice]) -> Iterator[list[str]]:
    """Yield the texts of each combination's values, without their unit."""
    texts = {
        name: dict(zip(one["numbers"], one["values"], strict=True))
        for name, one in results.provenance["over"].items()
    }
    for one in found:
        yield [str(texts[name][value]).split()[0] for name, value in one.chosen.items()]
