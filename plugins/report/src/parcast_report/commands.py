"""``parcast report``: the report of results that a file has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast import ParcastError
from parcast.cli import output_option

if TYPE_CHECKING:
    from parcast import Registry


def report(
    context: typer.Context,
    results: Annotated[Path, typer.Argument(help="Results: a .json or .jsonl file of parcast's.")],
    output: Annotated[
        Path | None, output_option("The file to write; beside the results as .html if not given.")
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Plots to zoom into; parcast-report[interactive].")
    ] = False,
) -> None:
    """Write the report of results: HTML, a picture, Markdown or LaTeX, by the suffix."""
    from parcast.cli import check_output
    from parcast_report.page import write_interactive
    from parcast_report.reading import read_results

    registry: Registry = context.obj
    path = output or results.with_suffix(".html")
    check_output(registry, path)
    if interactive and path.suffix.lower() != ".html":
        raise ParcastError(f"--interactive: only .html can be, {path} is not")
    rows = read_results(results)
    if interactive:
        write_interactive(rows, path)
    else:
        registry.write(rows, path)
    print(path)
