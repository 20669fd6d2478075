"""A number that is swept: how the time changes, and from where on it begins to hurt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs

from parcast.model.query import Status, is_lower_bound
from parcast.results.row import Row
from parcast.results.texts import spelled, time_text

#: A time hurts that is longer by this part than the best end of the sweep.
HURTS = 0.05


@attrs.frozen
class Sweep:
    """The times of one solver along a sweep, in the order of the values."""

    rows: tuple[Row, ...]
    values: tuple[float, ...]

    @property
    def rises(self) -> bool:
        """Whether larger values take longer."""
        return _time(self.rows[-1]) >= _time(self.rows[0])

    def hurts(self) -> tuple[float, float] | None:
        """Return between which values the time becomes `HURTS` longer than at the better end.

        They are those at which it does so first and for good, one value where it only rises; the
        second is the other end where the time is no longer there. Between two values that were
        asked the time is taken as a line. None where it never is that long.
        """
        points = list(zip(self.values, map(_time, self.rows), strict=True))
        if not self.rises:
            points.reverse()
        limit = (1 + HURTS) * points[0][1]
        crossings = [
            value + (next_value - value) * (limit - time) / (next_time - time)
            for (value, time), (next_value, next_time) in pairwise(points)
            if time <= limit < next_time
        ]
        if not crossings:
            return None
        end, last = points[-1]
        return crossings[0], crossings[-1] if last > limit else end


def _time(row: Row) -> float:
    return row.time or 0.0


def sweeps(rows: Sequence[Row], name: str, numbers: Mapping[str, float]) -> list[Sweep]:
    """Return the sweep of each solver at each point; with a value that has no time there is none.

    Parameters
    ----------
    rows
        Of a comparison over one setting.
    name
        The setting.
    numbers
        Its values, by how rows spell them; in the unit that is shown.
    """
    groups: dict[Any, list[tuple[float, Row]]] = {}
    for row in rows:
        if row.status is Status.OK and row.time is not None:
            value = numbers[spelled(row.params[name])]
            groups.setdefault(_point(row, name), []).append((value, row))
    ordered = [sorted(group, key=lambda pair: pair[0]) for group in groups.values()]
    return [
        Sweep(tuple(row for _, row in group), tuple(value for value, _ in group))
        for group in ordered
        if len(group) == len(numbers)
    ]


def _point(row: Row, name: str) -> Any:
    others = tuple((key, spelled(value)) for key, value in row.params.items() if key != name)
    return row.workload, row.machine, row.p, row.d, str(row.mapping), row.seed, row.solver, others


def sweep_table(
    swept: Sequence[Sweep], unit: str
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return header and cells: the times at both ends, and from where on it hurts."""
    firsts = [sweep.rows[0] for sweep in swept]
    low, high = swept[0].values[0], swept[0].values[-1]
    columns = {
        "workload": _unless_same([row.workload for row in firsts]),
        "machine": _unless_same([row.machine for row in firsts]),
        "p": [str(row.p) for row in firsts],
        "d": _unless_same([str(row.d) for row in firsts]),
        "solver": [row.solver for row in firsts],
        f"at {_quantity(low, unit)}": [_shown(sweep.rows[0]) for sweep in swept],
        f"at {_quantity(high, unit)}": [_shown(sweep.rows[-1]) for sweep in swept],
        f"{HURTS:.0%} longer".replace("%", " %"): [_from(sweep, unit) for sweep in swept],
    }
    visible = {head: cells for head, cells in columns.items() if any(cells)}
    return tuple(visible), tuple(zip(*visible.values(), strict=True))


def _unless_same(cells: list[str]) -> list[str]:
    return cells if len(set(cells)) > 1 else []


def _shown(row: Row) -> str:
    return f">= {time_text(row.time)}" if is_lower_bound(row) else time_text(row.time)


def _from(sweep: Sweep, unit: str) -> str:
    """Return from where on it hurts; how a bound changes says nothing of the time."""
    if any(map(is_lower_bound, sweep.rows)):
        return ""
    between = sweep.hurts()
    if between is None:
        return "nowhere"
    low, high = (f"{value:.3g}" for value in sorted(between))
    value = low if low == high else f"{low} to {high}"
    return f"{'above' if sweep.rises else 'below'} {value} {unit}".rstrip()


def _quantity(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}".rstrip()
