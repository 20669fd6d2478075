"""Speedup over p and d as filled contours, and the map of bottlenecks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from parcast import Row
from parcast_report.choosing import Picture, Series
from parcast_report.style import BELOW, CASING, ON_BLUE, RESOURCES, log2_axis, resource_handles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More values than this along an axis are thinned out: nobody sees them, and files grow.
_MOST = 96

_WITHIN = 1.01  #: the ridge: the fewest disks whose time is within 1 % of the least


def draw(figure: Figure, picture: Picture) -> None:
    """Draw contours and map side by side, a line of both for each series."""
    count = len(picture.series)
    figure.set_size_inches(7.4, 3.2 * count)
    panels = figure.subplots(count, 2, squeeze=False)
    for (left, right), series in zip(panels, picture.series, strict=True):
        draw_heights(left, series)
        draw_map(right, series)
    figure.suptitle(picture.title, x=0.01, ha="left", fontsize=9.5)


def draw_heights(axes: Axes, series: Series) -> None:
    """Draw speedups, or where there are none times, with the ridge and the fastest point."""
    grid, processes, disks = surface(series)
    figure = cast("Figure", axes.get_figure(root=True))
    _draw_contours(figure, axes, grid, processes, disks)
    _draw_ridge(axes, grid, processes)
    _scales(axes, processes, disks)
    _entitle(axes, "speedup" if has_speedups(series) else "time", series)


def draw_map(axes: Axes, series: Series) -> None:
    """Draw the bottleneck at every point."""
    grid, processes, disks = surface(series)
    _draw_map(axes, grid, processes, disks)
    _scales(axes, processes, disks)
    _entitle(axes, "bottleneck", series)


def surface(series: Series) -> tuple[dict[tuple[int, int], Row], list[int], list[int]]:
    """Return the rows by p and d, and the values of both that are shown."""
    grid = {(row.p, row.d): row for row in series.rows}
    return grid, _thin({p for p, _ in grid}), _thin({d for _, d in grid})


def _entitle(axes: Axes, title: str, series: Series) -> None:
    axes.set_title(title + (f": {series.label}" if series.label else ""))


def has_speedups(series: Series) -> bool:
    """Return whether every point has a speedup."""
    return all(row.speedup for row in series.rows)


def _thin(values: set[int]) -> list[int]:
    """Return the values, or if there are many some of them, evenly spaced on a log scale."""
    ordered = sorted(values)
    if len(ordered) <= _MOST:
        return ordered
    wanted = np.geomspace(ordered[0], ordered[-1], _MOST)
    return sorted({min(ordered, key=lambda value: abs(value - at)) for at in wanted})


def _draw_contours(
    figure: Figure,
    axes: Axes,
    grid: Mapping[tuple[int, int], Row],
    processes: Sequence[int],
    disks: Sequence[int],
) -> None:
    """Draw filled contours, or the cells themselves where points have no answer."""
    speedups = all(row.speedup for row in grid.values())
    heights = np.full((len(disks), len(processes)), np.nan)
    for i, d in enumerate(disks):
        for j, p in enumerate(processes):
            if (p, d) in grid:
                row = grid[p, d]
                heights[i, j] = (row.speedup if speedups else row.time) or np.nan
    levels = _levels(np.nanmin(heights), np.nanmax(heights))
    style: dict[str, Any] = {"cmap": "Blues", "norm": _norm(levels)}
    if np.isnan(heights).any():
        cells: Any = axes.pcolormesh(
            _edges(processes), _edges(disks), np.ma.masked_invalid(heights), linewidth=0, **style
        )
    else:
        cells = axes.contourf(processes, disks, heights, levels=levels, **style)
        drawn = axes.contour(
            processes, disks, heights, levels=levels, colors=ON_BLUE, linewidths=0.5, alpha=0.6
        )
        positions = _crossings(heights, levels, processes, disks)
        for text in axes.clabel(
            drawn, fontsize=7, fmt="%g", manual=positions, colors=ON_BLUE, inline=False
        ):
            text.set(rotation=0, alpha=1, path_effects=_casing(2.0))
    bar = figure.colorbar(cells, ax=axes, pad=0.02, format="%g", ticks=levels)
    bar.set_label("speedup over p=1, d=1" if speedups else "time [s]")
    bar.outline.set_visible(False)


def _crossings(
    heights: Any, levels: Sequence[float], processes: Sequence[int], disks: Sequence[int]
) -> list[tuple[float, float]]:
    """Return where contours are labelled: where they cross a line in the lower part."""
    inner = range(1, len(disks) - 1)
    row = min(inner, key=lambda i: abs(math.log(disks[i] ** 4 / disks[-1])))
    positions = []
    for level in levels:
        for j, (left, right) in enumerate(pairwise(heights[row])):
            if (left < level) != (right < level):
                part = (level - left) / (right - left)
                at = processes[j] * (processes[j + 1] / processes[j]) ** part
                positions.append((at, float(disks[row])))
    far = [
        position
        for before, position in pairwise([(0.0, 0.0), *positions])
        if position[0] > 1.2 * before[0]
    ]
    return far or positions


def _levels(low: float, high: float) -> list[float]:
    """Return some ten round levels around all heights, evenly spaced on a log scale if wide."""
    if high > 4 * low:
        digits = (1, 2, 5) if high > 12 * low else (1, 1.5, 2, 3, 4, 5, 6, 8)
        rounds = [digit * 10.0**power for power in range(-12, 16) for digit in digits]
    else:
        step = max(high - low, 1e-9 * high) / 10
        size = 10.0 ** math.floor(math.log10(step))
        step = next(digit * size for digit in (1, 2, 5, 10) if digit * size >= step)
        rounds = [index * step for index in range(int(low / step), int(high / step) + 2)]
    first = max((index for index, level in enumerate(rounds) if level <= low), default=0)
    last = min(
        (index for index, level in enumerate(rounds) if level >= high), default=len(rounds) - 1
    )
    return rounds[first : max(last, first + 1) + 1]


def _norm(levels: Sequence[float]) -> Any:
    """Return a norm in which every band between two levels is one step darker."""
    from matplotlib.colors import BoundaryNorm

    return BoundaryNorm(levels, ncolors=215, clip=True)


def _draw_ridge(axes: Axes, grid: Mapping[tuple[int, int], Row], processes: Sequence[int]) -> None:
    """Draw for each p the fewest disks that are as good as the best, and the fastest point.

    Where some d have no answer at some p there is no such line, only their gaps.
    """
    columns: dict[int, list[Row]] = {p: [] for p in processes}
    for (p, _), row in grid.items():
        columns.get(p, []).append(row)
    ridge = []
    for p, column in columns.items():
        limit = _WITHIN * min(row.time or 0.0 for row in column)
        ridge.append((p, min(row.d for row in column if (row.time or 0.0) <= limit)))
    if len(grid) == len({p for p, _ in grid}) * len({d for _, d in grid}):
        axes.plot(
            *zip(*ridge, strict=True),
            color=ON_BLUE,
            linewidth=1.3,
            path_effects=_casing(3.0),
            label="fewest disks within 1 % of the least time",
        )
    best = min(grid.values(), key=lambda row: (row.time or 0.0, row.p, row.d))
    axes.plot(
        best.p, best.d, linestyle="none", marker="*", markersize=9, clip_on=False,
        markerfacecolor="#E69F00", markeredgecolor=ON_BLUE, zorder=5,
        label=f"fastest: p={best.p}, d={best.d}",
    )  # fmt: skip
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=1, handlelength=1.4)


def _casing(width: float) -> list[Any]:
    """Return the white border that lets lines and labels stand out from any color."""
    from matplotlib import patheffects

    return [patheffects.withStroke(linewidth=width, foreground=CASING)]


def _draw_map(
    axes: Axes, grid: Mapping[tuple[int, int], Row], processes: Sequence[int], disks: Sequence[int]
) -> None:
    """Color every point by its bottleneck; equal neighbors along p are one rectangle."""
    widths, heights = _edges(processes), _edges(disks)
    resources: dict[str, None] = {}
    for i, d in enumerate(disks):
        binding = [grid[p, d].binding or "" if (p, d) in grid else "" for p in processes]
        start = 0
        for j in range(1, len(binding) + 1):
            if j < len(binding) and binding[j] == binding[start]:
                continue
            name = binding[start]
            if name in RESOURCES:
                resources[name] = None
                axes.broken_barh(
                    [(widths[start], widths[j] - widths[start])],
                    (heights[i], heights[i + 1] - heights[i]),
                    facecolor=RESOURCES[name], edgecolor=RESOURCES[name], linewidth=0.3,
                )  # fmt: skip
            start = j
    handles = resource_handles(name for name in RESOURCES if name in resources)
    axes.legend(handles=handles, ncols=4, **BELOW)


def _edges(values: Sequence[int]) -> list[float]:
    """Return the borders of the cells around values, halfway on a log scale."""
    middles = [math.sqrt(a * b) for a, b in pairwise(values)]
    return [values[0], *middles, values[-1]]


def _scales(axes: Axes, processes: Sequence[int], disks: Sequence[int]) -> None:
    log2_axis(axes.xaxis, processes)
    log2_axis(axes.yaxis, disks)
    axes.set_xlim(processes[0], processes[-1])
    axes.set_ylim(disks[0], disks[-1])
    axes.set_xlabel("processes p")
    axes.set_ylabel("disks d")
    axes.grid(visible=False)
