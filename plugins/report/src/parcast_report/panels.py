"""The plots of a report, one figure each, with the table that says the same in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import attrs

from parcast import ParcastError, Results, Row
from parcast.model import Parts
from parcast.quantities import format_seconds, is_number
from parcast_report import bars, curves, spread, surfaces
from parcast_report.choosing import MOST, Picture, Series, choose
from parcast_report.content import MOST_ROWS, Table, by_solver, coordinates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More columns than this make no table that can be read.
_MOST_COLUMNS = 16

_PARTS = tuple(field.name for field in attrs.fields(Parts))


@attrs.frozen
class Panel:
    """One plot."""

    kind: str  #: times, speedups, parts, errors, heights, map, bars or distribution
    title: str
    description: str  #: for those who do not see it
    draw: Callable[[Figure], None] = attrs.field(repr=False)
    table: Table
    picture: Picture = attrs.field(repr=False)  #: of this plot's rows


def panels(results: Results) -> tuple[list[Panel], list[str]]:
    """Return the plots of one case, and sentences about what cannot be drawn.

    Where all rows are too many for one picture there is one for each solver.
    """
    pictures, sentences = [], []
    try:
        pictures.append(choose(results))
    except ParcastError as error:
        groups = by_solver(row for row in results.rows if row.time is not None)
        sentences = [] if len(groups) > 1 else [f"{error}."]
        for rows in groups.values() if len(groups) > 1 else ():
            try:
                pictures.append(choose(attrs.evolve(results, rows=tuple(rows))))
            except ParcastError as reason:
                sentences.append(f"{rows[0].solver}: {reason}.")
    return [panel for picture in pictures for panel in _of(picture)], sentences


def _of(picture: Picture) -> Iterator[Panel]:
    many = {"surface": _of_surface, "curves": _of_curves, "bars": _of_bars}
    yield from many[picture.kind](picture)
    rows = [row for series in picture.series for row in series.rows]
    if picture.kind == "curves" and any(row.error is not None for row in rows):
        draw = partial(_on_axes, draw=partial(spread.draw_errors, picture=picture))
        yield _panel("errors", "Error against the measured times", picture, draw, _error)
    distributions = spread.with_quantiles(rows)[: MOST["curves"]]
    if distributions:
        yield _distribution(picture, distributions)


def _of_curves(picture: Picture) -> Iterator[Panel]:
    draw = partial(_on_axes, draw=partial(curves.draw_times, picture=picture))
    yield _panel("times", "Time", picture, draw, _time)
    if any(row.speedup for series in picture.series for row in series.rows):
        draw = partial(
            _on_axes, draw=partial(curves.draw_speedups, picture=picture, with_labels=True)
        )
        yield _panel("speedups", "Speedup over p=1, d=1", picture, draw, _speedup)
    for series in picture.series:
        if curves.has_parts(series):
            yield _of_parts(picture, series)


def _of_parts(picture: Picture, series: Series) -> Panel:
    part = attrs.evolve(picture, series=(series,))
    rows = [
        (f"{picture.axis.at(row):g}", *(_share(part, row) for part in row.parts.values()))
        for row in series.rows
        if row.parts
    ]
    header = (picture.axis.label, *_PARTS)
    title = "Where the time goes" + (f": {series.label}" if series.label else "")
    return Panel(
        "parts", title, _describe(title, part),
        partial(_on_axes, draw=partial(curves.draw_parts, series=series, axis=picture.axis)),
        Table(title, header, tuple(rows[:MOST_ROWS])), part,
    )  # fmt: skip


def _share(part: float, row: Row) -> str:
    return f"{100 * part / row.parts.total:.1f} %" if row.parts else ""


def _of_bars(picture: Picture) -> Iterator[Panel]:
    rows = tuple(
        (series.label or "predicted", _time(row), *_lengths(row))
        for series in picture.series
        for row in series.rows
    )
    title = "Time, and where it goes"
    table = Table(title, ("", "time", *_PARTS), rows)
    draw = partial(_untitled, draw=partial(bars.draw, picture=picture))
    yield Panel("bars", title, _describe(title, picture), draw, table, picture)


def _lengths(row: Row) -> tuple[str, ...]:
    return tuple(map(format_seconds, row.parts.values())) if row.parts else ("",) * len(_PARTS)


def _of_surface(picture: Picture) -> Iterator[Panel]:
    for series in picture.series:
        part = attrs.evolve(picture, series=(series,))
        suffix = f": {series.label}" if series.label else ""
        speedups = surfaces.has_speedups(series)
        title = ("Speedup over p=1, d=1" if speedups else "Time") + suffix
        draw = partial(_on_axes, draw=partial(surfaces.draw_heights, series=series))
        cell = _speedup if speedups else _time
        yield Panel(
            "heights", title, _describe(title, part), draw, _grid(title, series, cell), part
        )
        if any(row.binding for row in series.rows):
            title = f"Bottleneck{suffix}"
            draw = partial(_on_axes, draw=partial(surfaces.draw_map, series=series))
            table = _grid(title, series, lambda row: row.binding or "")
            yield Panel("map", title, _describe(title, part), draw, table, part)


def _grid(title: str, series: Series, cell: Callable[[Row], str]) -> Table:
    """Return a line for each p and a column for each d, thinned where there are many."""
    grid, processes, disks = surfaces.surface(series)
    disks = disks[:: -(-len(disks) // _MOST_COLUMNS)]
    processes = processes[:: -(-len(processes) // (2 * _MOST_COLUMNS))]
    rows = [
        (f"{p}", *(cell(grid[p, d]) if (p, d) in grid else "" for d in disks)) for p in processes
    ]
    return Table(title, ("p", *(f"d={d}" for d in disks)), tuple(rows))


def _distribution(picture: Picture, rows: Sequence[Row]) -> Panel:
    levels = sorted({level for row in rows for level in row.quantiles}, key=float)
    title = "Distribution of the time"
    cells = tuple(
        (f"{row.solver}, {coordinates(row)}", *(_seconds(row.quantiles.get(q)) for q in levels))
        for row in rows
    )
    table = Table(title, ("of", *(f"{100 * float(q):g} % below" for q in levels)), cells)
    draw = partial(_on_axes, draw=partial(spread.draw_distribution, rows=rows))
    description = f"{title}: of {', '.join(row[0] for row in cells)}"
    return Panel("distribution", title, description, draw, table, picture)


def _panel(
    kind: str,
    title: str,
    picture: Picture,
    draw: Callable[[Figure], None],
    cell: Callable[[Row], str],
) -> Panel:
    """Return a plot of all series over the axis; its table has a column for each."""
    columns = [
        {picture.axis.at(row): cell(row) for row in series.rows} for series in picture.series
    ]
    positions = sorted({at for column in columns for at in column})
    rows = tuple(
        (f"{at:g}", *(column.get(at, "") for column in columns))
        for at in islice(positions, MOST_ROWS)
    )
    header = (picture.axis.label, *(series.label or "predicted" for series in picture.series))
    return Panel(kind, title, _describe(title, picture), draw, Table(title, header, rows), picture)


def _time(row: Row) -> str:
    bounds = row.lower is not None and row.upper is not None
    interval = f" ({_seconds(row.lower)} .. {_seconds(row.upper)})" if bounds else ""
    measured = f", measured {format_seconds(row.measured)}" if row.measured else ""
    return _seconds(row.time) + interval + measured


def _seconds(time: float | None) -> str:
    return "" if time is None else format_seconds(time)


def _speedup(row: Row) -> str:
    return f"{row.speedup:.3g}" if row.speedup else ""


def _error(row: Row) -> str:
    return f"{100 * row.error:+z.1f} %" if is_number(row.error) and row.error is not None else ""


def _describe(title: str, picture: Picture) -> str:
    """Return what a plot shows, in a sentence with its ends."""
    labels = [series.label for series in picture.series if series.label]
    rows = [row for series in picture.series for row in series.rows]
    times = sorted(row.time for row in rows if row.time is not None)
    sentence = f"{title} of {picture.title}"
    if picture.kind != "bars":
        sentence += f" over {'p and d' if picture.kind == 'surface' else picture.axis.label}"
    if len(labels) > 1:
        sentence += f", for {', '.join(labels)}"
    return f"{sentence}; times are from {_seconds(times[0])} to {_seconds(times[-1])}."


def _on_axes(figure: Figure, draw: Callable[[Axes], None]) -> None:
    """Draw one panel with its legend below; the page has the title."""
    figure.set_size_inches(3.9, 3.0)
    axes = figure.subplots()
    draw(axes)
    axes.set_title("")
    handles, labels = axes.get_legend_handles_labels()
    if axes.get_legend() is None and handles:
        wide = max(map(len, labels)) > 22
        figure.set_figheight(2.7 + 0.17 * (len(labels) if wide else -(-len(labels) // 2)))
        figure.legend(handles, labels, loc="outside lower center", ncols=1 if wide else 2)


def _untitled(figure: Figure, draw: Callable[[Figure], None]) -> None:
    draw(figure)
    figure.suptitle("")
    width, height = figure.get_size_inches()
    figure.set_size_inches(min(width, 3.9), height)
