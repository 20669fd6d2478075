"""What commands print: aligned tables, JSON alone on standard output, and how far the work is."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from parcast.cli.terminal import printable_json
from parcast.files.tables import file_to_write
from parcast.files.writing import check_folder

if TYPE_CHECKING:
    from parcast.api import Registry
    from parcast.cli.progress import Progress
    from parcast.comparison.over import Over
    from parcast.results.results import Results


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print(printable_json(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False)))


#: No column is made narrower than this to fit the terminal; its head is broken between words.
_NARROWEST = 20


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    optional: Sequence[str] = (),
    *,
    wide: bool = False,
) -> None:
    """Print an aligned table; no cell is ever cut, however narrow the terminal.

    Where it is too narrow, columns that are ``optional`` are left out, the first before the others,
    and then the widest columns go over several lines, unless the table is to be ``wide``.
    """
    from rich.console import Console
    from rich.table import Table

    width = None if wide else terminal_width()
    for name in optional:
        widths = [max(map(len, column)) + 2 for column in zip(header, *rows, strict=True)]
        if width is not None and sum(widths) - 2 > width:
            left_out = header.index(name)
            header = [head for head in header if head != name]
            rows = [[*row[:left_out], *row[left_out + 1 :]] for row in rows]
    table = Table(box=None, show_header=any(header), pad_edge=False, padding=(0, 2, 0, 0))
    for index, (name, room) in enumerate(zip(header, _widths(header, rows, width), strict=True)):
        right = all(_starts_as_number(row[index]) for row in rows)
        justify: Literal["left", "right"] = "right" if right else "left"
        table.add_column(name, justify=justify, no_wrap=room is None, max_width=room)
    for row in rows:
        table.add_row(*row)
    buffer = io.StringIO()
    plain = Console(
        file=buffer, width=100_000, force_terminal=False, markup=False, emoji=False, highlight=False
    )
    plain.print(table)
    print("\n".join(line.rstrip() for line in buffer.getvalue().splitlines()))


def _widths(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None
) -> list[int | None]:
    """Return how wide columns may be for all to fit, the widest narrowed; None: as they are."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [
        max(
            max(map(len, head.split()), default=0), min(max(map(len, cells), default=0), _NARROWEST)
        )
        for head, *cells in columns
    ]
    narrowed = list(widths)
    while width is not None and sum(narrowed) + 2 * (len(narrowed) - 1) > width:
        wider = [index for index, now in enumerate(narrowed) if now > least[index]]
        if not wider:
            break
        narrowed[max(wider, key=narrowed.__getitem__)] -= 1
    return [None if now == natural else now for now, natural in zip(narrowed, widths, strict=True)]


def _starts_as_number(cell: str) -> bool:
    return not cell or cell[0].isdigit() or cell[0] == "-"


def check_output(registry: Registry, path: Path | None) -> None:
    """Refuse a file that could not be written, before anything is computed.

    Raises
    ------
    FileError
        If no writer knows its suffix, or its folder is not there.
    """
    if path is not None:
        registry.writer(path)
        check_folder(path)


@contextmanager
def writing(registry: Registry, results: Results, path: Path | None) -> Iterator[None]:
    """Write the file of results after they are printed, also where nobody reads to the end."""
    try:
        yield
    except BrokenPipeError:
        if path is not None:
            registry.write(results, path)
        raise
    if path is not None:
        registry.write(results, path)  # last, so that no failure here loses what was found


def output_option(help_text: str) -> Any:
    """Return the option that names the file to write, which is no folder."""
    import typer

    return typer.Option("-o", "--output", parser=file_to_write, metavar="FILE", help=help_text)


def print_text(text: str) -> None:
    """Print a paragraph, wrapped to the terminal."""
    width = terminal_width()
    if width is not None:
        import textwrap

        lines = text.split("\n")
        text = "\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in lines)
    print(text)


def short_number(value: float) -> str:
    """Return a count or an amount as people read it: ``460,800`` or ``1.382e+15``."""
    if 1e12 > abs(value) >= 1000 or float(value).is_integer():
        return f"{round(value):,}" if abs(value) < 1e12 else f"{value:.4g}"
    return f"{value:.4g}"


def terminal_width() -> int | None:
    """Return how many characters a line of the terminal has; None where nothing says."""
    import shutil

    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None


def print_results(results: Results, *, wide: bool = False) -> None:
    """Print the table of results, what is best among them, and the notes.

    Where the terminal is too narrow, the least important columns are left out, unless ``wide``.
    """
    answered, first = results.answered(), results.rows[0]
    header, rows = answered.table()
    left_out: Sequence[str] = ()
    width = None if wide else terminal_width()
    if rows and width is not None:
        from parcast.results.fitting import fitted

        header, rows, left_out = fitted(answered, width)
    if len({(row.workload, row.machine) for row in results.rows}) == 1:
        disks = f", d = {first.d}" if "d" in left_out else ""
        print(f"{first.workload} on {first.machine}{disks}\n")
    if rows:
        print_table(header, rows, wide=wide)
    if jobs := results.jobs():
        print()
        print_table(*jobs)
    shown = [head for head in left_out if head != "d"]
    if shown:
        print_text(f"\nno room for {', '.join(shown)}: --wide shows all")
    _print_paragraph(results.unanswered(), first=not rows)
    _print_machines(results)
    _print_paragraph(results.best())
    _print_paragraph(results.notes())


def print_sweep(results: Results, swept: Over) -> None:
    """Print how the time changes with a number, and from where on it begins to hurt."""
    from parcast.results.sweep import sweep_table, sweeps

    numbers = {text: float(text.split()[0]) for text in swept.values}
    along = sweeps(results.rows, swept.name, numbers)
    if along:
        print(f"{swept.name} from {swept.values[0]} to {swept.values[-1]}\n")
        print_table(*sweep_table(along, swept.unit))
    _print_paragraph(results.unanswered(), first=not along)
    _print_paragraph(results.notes())


def _print_machines(results: Results) -> None:
    """Print machines beside each other, where several are asked about the same."""
    if machines := results.machines():
        print_text(f"\nmachines compared with {machines.first}, by {machines.solver}:\n")
        print_table(machines.header, machines.rows, ["bottleneck", "times as dear"])


def _print_paragraph(sentences: Sequence[str], *, first: bool = False) -> None:
    for index, sentence in enumerate(sentences):
        print_text(("\n" if index == 0 and not first else "") + sentence)


@contextmanager
def show_progress(unit: str = "", *, shown: bool = True) -> Iterator[Progress]:
    """Give what shows a text, and a bar where a total is told, on a terminal that can take it back.

    A line is drawn as it is told, since a compiled kernel may keep the interpreter to itself, and
    anew while that does not. Lines within lines stand below each other. Nothing is shown
    elsewhere, nor by threads and processes that work side by side.

    Parameters
    ----------
    unit
        What is counted, such as ``"points"``; if given, the bar has their rate.
    shown
        False if the work is too short to show anything.
    """
    if not shown or not _drawable():
        yield lambda _text, _done=0.0, _total=None, /: None
        return
    from parcast.cli.progress import drawn

    with drawn(unit) as tell:
        yield tell


def _drawable() -> bool:
    """Tell whether standard error is a terminal, and this the process and thread in front."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    from multiprocessing import parent_process

    return parent_process() is None
