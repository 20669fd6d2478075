"""Plots of results for parcast: ``-o NAME.svg``, ``.png`` or ``.pdf``."""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Writer, hookimpl


@hookimpl
def parcast_writers() -> Iterator[Writer]:
    """Add one writer for each format of pictures."""
    for suffix, what in ((".svg", "scalable"), (".png", "pixels"), (".pdf", "for print")):
        yield Writer(suffix, "parcast_report.writing:write", f"A plot of the results, {what}.")
