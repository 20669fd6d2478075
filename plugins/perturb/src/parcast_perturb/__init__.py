"""Message-graph perturbation of recorded runs (Sottile, Chandu & Bader 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast perturb``."""
    from parcast_perturb.commands import app as commands

    app.add_typer(commands, name="perturb", help="Perturbations of recorded runs.")
