"""The real thing: programs run under MPI, machines measured, MPI programs traced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import PartEntry, SolverEntry, hookimpl
from parcast.plugins import COST_FEATURES

if TYPE_CHECKING:
    import typer


parcast_parts = (
    PartEntry("host", "parcast_mpi.host:Host", "The host that a machine was measured on."),
    PartEntry(
        "variability",
        "parcast_mpi.variability:Variability",
        "Noise and the time of short messages, as measured distributions.",
    ),
)


parcast_solvers = (
    SolverEntry(
        "mpi.run",
        "program",
        "parcast_mpi.running.solver:Run",
        "Runs the program under MPI on this host, and measures its time.",
        options="parcast_mpi.running.solver:Options",
        on_request=True,
        follows=(
            "background",
            "noise",
            "network.collectives",
            "network.saturation",
            *COST_FEATURES,
        ),  # what there is of them
    ),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast mpi``."""
    from parcast_mpi.commands import app as commands

    app.add_typer(commands, name="mpi", help="Measure this host, and trace MPI programs.")
