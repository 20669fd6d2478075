"""Reports of results for parcast: ``-o report.html``, pictures, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parcast import Writer, hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def parcast_writers() -> Iterator[Writer]:
    """Add one writer for each format of reports and pictures."""
    yield Writer(".html", "parcast_report.page:write", "A report: plots, tables and notes.")
    yield Writer(".md", "parcast_report.markdown:write", "A report without plots, in Markdown.")
    yield Writer(".tex", "parcast_report.latex:write", "Tables for LaTeX.")
    for suffix, kind in ((".svg", "scalable"), (".png", "pixels"), (".pdf", "for print")):
        yield Writer(suffix, "parcast_report.writing:write", f"A plot of the results, {kind}.")


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast report``."""
    from parcast_report.commands import report

    app.command()(report)
