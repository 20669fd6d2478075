"""Plans as a picture: time against cost over numbers of accelerators, and against memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcast.errors import FileError
from parcast.files import check_folder, write_text
from parcast.quantities import format_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Rows of `parcast training plan` by numbers of accelerators, each a front: the least memory first.
Fronts = Mapping[int, Sequence[Mapping[str, Any]]]

_DRAWN = {".html", ".svg"}


def check_picture(path: Path) -> None:
    """Refuse a file that could not be written, before anything is computed.

    Raises
    ------
    FileError
        If its folder is not there, or it is a picture and ``parcast-report`` is not installed.
    """
    check_folder(path)
    if path.suffix.lower() in _DRAWN:
        try:
            import parcast_report  # noqa: F401
        except ImportError:
            raise FileError(
                f"{path}: pictures are drawn by parcast-report; pip install parcast-report"
            ) from None


def write_picture(path: Path, title: str, fronts: Fronts) -> None:
    """Write a page (.html) or a figure (.svg)."""
    if path.suffix.lower() == ".svg":
        _write_figure(path, title, fronts)
        return
    from parcast_report.content import Table
    from parcast_report.document import Drawing, Section, document

    heads = ("GPUs", "time", "GPU h/M tokens", "memory", "layout", "bottleneck")
    rows = [
        (
            str(row["gpus"]),
            format_seconds(row["seconds"]),
            f"{row['gpu_hours_per_million_tokens']:.4g}",
            f"{row['memory_bytes'] / 1e9:.1f} GB",
            layout_text(row),
            row["bottleneck"],
        )
        for front in fronts.values()
        for row in front
    ]
    drawing = Drawing(
        "Time against cost and memory",
        "Time of a step against its cost, and against the memory of a rank; the numbers stand in "
        "the table",
        partial(draw, title="", fronts=fronts),
    )
    says = [
        "Each layout in the table is beaten by none of as many accelerators in time and memory."
    ]
    section = Section("Layouts", says, [], [drawing], [Table("Layouts", heads, tuple(rows))])
    write_text(path, document(title, "Training plan", [], [section]))


def layout_text(row: Mapping[str, Any]) -> str:
    """Return a layout in a few words: what differs from 1 or from nothing."""
    sizes = [f"{name} {row[name]}" for name in ("tp", "pp", "dp", "cp", "ep") if row[name] > 1]
    sizes.append(f"micro {row['micro_batch']}")
    if row["interleave"] > 1:
        sizes.append(f"{row['interleave']} pieces")
    if row["schedule"] in {"zero-bubble", "dualpipe"}:
        sizes.append(row["schedule"])
    if row["zero"]:
        sizes.append(f"zero {row['zero']}")
    if row["recompute"] != "none":
        sizes.append(f"recompute {row['recompute']}")
    return ", ".join(sizes)


def cost_of(rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return which number of rows is the cost, and its axis: money where the machine states it."""
    if all("cost_per_million_tokens" in row for row in rows):
        return "cost_per_million_tokens", "cost of a million tokens"
    return "gpu_hours_per_million_tokens", "GPU hours for a million tokens"


def unbeaten(rows: Sequence[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """Return the rows that none beats both in time and in a number, the fastest first."""
    fastest = list[Mapping[str, Any]]()
    for row in sorted(rows, key=lambda r: (r["seconds"], r[key])):
        if not fastest or row[key] < fastest[-1][key]:
            fastest.append(row)
    return fastest


def draw(figure: Figure, title: str, fronts: Fronts) -> None:
    """Draw time against cost where numbers of accelerators differ, and against memory."""
    both = len(fronts) > 1
    figure.set_size_inches(7.4 if both else 4.6, 3.6)
    panels = figure.subplots(1, 1 + both, squeeze=False)[0]
    if both:
        _draw_costs(panels[0], fronts)
    _draw_memory(panels[-1], fronts)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=9.5)


def _draw_costs(axes: Axes, fronts: Fronts) -> None:
    from parcast_report.style import FAINT, INK, SERIES, log2_axis
    from parcast_report.svg import point_out

    fastest = [min(front, key=lambda row: row["seconds"]) for front in fronts.values()]
    key, label = cost_of(fastest)
    front = unbeaten(fastest, key)
    axes.plot([r[key] for r in front], [r["seconds"] for r in front], color=FAINT, zorder=2)
    for row, color in zip(fastest, cycle(SERIES), strict=False):
        fill = color if row in front else "none"
        (dot,) = axes.plot(row[key], row["seconds"], "o", color=color, markerfacecolor=fill)
        point_out(dot, f"{row['gpus']} GPUs, {format_seconds(row['seconds'])}: {layout_text(row)}")
        axes.annotate(
            str(row["gpus"]), (row[key], row["seconds"]), xytext=(5, 3),
            textcoords="offset points", color=INK, fontsize=8,
        )  # fmt: skip
    log2_axis(axes.yaxis, [row["seconds"] for row in fastest])
    axes.set_title("fastest layout of each number of GPUs")
    axes.set_xlabel(label)
    axes.set_ylabel("time of a step [s]")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    axes.locator_params(axis="x", nbins=5)
    axes.margins(x=0.15)


def _draw_memory(axes: Axes, fronts: Fronts) -> None:
    from parcast_report.style import BELOW, MARKERS, SERIES, log_axis
    from parcast_report.svg import point_out

    looks = zip(fronts.items(), cycle(SERIES), cycle(MARKERS), strict=False)
    for (gpus, front), color, marker in looks:
        memory = [row["memory_bytes"] / 1e9 for row in front]
        seconds = [row["seconds"] for row in front]
        axes.plot(memory, seconds, color=color, drawstyle="steps-post", linewidth=0.8)
        axes.plot([], [], marker, color=color, label=f"{gpus} GPUs")
        for row, x, y in zip(front, memory, seconds, strict=True):
            (dot,) = axes.plot(x, y, marker, color=color)
            point_out(dot, f"{gpus} GPUs, {format_seconds(y)}, {x:.1f} GB: {layout_text(row)}")
    log_axis(axes.yaxis)
    axes.set_title("layouts that none beats in time and memory")
    axes.set_xlabel("memory of a rank [GB]")
    axes.set_ylabel("time of a step [s]")
    if len(fronts) > 1:
        axes.legend(**(BELOW | {"ncols": 4}))


def _write_figure(path: Path, title: str, fronts: Fronts) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from parcast_report.style import DRAWING, RC

    with DRAWING, mpl.rc_context(RC):
        figure = Figure(layout="constrained")
        draw(figure, title, fronts)
        metadata: Any = {"Date": None, "Creator": "parcast"}
        figure.savefig(path, format="svg", metadata=metadata, bbox_inches="tight")
