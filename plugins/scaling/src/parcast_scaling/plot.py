"""The curve as a page that needs no network: measured points, bands, knee, what binds by color."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from parcast.html import table
from parcast.quantities import format_seconds
from parcast_scaling.forecast import Band, Forecast
from parcast_scaling.mechanisms import BINDING
from parcast_scaling.times import Run

#: Okabe and Ito's palette, which the color-blind tell apart; one for each that binds.
_COLORS = dict(
    zip(BINDING, ("#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#D55E00"), strict=True)
)

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 760, 460, 80, 20, 20, 50

_STYLE = (
    "body{font:15px system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
    "color:#222;background:#fff}td,th{padding:.1em .8em .1em 0;text-align:right}"
    "svg{width:100%;height:auto}text{font-size:13px}"
)


class _Scale:
    """Where a p and a time stand in the picture: both axes are logarithmic."""

    def __init__(self, bands: Sequence[Band], runs: Sequence[Run]) -> None:
        p = [*(band.p for band in bands), *(run.p for run in runs)]
        seconds = [*(run.seconds for run in runs)]
        seconds += [end for band in bands for end in (band.low90, band.high90)]
        self.p = (math.log(min(p)), math.log(max(p)))
        self.seconds = (math.log(min(seconds)), math.log(max(seconds)))

    def x(self, p: float) -> float:
        low, high = self.p
        part = (math.log(p) - low) / ((high - low) or 1)
        return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)

    def y(self, seconds: float) -> float:
        low, high = self.seconds
        part = (math.log(seconds) - low) / ((high - low) or 1)
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)


def page(answer: Forecast, counts: str, left_out: Sequence[Run] = ()) -> str:
    """Return an HTML page with the curve, and its numbers as a table below.

    Parameters
    ----------
    answer
        What is shown.
    counts
        What p is a number of.
    left_out
        Runs that were measured and not used.
    """
    title = f"Scaling of {answer.where}"
    rows = [
        [
            f"{band.p:g}",
            format_seconds(band.median),
            f"{format_seconds(band.low50)} .. {format_seconds(band.high50)}",
            f"{format_seconds(band.low90)} .. {format_seconds(band.high90)}",
            f"{100 * band.efficiency:.0f} %",
            f"{band.binds} ({100 * band.binds_chance:.0f} %)",
        ]
        for band in answer.bands
    ]
    heads = (counts, "median", "50 %", "90 %", "efficiency", "binds")
    remarks = "".join(f"<p>{escape(remark)}</p>" for remark in answer.remarks)
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>{_picture(answer, counts, left_out)}"
        f"{_legend(answer.bands)}{remarks}{table(heads, rows)}</html>\n"
    )


def _picture(answer: Forecast, counts: str, left_out: Sequence[Run]) -> str:
    runs = [run for run in answer.runs if _shown(run, answer.bands)]
    left_out = [run for run in left_out if _shown(run, answer.bands)]
    scale = _Scale(answer.bands, [*runs, *left_out])
    shapes = [
        *_axes(scale, answer.bands, counts),
        _area(scale, answer.bands, "low90", "high90", 0.15),
        _area(scale, answer.bands, "low50", "high50", 0.3),
        *_knee(scale, answer),
        *_line(scale, answer.bands),
        *(_dot(scale, run, "#222") for run in runs),
        *(_dot(scale, run, "none") for run in left_out),
    ]
    label = f"Time over {counts}, both axes logarithmic; the numbers stand in the table below"
    return (
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{escape(label)}'>"
        f"{''.join(shapes)}</svg>"
    )


def _shown(run: Run, bands: Sequence[Band]) -> bool:
    """Tell whether a run is of the work that is shown: that of its p, or of all."""
    alike = [band for band in bands if band.p == run.p]
    return not alike or any(band.holds(run) for band in alike)


def _axes(scale: _Scale, bands: Sequence[Band], counts: str) -> list[str]:
    shapes = []
    bottom = _HEIGHT - _BOTTOM
    for band in bands:
        x = scale.x(band.p)
        shapes.append(f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{_TOP}' y2='{bottom}' stroke='#eee'/>")
        shapes.append(f"<text x='{x:.1f}' y='{bottom + 18}' text-anchor='middle'>{band.p:g}</text>")
    low, high = (value / math.log(10) for value in scale.seconds)
    for power in range(math.ceil(low), math.floor(high) + 1):
        y = scale.y(10.0**power)
        shapes.append(
            f"<line x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y:.1f}' y2='{y:.1f}' stroke='#ddd'/>"
            f"<text x='{_LEFT - 8}' y='{y + 4:.1f}' text-anchor='end'>"
            f"{format_seconds(10.0**power)}</text>"
        )
    shapes.append(
        f"<text x='{(_LEFT + _WIDTH) / 2}' y='{_HEIGHT - 8}' text-anchor='middle'>"
        f"{escape(counts)}</text>"
    )
    return shapes


def _area(scale: _Scale, bands: Sequence[Band], low: str, high: str, opacity: float) -> str:
    upper = [(scale.x(band.p), scale.y(getattr(band, high))) for band in bands]
    lower = [(scale.x(band.p), scale.y(getattr(band, low))) for band in reversed(bands)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *lower])
    return f"<polygon points='{points}' fill='#0072B2' fill-opacity='{opacity}'/>"


def _knee(scale: _Scale, answer: Forecast) -> list[str]:
    knee = answer.knee
    last = max(band.p for band in answer.bands)
    if knee.median is None or knee.low90 is None:
        return []
    left, right = scale.x(knee.low90), scale.x(min(knee.high90 or last, last))
    x, bottom = scale.x(knee.median), _HEIGHT - _BOTTOM
    note = f"knee at {knee.median:.3g}, 90 %: {knee.low90:.3g} .. "
    note += f"{knee.high90:.3g}" if knee.high90 is not None else f"beyond {last:g}"
    area = (
        f"<rect x='{left:.1f}' y='{_TOP}' width='{max(right - left, 1):.1f}' "
        f"height='{bottom - _TOP}' fill='#777' fill-opacity='.12'><title>{note}</title></rect>"
    )
    line = (
        f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{_TOP}' y2='{bottom}' stroke='#777' "
        f"stroke-dasharray='5 4'><title>{note}</title></line>"
    )
    return [area, line]


def _line(scale: _Scale, bands: Sequence[Band]) -> list[str]:
    shapes = []
    for index, band in enumerate(bands):
        x, y, color = scale.x(band.p), scale.y(band.median), _COLORS[band.binds]
        if index:
            before = bands[index - 1]
            shapes.append(
                f"<line x1='{scale.x(before.p):.1f}' y1='{scale.y(before.median):.1f}' "
                f"x2='{x:.1f}' y2='{y:.1f}' stroke='{color}' stroke-width='2.5'/>"
            )
        note = (
            f"p={band.p:g}: {format_seconds(band.median)}, 90 %: {format_seconds(band.low90)} .. "
            f"{format_seconds(band.high90)}; {band.binds} binds ({100 * band.binds_chance:.0f} %)"
        )
        shapes.append(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='6' fill='{color}' fill-opacity='.6'>"
            f"<title>{escape(note)}</title></circle>"
        )
    return shapes


def _dot(scale: _Scale, run: Run, fill: str) -> str:
    note = f"measured at p={run.p:g}: {format_seconds(run.seconds)}"
    return (
        f"<circle cx='{scale.x(run.p):.1f}' cy='{scale.y(run.seconds):.1f}' r='3.5' "
        f"fill='{fill}' stroke='#222'><title>{escape(note)}</title></circle>"
    )


def _legend(bands: Sequence[Band]) -> str:
    kinds = dict.fromkeys(band.binds for band in bands)
    items = "".join(
        f"<span style='color:{_COLORS[kind]}'>&#9632;</span> {escape(kind)} &nbsp; "
        for kind in kinds
    )
    return (
        f"<p>{items}&#9679; measured, &#9675; left out; shaded: 50 and 90 % band; "
        "dashed: the knee</p>"
    )
