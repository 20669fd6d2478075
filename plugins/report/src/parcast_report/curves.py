"""Time and speedup over p, d or a setting, and where the time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parcast import Row
from parcast_report.choosing import Axis, Picture, Series
from parcast_report.style import (
    BELOW,
    FAINT,
    INK,
    MARKERS,
    PARTS,
    SERIES,
    log2_axis,
    log_axis,
    resource_handles,
    time_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More panels of parts than this say less than none.
_MOST_PARTS = 4

#: Of more lines the legend is below the panel, where it hides none.
_BESIDE = 2


def draw(figure: Figure, picture: Picture) -> None:
    """Draw a panel of times, one of speedups, and one of parts for each of up to four series."""
    parts = [series for series in picture.series if has_parts(series)]
    parts = parts if len(parts) <= _MOST_PARTS else []
    speedups = any(row.speedup for series in picture.series for row in series.rows)
    top = 1 + speedups
    count = top + len(parts)
    columns = 2 if count in {2, 4} else min(count, 3)
    lines = -(-count // columns)
    legend = 0.17 * len(picture.series) if len(picture.series) > _BESIDE else 0.0
    figure.set_size_inches(3.3 * columns if columns > 1 else 4.2, 3.0 * lines + legend)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    draw_times(panels[0], picture)
    panels[0].legend(**(BELOW if len(picture.series) > _BESIDE else {}))
    if speedups:
        draw_speedups(panels[1], picture, with_labels=False)
        if panels[1].get_legend_handles_labels()[0]:
            panels[1].legend()
    for axes, series in zip(panels[top:], parts, strict=False):
        draw_parts(axes, series, picture.axis)
    for axes in panels[count:]:
        axes.set_axis_off()
    figure.suptitle(picture.title, x=0.01, ha="left", fontsize=9.5)


def has_parts(series: Series) -> bool:
    """Return whether the parts of every time are known, of more than one."""
    return len(series.rows) > 1 and all(
        row.parts is not None and row.parts.total > 0 for row in series.rows
    )


def draw_times(axes: Axes, picture: Picture) -> None:
    """Draw times with what is known of their spread, and measured ones."""
    rows = [row for series in picture.series for row in series.rows]
    size, unit = time_unit([row.time or 0.0 for row in rows])
    for index, series in enumerate(picture.series):
        x = [picture.axis.at(row) for row in series.rows]
        color = SERIES[index]
        _draw_bands(axes, x, series.rows, size, color)
        axes.plot(
            x,
            [(row.time or 0.0) / size for row in series.rows],
            color=color,
            marker=_marker(index, x),
            label=series.label or "predicted",
            zorder=3,
        )
    if len(picture.series) == 1:
        _draw_bounds(axes, picture.series[0], picture.axis, size)
    measured = {picture.axis.at(row): row.measured / size for row in rows if row.measured}
    _draw_measured(axes, measured)
    _scales(axes, picture, f"time [{unit}]")
    if all(row.time for row in rows):
        log_axis(axes.yaxis)
    axes.set_title("time")


def _marker(index: int, x: Sequence[float]) -> str:
    return MARKERS[index] if len(x) <= 32 else ""


def _draw_bands(
    axes: Axes, x: Sequence[float], rows: Sequence[Row], size: float, color: str
) -> None:
    """Shade what is proven, pairs of quantiles, or else the confidence interval."""
    if all(row.lower is not None and row.upper is not None for row in rows):
        low, high = ([getattr(row, name) / size for row in rows] for name in ("lower", "upper"))
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    levels = sorted({level for row in rows for level in row.quantiles}, key=float)
    for low_level, high_level in zip(levels, reversed(levels), strict=True):
        if float(low_level) < 0.5 and all(
            {low_level, high_level} <= set(row.quantiles) for row in rows
        ):
            low, high = (
                [row.quantiles[level] / size for row in rows] for level in (low_level, high_level)
            )
            axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
    if not levels and all(row.ci is not None for row in rows):
        low, high = ([row.ci[end] / size for row in rows if row.ci] for end in (0, 1))
        if len(x) == 1:  # a band has no width
            axes.vlines(x, low, high, color=color, alpha=0.25, linewidth=6)
        axes.fill_between(x, low, high, color=color, alpha=0.25, linewidth=0)


def _draw_bounds(axes: Axes, series: Series, axis: Axis, size: float) -> None:
    """Draw the bounds that a solver's details give by name, each a lower and an upper one."""
    styles = iter(("dotted", "dashed", "dashdot"))
    x = [axis.at(row) for row in series.rows]
    bounds = [row.details.get("bounds", {}) for row in series.rows]
    for name, style in zip(bounds[0], styles, strict=False):
        for end in (0, 1):
            ends = [(pair.get(name) or (None, None))[end] for pair in bounds]
            y = np.array([np.nan if end_value is None else end_value for end_value in ends]) / size
            if not np.isnan(y).all():
                label = None if end else f"{name.replace('_', ' ')} bounds"
                axes.plot(x, y, color=INK, linewidth=0.8, linestyle=style, label=label)


