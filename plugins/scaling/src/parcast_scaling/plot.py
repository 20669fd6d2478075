"""The curve as a page: measured points, bands, the knee, what binds by color; n and p together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any

from parcast.quantities import format_seconds
from parcast_report.content import Table
from parcast_report.document import Drawing, Section, document
from parcast_report.style import BELOW, CASING, INK, ON_BLUE, SERIES, log2_axis, log_axis
from parcast_report.svg import point_out
from parcast_scaling.forecast import Band, Forecast
from parcast_scaling.forecast_texts import (
    LIKELY,
    curve_table,
    knee_sentence,
    proposal_table,
    work_table,
)
from parcast_scaling.isoefficiency import Surface, WorkAndSize
from parcast_scaling.mechanisms import MECHANISMS
from parcast_scaling.times import Run
from parcast_scaling.worth import Proposal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Lines of equal efficiency on the surface.
_EFFICIENCIES = (0.3, 0.5, 0.7, 0.9)


def page(
    answer: Forecast,
    counts: str,
    left_out: Sequence[Run] = (),
    by_work: WorkAndSize | None = None,
    proposals: Sequence[Proposal] = (),
) -> str:
    """Return an HTML page with the curve, and its numbers as a table.

    Parameters
    ----------
    answer
        What is shown.
    counts
        What p is a number of.
    left_out
        Runs that were measured and not used.
    by_work
        Times and efficiencies over p and n, where the work differs from run to run.
    proposals
        Runs that are worth measuring.
    """
    drawings = [
        Drawing(
            "Time",
            f"Time over {counts}, both axes logarithmic, with the 50, 90 and 99 % bands; the "
            "numbers stand in the table",
            partial(_draw_curve, answer=answer, counts=counts, left_out=left_out),
        )
    ]
    if by_work is not None:
        drawings.append(
            Drawing(
                "Time and efficiency by work",
                f"Median time over {counts} and the work n, with lines of equal efficiency",
                partial(_draw_surface, surface=by_work.surface, runs=answer.runs, counts=counts),
            )
        )
    tables = [Table("Times", *curve_table(answer, counts, left_out))]
    if by_work is not None:
        title = f"Work n for an efficiency of {100 * answer.target:g} %"
        tables.append(Table(title, *work_table(by_work.needed)))
    if proposals:
        tables.append(Table("Worth measuring", *proposal_table(proposals)))
    texts = [f"{knee_sentence(answer, counts)}.", *answer.remarks]
    section = Section("Curve", texts, tables, drawings)
    return document(f"Scaling of {answer.where}", "Scaling", [], [section])


def _range(band: Band) -> str:
    return f"{format_seconds(band.low90)} .. {format_seconds(band.high90)}"


def _binding(band: Band) -> str:
    return f"{band.binds} ({100 * band.binds_chance:.0f} %)"


def _draw_curve(
    figure: Figure, answer: Forecast, counts: str, left_out: Sequence[Run] = ()
) -> None:
    figure.set_size_inches(6.6, 4.4)
    axes = figure.subplots()
    p = [band.p for band in answer.bands]
    for level, alpha in ((99, 0.07), (90, 0.15), (50, 0.25)):
        lower, upper = (
            [getattr(band, f"{end}{level}") for band in answer.bands] for end in ("low", "high")
        )
        label = f"{level} % band"
        axes.fill_between(p, lower, upper, color=SERIES[0], alpha=alpha, linewidth=0, label=label)
    _draw_knee(axes, answer, max(p))
    _draw_medians(axes, answer.bands)
    for runs, fill, label in ((answer.runs, INK, "measured"), (left_out, "none", "left out")):
        drawn = [run for run in runs if _is_shown(run, answer.bands)]
        for run in drawn:
            (dot,) = axes.plot(run.p, run.seconds, "o", color=INK, markerfacecolor=fill, zorder=4)
            point_out(dot, f"{label} at {counts}={run.p:g}: {format_seconds(run.seconds)}")
        if drawn:
            axes.plot([], [], "o", color=INK, markerfacecolor=fill, label=label)
    log2_axis(axes.xaxis, p)
    log_axis(axes.yaxis)
    axes.set_xlabel(counts)
    axes.set_ylabel("time [s]")
    axes.legend(**(BELOW | {"ncols": 4, "bbox_to_anchor": (0.5, -0.12)}))


def _draw_medians(axes: Axes, bands: Sequence[Band]) -> None:
    """Draw the medians in the color of what takes most."""
    fixed = [term.binds for term in MECHANISMS]  # the same color on every page
    kinds = dict.fromkeys([*fixed, *(band.binds for band in bands)])
    colors = dict(zip(kinds, cycle(SERIES), strict=False))
    for before, band in pairwise(bands):
        ends = (before.p, band.p), (before.median, band.median)
        axes.plot(*ends, color=colors[band.binds], zorder=3)
    for kind in dict.fromkeys(band.binds for band in bands):
        axes.plot([], [], "o-", color=colors[kind], label=kind)
    for band in bands:
        color = colors[band.binds]
        (dot,) = axes.plot(band.p, band.median, "o", color=color, markersize=7, alpha=0.6)
        point_out(
            dot,
            f"p={band.p:g}: {format_seconds(band.median)}, 90 %: {_range(band)}; "
            f"{band.binds} binds ({100 * band.binds_chance:.0f} %)",
        )


def _draw_knee(axes: Axes, answer: Forecast, last: float) -> None:
    knee = answer.knee
    if knee.median is None or knee.low90 is None or knee.chance < LIKELY:
        return
    end = f"{knee.high90:.3g}" if knee.high90 is not None else f"beyond {last:g}"
    note = f"knee at {knee.median:.3g}, 90 %: {knee.low90:.3g} .. {end}"
    high = min(knee.high90 or last, last)
    point_out(axes.axvspan(knee.low90, high, color="#999999", alpha=0.15, linewidth=0), note)
    line = axes.axvline(knee.median, color="#999999", linestyle="dashed", label="knee")
    point_out(line, note)


def _is_shown(run: Run, bands: Sequence[Band]) -> bool:
    """Tell whether a run is of the work that is shown: that of its p, or of all."""
    alike = [band for band in bands if band.p == run.p]
    return not alike or any(band.holds(run) for band in alike)


def _draw_surface(figure: Figure, surface: Surface, runs: Sequence[Run], counts: str) -> None:
    """Draw the time as filled contours, and lines of equal efficiency: isoefficiency curves."""
    from matplotlib import patheffects
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator

    figure.set_size_inches(6.0, 4.4)
    axes = figure.subplots()
    style: dict[str, Any] = {"cmap": "Blues", "norm": LogNorm()}
    filled = axes.contourf(
        surface.p,
        surface.n,
        surface.seconds,
        locator=LogLocator(subs=(1, 2, 5)),
        extend="both",
        **style,
    )
    lines = axes.contour(
        surface.p, surface.n, surface.efficiency, levels=_EFFICIENCIES, colors=ON_BLUE,
        linewidths=1.2,
    )  # fmt: skip
    for text in axes.clabel(
        lines, fmt=lambda value: f"{100 * value:.0f} %", fontsize=8, inline=False
    ):
        text.set_path_effects([patheffects.withStroke(linewidth=2, foreground=CASING)])
    for run in runs:
        (dot,) = axes.plot(run.p, run.n, "o", color=INK, clip_on=False)
        point_out(dot, f"measured at p={run.p:g}, n={run.n:g}: {format_seconds(run.seconds)}")
    log2_axis(axes.xaxis, surface.p)
    log2_axis(axes.yaxis, surface.n)
    axes.set_xlabel(counts)
    axes.set_ylabel("work n")
    bar = figure.colorbar(filled, ax=axes, pad=0.02, format="%g")
    bar.set_label("time [s]")
