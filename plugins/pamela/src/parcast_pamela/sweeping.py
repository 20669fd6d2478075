"""Bounds over the range of a parameter: table, CSV and plot, and where the regime changes."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

from parcast.cells import defused
from parcast.errors import ParcastError
from parcast.files import check_suffix, whole_file
from parcast.quantities import format_seconds
from parcast_pamela.algebra.exact import ExactValues
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.analysis import active_branch
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.solvers.bound import binds

#: Suffixes of plots.
PLOTS = (".svg", ".png", ".pdf")

#: A plot has a mark for each value up to so many, and a logarithmic axis of times that differ by
#: more than the second, with marks at powers of ten alone from the third.
_MOST_TICKS, _LEAST_SPREAD, _MANY_TENS = 17, 5, 2000


@attrs.frozen
class Point:
    """The bounds at one value; times in seconds, or what kept them from being evaluated."""

    name: str
    value: int
    critical_path: float | None = None
    contention: float | None = None
    bound: float | None = None
    upper: float | None = None
    simulated: float | None = None  #: T, or its mean
    binds: str = ""
    regime: str = ""
    message: str = ""

    def to_data(self) -> dict[str, Any]:
        """Return the point as JSON-ready data."""
        data = attrs.asdict(self)
        return {data.pop("name"): data.pop("value"), **data}

    @staticmethod
    def table(rows: Sequence[Point]) -> tuple[list[str], list[list[str]]]:
        """Return header and rows as text."""
        columns = {"lower bound": "bound", "upper bound": "upper", "simulated": "simulated",
                   "critical path": "critical_path", "contention": "contention"}  # fmt: skip
        if all(row.simulated is None for row in rows):
            del columns["simulated"]
        times = [[getattr(row, name) for name in columns.values()] for row in rows]
        cells = [
            [
                str(row.value),
                *("" if time is None else format_seconds(time) for time in row_times),
                row.message or row.binds,
            ]
            for row, row_times in zip(rows, times, strict=True)
        ]
        return [rows[0].name, *columns, "bottleneck"], cells


def sweep_model(
    compiled: Compiled, name: str, numbers: Sequence[int], parameters: Mapping[str, Any]
) -> list[Point]:
    """Return the bounds at each value of a parameter.

    Raises
    ------
    ParcastError
        If there is no such parameter, or no value at all is one it can have.
    """
    points = [_point(compiled, name, number, parameters) for number in numbers]
    if all(point.message for point in points):
        raise ModelValueError(points[0].message)
    return points


def simulate_points(
    compiled: Compiled, points: Sequence[Point], parameters: Mapping[str, Any]
) -> list[Point]:
    """Return points with T by discrete events; of a random model with its mean.

    Raises
    ------
    UnsupportedError
        If a point has too many events.
    """
    from parcast_pamela.simulation.program import unfold
    from parcast_pamela.solvers.sim import Options, simulation_prediction

    return [
        point
        if point.message
        else attrs.evolve(
            point,
            simulated=simulation_prediction(
                unfold(compiled.model, {**parameters, point.name: point.value}), Options(), seed=0
            ).time,
        )
        for point in points
    ]


def changes(
    compiled: Compiled, points: Sequence[Point], parameters: Mapping[str, Any]
) -> list[tuple[Point, Point]]:
    """Return the last point of each regime and the first of the next, as near as points exist.

    Between two points of a sweep the middle is tried again and again, so that a change is found
    to the number; where a parameter cannot have the middle value it stays between the two.
    """
    pairs = []
    valid = [point for point in points if not point.message]
    for before, after in pairwise(valid):
        first, last = before, after
        while first.regime != last.regime and abs(last.value - first.value) > 1:
            middle = _point(compiled, first.name, (first.value + last.value) // 2, parameters)
            if middle.message:
                break
            first, last = (middle, last) if middle.regime == first.regime else (first, middle)
        if first.regime != last.regime:
            pairs.append((first, last))
    return pairs


def _point(compiled: Compiled, name: str, number: int, parameters: Mapping[str, Any]) -> Point:
    try:
        bound = bind(compiled.model, {**parameters, name: number})
        values = compiled.values_at(bound)
    except ModelValueError as error:
        return Point(name, number, message=str(error))
    evaluate = ExactValues(bound)
    demands = {name: float(evaluate.value(demand)) for name, demand in compiled.demands.items()}
    return Point(
        name,
        number,
        float(values.critical_path),
        float(values.contention),
        float(values.bound),
        float(values.upper),
        binds=binds(values, demands),
        regime=repr(active_branch(compiled.bound, evaluate)),
    )


def write_csv(points: Sequence[Point], path: Path) -> None:
    """Write the points, one a line."""
    with whole_file(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        rows = [point.to_data() for point in points]
        writer = csv.writer(file)
        writer.writerow(map(defused, rows[0]))
        writer.writerows(map(defused, row.values()) for row in rows)


def plot_sweep(points: Sequence[Point], title: str, path: Path) -> None:
    """Draw the bounds over the parameter; needs parcast-pamela[plot].

    Times that differ much are on a logarithmic axis, and so are values that are not evenly spaced.
    """
    check_suffix(path, "a plot", PLOTS)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParcastError("plots need matplotlib; install parcast-pamela[plot]") from None
    valid = [point for point in points if not point.message]
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes: Any = figure.add_subplot()
    at = [point.value for point in valid]
    bound, upper = [point.bound for point in valid], [point.upper for point in valid]
    axes.fill_between(at, bound, upper, alpha=0.15)
    axes.plot(at, bound, linewidth=3, alpha=0.7, label="lower bound")
    axes.plot(at, upper, ":", label="upper bound")
    axes.plot(at, [point.critical_path for point in valid], "--", label="critical path alone")
    if any(point.simulated is not None for point in valid):
        axes.plot(at, [point.simulated for point in valid], "k.", label="simulated")
    axes.set(xlabel=points[0].name, ylabel="time [s]", title=title)
    _scale_axes(axes, valid)
    axes.legend()
    with whole_file(path) as part:
        figure.savefig(part, metadata={"Date": None} if path.suffix == ".svg" else None)


def _scale_axes(axes: Any, points: Sequence[Point]) -> None:
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

    at = [point.value for point in points]
    if len({after - before for before, after in pairwise(at)}) > 1:
        axes.set(xscale="log")
    if len(at) <= _MOST_TICKS:
        axes.set_xticks(at, list(map(str, at)))
        axes.xaxis.set_minor_locator(NullLocator())
    times = [time for point in points for time in (point.critical_path, point.upper) if time]
    spread = max(times) / min(times) if times else 1
    if spread < _LEAST_SPREAD:
        axes.set_ylim(bottom=0)
        return
    axes.set(yscale="log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if spread < _MANY_TENS else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