def _draw_measured(axes: Axes, points: Mapping[float, float]) -> None:
    if points:
        axes.plot(
            list(points),
            list(points.values()),
            linestyle="none",
            marker="o",
            markersize=5.5,
            markerfacecolor="white",
            markeredgecolor=INK,
            zorder=4,
            label="measured",
        )


def draw_speedups(axes: Axes, picture: Picture, *, with_labels: bool) -> None:
    """Draw speedups; which series is which may stand beside the times alone."""
    for index, series in enumerate(picture.series):
        rows = [row for row in series.rows if row.speedup]
        x = [picture.axis.at(row) for row in rows]
        y = [row.speedup or 0.0 for row in rows]
        label = (series.label or "predicted") if with_labels else None
        axes.plot(x, y, color=SERIES[index], marker=_marker(index, x), label=label, zorder=3)
    rows = [row for series in picture.series for row in series.rows]
    if picture.axis.name == "p":
        top = 2 * max(row.speedup or 0.0 for row in rows)
        ideal = sorted({row.p for row in rows if row.p <= top})
        axes.plot(ideal, ideal, color=INK, linewidth=0.8, linestyle="dashed", label="ideal")
        _draw_measured(axes, _measured_speedups(rows))
    _scales(axes, picture, "speedup over p=1, d=1")
    log_axis(axes.yaxis)
    axes.set_title("speedup")


def _measured_speedups(rows: Sequence[Row]) -> dict[float, float]:
    """Return measured speedups by p where one process with one disk was measured as well."""
    times = {row.p: row.measured for row in rows if row.measured}
    if 1 not in times or {row.d for row in rows} != {1}:
        return {}
    return {p: times[1] / time for p, time in times.items()}


def draw_parts(axes: Axes, series: Series, axis: Axis) -> None:
    """Stack the parts of the time; all that a process spends is 100 %."""
    x = [axis.at(row) for row in series.rows]
    parts = [row.parts for row in series.rows if row.parts]
    shares = np.array([[100 * part / times.total for part in times.values()] for times in parts]).T
    colors = list(PARTS.values())
    axes.stackplot(x, shares, colors=colors, edgecolor="white", linewidth=0.6)
    log2_axis(axes.xaxis, x)
    axes.set_xlim(min(x), max(x))
    axes.set_ylim(0, 100)
    axes.set_xlabel(axis.label)
    axes.set_ylabel("share of the time [%]")
    axes.set_title(f"parts of the time{': ' if series.label else ''}{series.label}")
    axes.grid(visible=False)
    seen = [name for name, share in zip(PARTS, shares, strict=True) if share.max() >= 0.05]
    axes.legend(handles=resource_handles(seen), ncols=2, **BELOW)


def _scales(axes: Axes, picture: Picture, label: str) -> None:
    log2_axis(
        axes.xaxis, [picture.axis.at(row) for series in picture.series for row in series.rows]
    )
    axes.set_xlabel(picture.axis.label)
    axes.set_ylabel(label)
    axes.tick_params(color=FAINT)
