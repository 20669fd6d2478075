"""Machines from outputs of benchmarks, and benchmarks predicted on a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import hookimpl

if TYPE_CHECKING:
    import typer

__all__ = ["parcast_commands"]


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast machine``."""
    from parcast_machines_from.commands import machine

    app.add_typer(machine, name="machine")
