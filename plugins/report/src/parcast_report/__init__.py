"""Reports of results for parcast: ``-o report.html``, pictures, Markdown and LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import Writer, hookimpl

if TYPE_CHECKING:
    import typer


parcast_writers = (
    Writer(".html", "parcast_report.page:write", "A report: plots, tables and notes."),
    Writer(".md", "parcast_report.markdown:write", "A report without plots, in Markdown."),
    Writer(".tex", "parcast_report.latex:write", "Tables for LaTeX."),
    Writer(".svg", "parcast_report.writing:write", "A plot of the results, scalable."),
    Writer(".png", "parcast_report.writing:write", "A plot of the results, pixels."),
    Writer(".pdf", "parcast_report.writing:write", "A plot of the results, for print."),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast report``."""
    from parcast_report.commands import report

    app.command()(report)
