"""Timed Petri nets for parcast (Anglano, ICS 1998): programs on loaded nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast petri``."""
    from parcast_petri.commands import app as commands

    app.add_typer(commands, name="petri", help="Timed Petri nets: loaded nodes, shared networks.")
