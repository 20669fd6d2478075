"""The one look of all plots: light, readable in print and to the color-blind."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axis import Axis

#: Colors that the color-blind tell apart: Okabe and Ito 2008, "Color Universal Design".
_BLUE, _VERMILION, _ORANGE, _GRAY = "#0072B2", "#D55E00", "#E69F00", "#999999"
SERIES = (_BLUE, _VERMILION, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

#: One color for a resource, whether time is spent there or it binds.
RESOURCES: Mapping[str, str] = {
    "processor": _BLUE,
    "network": _VERMILION,
    "storage": _ORANGE,
    "synchronization": _GRAY,
}
PARTS: Mapping[str, str] = {
    "compute": _BLUE,
    "communication": _VERMILION,
    "io": _ORANGE,
    "synchronization": _GRAY,
}
#: Held while a figure is drawn: matplotlib's settings are of all threads.
DRAWING = threading.RLock()

INK, FAINT = "#222222", "#DDDDDD"

#: Lines on filled contours and the border around them: on any page, light or dark, the same.
ON_BLUE, CASING = "#222223", "#FFFFFE"

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "text.color": INK,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.0,
    "figure.facecolor": "white",
    "svg.hashsalt": "parcast",  # the same results give the same file
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def time_unit(times: Iterable[float]) -> tuple[float, str]:
    """Return the largest unit that no time is below a tenth of, and its name."""
    least = min((time for time in times if time > 0), default=1.0)
    return next(((size, name) for size, name in _UNITS if least >= size / 10), _UNITS[-1])


#: Labels of numbers from here on take the room of two.
_LONG = 16384


def log2_axis(axis: Axis, values: Iterable[float]) -> None:
    """Make an axis logarithmic with base 2, marked at the values; at powers of 2 if many.

    Where a value is 0 or negative the axis stays linear.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    values = list(values)
    if min(values) <= 0:
        return
    scale = getattr(axis.axes, f"set_{axis.axis_name}scale")  # type: ignore[attr-defined]
    scale("log", base=2)
    axis.set_major_locator(FixedLocator(ticks(values, 11 if max(values) < _LONG else 7)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:g}"))


def ticks(values: Iterable[float], max_ticks: int = 11) -> list[float]:
    """Return where an axis is marked: no two so near that their labels touch."""
    ordered = sorted(set(values))
    first, last = ordered[0], ordered[-1]
    if len(ordered) > 8 and last >= 8 * first:
        powers = [2.0**n for n in range(-60, 60) if first <= 2.0**n <= last]
        return powers[:: -(-len(powers) // max_ticks)]
    marks = ordered[:1]
    for value in ordered[1:]:
        if math.log(value / marks[-1]) * max_ticks >= math.log(last / first):
            marks.append(value)
    if len(marks) > 1:
        marks[-1] = last  # the end is always marked
    return marks


def log_axis(axis: Axis) -> None:
    """Make an axis of positive values logarithmic, marked at 1, 2, 5 or more of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    scale = getattr(axis.axes, f"set_{axis.axis_name}scale")  # type: ignore[attr-defined]
    scale("log")
    low, high = axis.get_view_interval()
    subs = (1.0, 2.0, 5.0) if high > 12 * low else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda tick, _: f"{tick:,.6g}"))


def resource_handles(names: Iterable[str]) -> list[Artist]:
    """Return the patches that a legend shows for resources or parts."""
    from matplotlib.patches import Patch

    colors = {**RESOURCES, **PARTS}
    return [Patch(facecolor=colors[name], label=name) for name in names]


#: A legend of patches below a panel.
BELOW: Any = {
    "loc": "upper center",
    "bbox_to_anchor": (0.5, -0.2),
    "columnspacing": 1.0,
    "handlelength": 1.0,
    "handletextpad": 0.5,
}
