"""Which plot shows some results best: the rules, and the rows brought into series.

1. Rows without a time are left out; where none has one, there is nothing to draw.
2. Where p and d both take three values or more: a speedup surface, one for each series.
3. Else curves over the number that takes most values: p, d or a setting.
4. Else, where no number varies, bars: one for each row, stacked of its parts.
5. Where these are too many to be told apart, and there are several workloads, one plot for each of
   them (small multiples).

Whatever else varies tells the series apart and is what their labels say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from parcast import ParcastError, Results, Row
from parcast.quantities import is_number, parse_quantity, unit_factor
from parcast.results import GRID, axes, short

#: More than these cannot be told apart in one picture.
MOST: dict[str, int] = {"surface": 4, "curves": 8, "bars": 40}

#: More plots than these are no picture any more.
_MOST_PLOTS = 24

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)

_NAMES = {"p": "processes p", "d": "disks d"}


@attrs.frozen
class Axis:
    """What a plot runs over."""

    name: str
    label: str
    unit: float = 1.0  #: base units in one of the unit shown

    def at(self, row: Row) -> float:
        """Return where a row lies."""
        return float(value(row, self.name)) / self.unit


@attrs.frozen
class Series:
    """Rows that differ in nothing but what the plot runs over, in its order."""

    label: str
    rows: tuple[Row, ...]


@attrs.frozen
class Picture:
    """A plot that was chosen, and its rows."""

    kind: Literal["surface", "curves", "bars"]
    title: str  #: what all rows have in common
    series: tuple[Series, ...]
    axis: Axis


def choose(results: Results) -> Picture:
    """Return the plot that shows the results.

    Raises
    ------
    ParcastError
        If no row has a time, two rows fall on one place, or there are too many series.
    """
    rows = [row for row in results.rows if row.time is not None]
    if not rows:
        raise ParcastError("No row has a time, so there is nothing to draw; see the rows' messages")
    settings = dict.fromkeys(f"params.{name}" for row in rows for name in row.params)
    names = [*GRID, "mapping", "seed", *settings]
    points = [{name: value(row, name) for name in names} for row in rows]
    counts = {name: len({point[name] for point in points}) for name in axes(names, points)}
    varying = [name for name, count in counts.items() if count > 1]
    numbers = [name for name in varying if all(is_number(value(row, name)) for row in rows)]
    numbers = [name for name in numbers if name != "seed"]
    if counts["p"] >= 3 and counts["d"] >= 3:
        picture = _picture(results, rows, "surface", varying, "p", {"p", "d"})
    elif numbers:
        over = max(numbers, key=lambda name: counts[name])
        picture = _picture(results, rows, "curves", varying, over, {over})
    else:
        picture = _picture(results, rows, "bars", varying, "p", set())
    if len(picture.series) > MOST[picture.kind]:
        apart = [short(name) for name in varying if name != picture.axis.name]
        page = ", or write .html, with pictures of each workload" if "workload" in apart else ""
        raise ParcastError(
            f"{len(picture.series)} {picture.kind} are more than the {MOST[picture.kind]} that one "
            f"picture can tell apart; ask for fewer values of {' or '.join(apart)}{page}"
        )
    return picture


def choose_each(results: Results) -> tuple[Picture, ...]:
    """Return the plot that shows the results, or one for each workload where one cannot.

    Raises
    ------
    ParcastError
        As `choose` does, where there are also too many workloads, or one with too many series.
    """
    try:
        return (choose(results),)
    except ParcastError:
        by_workload: dict[str, list[Row]] = {}
        for row in results.rows:
            if row.time is not None:
                by_workload.setdefault(row.workload, []).append(row)
        if not 1 < len(by_workload) <= _MOST_PLOTS:
            raise
    pictures = tuple(
        choose(attrs.evolve(results, rows=tuple(rows))) for rows in by_workload.values()
    )
    crowded = [each for each in pictures if len(each.series) > MOST["curves"]]
    if crowded or any(each.kind == "surface" for each in pictures):
        return (choose(results),)  # which says what to leave out
    return pictures


def visible(text: str) -> str:
    """Return a text that any format can hold and show.

    Control characters, such as those that turn the direction of writing, are replaced; a leading
    underscore, which would hide a label, gets a space before it.
    """
    printable = _HIDDEN.sub("\ufffd", text)
    return f" {printable}" if printable.startswith("_") else printable


def value(row: Row, name: str) -> Any:
    """Return what a row has in a column; a setting that is a quantity in base units."""
    if not name.startswith("params."):
        return getattr(row, name)
    setting = row.params.get(short(name))
    if not isinstance(setting, str):
        return setting
    try:
        return parse_quantity(setting).value
    except ParcastError:
        return setting


def _picture(
    results: Results,
    rows: Sequence[Row],
    kind: Literal["surface", "curves", "bars"],
    varying: Sequence[str],
    over: str,
    running: set[str],
) -> Picture:
    apart = [name for name in varying if name not in running]
    axis = _axis(results, over)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(value(row, name) for name in apart), []).append(row)
    series = [
        Series(
            _label(results, apart, values),
            tuple(sorted(members, key=axis.at) if running else members),
        )
        for values, members in groups.items()
    ]
    return Picture(kind, _title(rows, running | set(apart)), tuple(series), axis)


def _axis(results: Results, name: str) -> Axis:
    unit = _unit(results.provenance.get("over", {}).get(short(name), ()))
    label = _NAMES.get(name, short(name))
    label = visible(label)
    return Axis(name, f"{label} [{unit}]", unit_factor(unit)[1]) if unit else Axis(name, label)


def _unit(over: Any) -> str:
    """Return the unit of the values that a setting takes, where all are in one."""
    if isinstance(over, Mapping):
        return str(over.get("unit", ""))
    units = {f"{text}".partition(" ")[2] for text in over}
    return units.pop() if len(units) == 1 else ""


def _label(results: Results, names: Sequence[str], values: Sequence[Any]) -> str:
    """Return what tells a series apart: names of solvers bare, other values with theirs."""
    texts = []
    for name, value in zip(names, values, strict=True):
        if name in {"workload", "machine", "solver", "mapping"}:
            texts.append(f"{value}")
            continue
        axis = _axis(results, name)
        unit = axis.label.partition("[")[2].rstrip("]")
        number = f"{value / axis.unit:.6g}" if is_number(value) else f"{value}"
        texts.append(f"{short(name)}={number} {unit}".rstrip())
    return visible(", ".join(texts))


def _title(rows: Sequence[Row], elsewhere: set[str]) -> str:
    """Return what is the same in all rows and told nowhere else."""
    first = rows[0]
    same = {
        name: text
        for name, text in (
            ("workload", first.workload),
            ("machine", f"on {first.machine}"),
            ("solver", f"by {first.solver}"),
            ("p", f"p={first.p}"),
            ("d", f"d={first.d}"),
        )
        if name not in elsewhere and len({getattr(row, name) for row in rows}) == 1
    }
    sizes = [same.pop(name) for name in ("p", "d") if name in same]
    return visible(", ".join(filter(None, [" ".join(same.values()), *sizes])))
