"""How far times are from measured ones, and how they are distributed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from parcast import Row
from parcast_report.choosing import Picture, visible
from parcast_report.content import coordinates
from parcast_report.style import INK, MARKERS, SERIES, log2_axis, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_errors(axes: Axes, picture: Picture) -> None:
    """Draw each series' errors in percent of the measured time, around a line at 0."""
    axes.axhline(0, color=INK, linewidth=0.8)
    marked: list[float] = []
    for index, series in enumerate(picture.series):
        rows = [row for row in series.rows if row.error is not None]
        if not rows:
            continue
        x = [picture.axis.at(row) for row in rows]
        y = [100 * (row.error or 0.0) for row in rows]
        label = series.label or "predicted"
        axes.plot(x, y, color=SERIES[index], marker=MARKERS[index], label=label)
        marked += x
    log2_axis(axes.xaxis, marked)
    axes.set_xlabel(picture.axis.label)
    axes.set_ylabel("error [% of the measured time]")


def with_quantiles(rows: Iterable[Row]) -> list[Row]:
    """Return each solver's row with quantiles of the largest p."""
    largest: dict[str, Row] = {}
    for row in rows:
        if len(row.quantiles) > 1 and row.p >= getattr(largest.get(row.solver), "p", 0):
            largest[row.solver] = row
    return list(largest.values())


def draw_distribution(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the part of all runs that is done by a time, through the known quantiles."""
    size, unit = time_unit([time for row in rows for time in row.quantiles.values()])
    for index, row in enumerate(rows):
        levels = sorted(row.quantiles, key=float)
        x = [row.quantiles[level] / size for level in levels]
        y = [100 * float(level) for level in levels]
        label = visible(f"{row.solver}, {coordinates(row)}")
        axes.plot(x, y, color=SERIES[index], marker=MARKERS[index], label=label)
    axes.set_ylim(0, 100)
    axes.set_xlabel(f"time [{unit}]")
    axes.set_ylabel("runs that are done by then [%]")
