"""Times of several workloads, a small plot for each, all with one legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parcast_report import curves
from parcast_report.choosing import Picture, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Plots in a line.
_COLUMNS = 4


def draw(figure: Figure, pictures: Sequence[Picture]) -> None:
    """Draw the times of each picture over what it runs over, a workload's name above them."""
    columns = min(_COLUMNS, len(pictures))
    lines = -(-len(pictures) // columns)
    figure.set_size_inches(2.4 * columns, 2.1 * lines + 0.5)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    shown: dict[str, Any] = {}
    for axes, picture in zip(panels, pictures, strict=False):
        curves.draw_times(axes, picture)
        axes.set_title(visible(picture.series[0].rows[0].workload))
        axes.tick_params(axis="x", labelrotation=40)
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    for axes in panels[len(pictures) :]:
        axes.set_axis_off()
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=_COLUMNS)
    machines = {row.machine for each in pictures for row in each.series[0].rows}
    figure.suptitle(visible(f"on {', '.join(sorted(machines))}"), x=0.01, ha="left", fontsize=9.5)
