"""A bar for each row, stacked of its parts: solvers or machines side by side at one point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import Row
from parcast_report.choosing import Picture
from parcast_report.style import INK, PARTS, SERIES, resource_handles, time_unit

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(figure: Figure, picture: Picture) -> None:
    """Draw the bars, the first on top."""
    rows = [(series.label, row) for series in picture.series for row in series.rows]
    figure.set_size_inches(6.0, 1.4 + 0.36 * len(rows))
    axes = figure.subplots()
    longest = max(row.time or 0.0 for _, row in rows)
    size, unit = time_unit([longest])
    resources: dict[str, None] = {}
    marks: dict[str, Artist] = {}
    for index, (_, row) in enumerate(rows):
        resources |= dict.fromkeys(_draw_bar(axes, index, row, size, marks))
        _draw_marks(axes, index, row, size, marks)
    axes.set_yticks(range(len(rows)), [label or "predicted" for label, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(f"time [{unit}]")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    figure.suptitle(picture.title, x=0.01, ha="left", fontsize=9.5)
    handles = resource_handles(name for name in PARTS if name in resources)
    figure.legend(handles=[*handles, *marks.values()], loc="outside lower center", ncols=4)


def _draw_bar(axes: Axes, index: int, row: Row, size: float, marks: dict[str, Artist]) -> list[str]:
    """Draw one bar and return the names of its parts that can be seen."""
    from matplotlib.patches import Patch

    time = row.time or 0.0
    if row.parts is None or not row.parts.total:
        axes.barh(index, time / size, color=SERIES[5], height=0.6)
        marks["time"] = Patch(facecolor=SERIES[5], label="time, parts not known")
        return []
    left, seen = 0.0, []
    for name, part in zip(PARTS, row.parts.values(), strict=True):
        axes.barh(index, part / size, left=left, color=PARTS[name], height=0.6)
        left += part / size
        if part > 1e-3 * time:
            seen.append(name)
    return seen


def _draw_marks(axes: Axes, index: int, row: Row, size: float, marks: dict[str, Artist]) -> None:
    """Draw the proven interval, or else that of confidence, and the measured time."""
    proven = row.lower is not None and row.upper is not None
    ends = (row.lower, row.upper) if proven else row.ci
    if ends is not None:
        label = "proven bounds" if proven else "95 % interval"
        x = [(end or 0.0) / size for end in ends]
        (marks[label],) = axes.plot(
            x, [index] * 2, color=INK, linewidth=1.0, marker="|", label=label
        )
    if row.measured is not None:
        (marks["measured"],) = axes.plot(
            row.measured / size,
            index,
            linestyle="none",
            marker="D",
            markerfacecolor="white",
            markeredgecolor=INK,
            label="measured",
            zorder=4,
        )
