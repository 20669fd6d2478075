"""The real thing: programs run under MPI, machines measured, MPI programs traced."""

from __future__ import annotations

from collections.abc import Iterator

from parcast import PartEntry, SolverEntry, hookimpl


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add the part that says where a machine's numbers were measured."""
    yield PartEntry("host", "parcast_mpi.host:Host", "The host that a machine was measured on.")


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry]:
    """Add the real run, asked only when named."""
    yield SolverEntry(
        "mpi.run",
        "program",
        "parcast_mpi.running.solver:Run",
        "Runs the program under MPI on this host, and measures its time.",
        options="parcast_mpi.running.solver:Options",
        on_request=True,
    )
