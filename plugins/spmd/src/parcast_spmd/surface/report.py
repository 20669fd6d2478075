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
            "processors": [attrs.asdict(limit) for limit in self.limits],
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
    advice = []
    for chosen, rows in _groups(results):
        within, spent = (None, 0.0) if budget is None else fastest_within(rows, budget)
        stops = list(limits(rows, threshold))
        advice.append(Advice(chosen, rows, fastest(rows), within, spent, stops, enough_disks(rows)))
    return advice


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
    results: Results, advice: Sequence[Advice], budget: Budget | None, threshold: float, width: int
) -> list[str]:
    """Return what a reader sees: map, speedups and advice, or a line for each combination."""
    row = results.rows[0]
    rows = answered(results.rows) or results.rows
    solvers = ", ".join(dict.fromkeys(row.solver for row in rows))
    head = f"{row.workload} on {row.machine} by {solvers}: {_count(results.rows)}"
    if len(advice) == 1:
        body = _single(advice[0], budget, threshold, width)
    else:
        body = _combinations(results, advice, budget, threshold)
    notes = results.notes()
    return [head, "", *body, *([""] if notes else []), *notes]


def _count(rows: Sequence[Row]) -> str:
    good = len(answered(rows))
    if good == len(rows):
        return f"{good:,} points"
    first = next(row for row in rows if row.status is not Status.OK)
    return f"{good:,} of {len(rows):,} points answered; p={first.p}, d={first.d}: {first.message}"


def _single(advice: Advice, budget: Budget | None, threshold: float, width: int) -> list[str]:
    if advice.best is None:
        return ["no point is answered"]
    table = speedup_table(advice.rows)
    columns = {int(d) for d in table[0][1:]}
    stops = {stop.d: stop for stop in advice.limits if stop.d in columns}
    pays = [str(stops[int(d)].pays or "-") if int(d) in stops else "-" for d in table[0][1:]]
    text = [
        "bottleneck",
        *bottleneck_map(advice.rows, width),
        "",
        "speedup",
        *_align([*table, ("pays to p", *pays)]),
        "",
        f"fastest: {_describe(advice.best)}",
    ]
    if budget is not None:
        text.append(_within(advice, budget))
    return [*text, *_stopping(advice, threshold), *_enough(advice)]


def _describe(row: Row) -> str:
    speedup = "" if row.speedup is None else f", speedup {row.speedup:.4g}"
    time = format_seconds(row.time or 0.0)
    return f"p={row.p}, d={row.d}: {time}{speedup}, bottleneck {row.binding}"


def _within(advice: Advice, budget: Budget) -> str:
    if advice.within is None:
        return f"within {budget.text}: none of the points asked"
    spent = f" (spends {advice.spent:.4g}{' ' + budget.currency if budget.currency else ''})"
    return f"within {budget.text}: {_describe(advice.within)}{spent}"


def _stopping(advice: Advice, threshold: float) -> Iterator[str]:
    """Yield where more processors stop paying, with the disks of the fastest point."""
    if advice.best is None or len({row.p for row in advice.rows}) < 2:
        return
    (stop,) = [limit for limit in advice.limits if limit.d == advice.best.d]
    end = (
        f"the time rises beyond p={stop.least_time}"
        if stop.beyond
        else f"the time still falls at p={stop.least_time}"
    )
    last = max(row.p for row in advice.rows)
    pays = (
        ""
        if stop.pays in {None, last}
        else f"; beyond p={stop.pays} a processor adds less than {threshold:.3g} to the speedup"
    )
    yield f"with d={stop.d}: {end}{pays}"


def _enough(advice: Advice) -> Iterator[str]:
    if len({row.d for row in advice.rows}) < 2:
        return
    texts = [f"{advice.disks[p]} at p={p}" for p in sample(advice.disks, 5)]
    yield f"disks that are enough, within 1 % of the least time: {', '.join(texts)}"


def _combinations(
    results: Results, advice: Sequence[Advice], budget: Budget | None, threshold: float
) -> list[str]:
    """Return a line for each combination of settings: its best point, and its limits."""
    units = {name: over["unit"] for name, over in results.provenance["over"].items()}
    names = [f"{name} [{unit}]" if unit else name for name, unit in units.items()]
    table = [(*names, "p", "d", "time", "speedup", "binding", "pays to p")]
    several = len({row.p for row in results.rows}) > 1
    for values, entry in zip(_values(results, advice), advice, strict=True):
        row = entry.best if budget is None else entry.within
        if row is None:
            table.append((*values, "-", "-", "-", "-", "-", "-"))
            continue
        (stop,) = [limit for limit in entry.limits if limit.d == row.d]
        speedup = "-" if row.speedup is None else f"{row.speedup:.4g}"
        point = (str(row.p), str(row.d), format_seconds(row.time or 0.0), speedup)
        pays = str(stop.pays or "-") if several else "-"
        table.append((*values, *point, row.binding or "-", pays))
    criterion = "fastest" if budget is None else f"fastest within {budget.text}"
    if not several:
        return _align([line[:-1] for line in table])
    return [
        f"the {criterion} point of each setting, its speedup over its own p=1 and d=1,",
        f"and the p up to which a processor adds {threshold:.3g} to that speedup",
        "",
        *_align(table),
    ]


def _values(results: Results, advice: Sequence[Advice]) -> Iterator[list[str]]:
    """Yield the texts of each combination's values, without their unit."""
    texts = {
        name: dict(zip(over["numbers"], over["values"], strict=True))
        for name, over in results.provenance["over"].items()
    }
    for entry in advice:
        yield [str(texts[name][value]).split()[0] for name, value in entry.chosen.items()]


def _align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines, numbers flush right below their column's head and words flush left."""
    columns = list(zip(*rows, strict=True))
    cells = [_justified(column) for column in columns]
    return ["  ".join(line).rstrip() for line in zip(*cells, strict=True)]


def _justified(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    numbers = all(not cell or cell[0].isdigit() or cell == "-" for cell in cells[1:])
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in cells]
