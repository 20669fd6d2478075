"""Plots that can be zoomed and asked for numbers, by plotly, which the page then carries."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from parcast import ParcastError, Row
from parcast_report.choosing import Picture
from parcast_report.panels import Panel
from parcast_report.style import PARTS, RESOURCES, SERIES, ticks, time_unit
from parcast_report.surfaces import has_speedups, surface

_LAYOUT: dict[str, Any] = {
    "margin": {"l": 60, "r": 10, "t": 30, "b": 50},
    "height": 340,
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": "#7f8896", "size": 12},
    "legend": {"orientation": "h", "y": -0.25},
    "hovermode": "closest",
    "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#7f8896"},
}
_AXIS = {"gridcolor": "rgba(128,136,150,0.25)", "zeroline": False}
_BLUES = [[0, "#eef5fc"], [1, "#08519c"]]
_CONFIG = {"displaylogo": False, "responsive": True, "modeBarButtonsToRemove": ["sendDataToCloud"]}


def library() -> str:
    """Return plotly's script, to stand in the page.

    Raises
    ------
    ParcastError
        If plotly is not installed.
    """
    try:
        offline = importlib.import_module("plotly.offline")
    except ImportError:
        raise ParcastError(
            "--interactive needs plotly; install it with: pip install 'parcast-report[interactive]'"
        ) from None
    script: str = offline.get_plotlyjs()
    return script.replace("</script", "<\\/script")


def figure(panel: Panel, key: str) -> str:
    """Return the markup of a plot, or nothing for those that are drawn as SVG alone."""
    make = {"times": _lines, "speedups": _lines, "errors": _lines, "parts": _stacked,
            "heights": _heights, "map": _map}.get(panel.kind)  # fmt: skip
    if make is None:
        return ""
    data, layout = make(panel.picture, panel.kind)
    # In a script "<" would let a name end it.
    arguments = json.dumps([key, data, {**_LAYOUT, **layout}, _CONFIG]).replace("<", "\\u003c")
    return (
        f'<div id="{key}" role="img" aria-label="{escape(panel.description)}"></div>'
        # not before the page has its widths
        '<script>addEventListener("DOMContentLoaded", () => '
        f"Plotly.newPlot(...{arguments}))</script>"
    )


def _lines(picture: Picture, kind: str) -> tuple[list[Any], dict[str, Any]]:
    rows = [row for series in picture.series for row in series.rows]
    size, unit = time_unit([row.time or 0.0 for row in rows])
    label = {"times": f"time [{unit}]", "speedups": "speedup", "errors": "error [%]"}[kind]
    data: list[Any] = []
    for index, series in enumerate(picture.series):
        points = [(picture.axis.at(row), y) for row in series.rows for y in _value(row, kind, size)]
        data.append(_line(series.label or "predicted", points, SERIES[index]))
    if kind == "times" and (
        measured := {picture.axis.at(r): r.measured / size for r in rows if r.measured}
    ):
        data.append({**_line("measured", list(measured.items()), "#7f8896"), "mode": "markers"})
    straight = kind == "errors" or any(y <= 0 for trace in data for y in trace["y"])
    return data, _axes(
        picture.axis.label, label, "linear" if straight else "log", _positions(picture)
    )


def _value(row: Row, kind: str, size: float) -> Iterator[float]:
    values = {
        "times": (row.time, 1 / size),
        "speedups": (row.speedup, 1.0),
        "errors": (row.error, 100.0),
    }
    value, factor = values[kind]
    if value is not None:
        yield value * factor


def _line(name: str, points: list[tuple[float, float]], color: str) -> dict[str, Any]:
    x, y = ([point[at] for point in points] for at in (0, 1))
    # plotly reads some HTML in names
    return {"type": "scatter", "mode": "lines+markers", "name": escape(name), "x": x, "y": y,
            "line": {"color": color}}  # fmt: skip


def _positions(picture: Picture) -> list[float]:
    return [picture.axis.at(row) for series in picture.series for row in series.rows]


def _axes(x: str, y: str, kind: str, positions: Sequence[float] = ()) -> dict[str, Any]:
    """Return both axes; that of x is logarithmic where all are above 0, and marked there."""
    across: dict[str, Any] = {**_AXIS, "title": {"text": escape(x)}}
    if positions and min(positions) > 0:
        marks = ticks(positions)
        across |= {"type": "log", "tickvals": marks, "ticktext": [f"{mark:g}" for mark in marks]}
    return {"xaxis": across, "yaxis": {**_AXIS, "title": {"text": escape(y)}, "type": kind}}


def _stacked(picture: Picture, kind: str) -> tuple[list[Any], dict[str, Any]]:
    (series,) = picture.series
    data = []
    for index, (name, color) in enumerate(PARTS.items()):
        shares = [
            (picture.axis.at(row), 100 * row.parts.values()[index] / row.parts.total)
            for row in series.rows
            if row.parts
        ]
        line = _line(name, shares, color)
        data.append({**line, "mode": "lines", "stackgroup": kind, "fillcolor": color})
    return data, _axes(picture.axis.label, "share of the time [%]", "linear", _positions(picture))


def _heights(picture: Picture, kind: str) -> tuple[list[Any], dict[str, Any]]:
    (series,) = picture.series
    speedups = has_speedups(series)
    cells = _cells(picture, lambda row: row.speedup if speedups else row.time)
    bar = {"title": {"text": "speedup" if speedups else "time [s]"}}
    data = {**cells, "name": kind, "colorscale": _BLUES, "colorbar": bar}
    return [data], _grid_axes()


def _map(picture: Picture, kind: str) -> tuple[list[Any], dict[str, Any]]:
    names = list(RESOURCES)
    cells = _cells(picture, lambda row: names.index(row.binding) if row.binding in names else None)
    steps = [
        (at / len(names), color) for i, color in enumerate(RESOURCES.values()) for at in (i, i + 1)
    ]
    bar = {"tickvals": list(range(len(names))), "ticktext": names}
    data = {**cells, "name": kind, "colorscale": steps, "zmin": -0.5, "zmax": len(names) - 0.5,
            "colorbar": bar}  # fmt: skip
    return [data], _grid_axes()


def _grid_axes() -> dict[str, Any]:
    layout = _axes("processes p", "disks d", "linear")
    for axis in layout.values():
        axis["type"] = "category"
    return layout


def _cells(picture: Picture, value: Any) -> dict[str, Any]:
    grid, processes, disks = surface(picture.series[0])
    z = [[value(grid[p, d]) if (p, d) in grid else None for p in processes] for d in disks]
    return {"type": "heatmap", "x": list(map(str, processes)), "y": list(map(str, disks)),
            "z": np.array(z, dtype=object).tolist()}  # fmt: skip
