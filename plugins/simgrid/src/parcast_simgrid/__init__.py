"""SimGrid as a solver: programs played by S4U on the machine that every family takes."""

from __future__ import annotations

from collections.abc import Iterator

from parcast import SolverEntry, hookimpl
from parcast.plugins import COST_FEATURES, JOBS


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry]:
    """Add the player of programs."""
    yield SolverEntry(
        "simgrid.flows",
        "program",
        "parcast_simgrid.flows:Flows",
        "Every process an actor of SimGrid, its messages flows over the machine's links.",
        options="parcast_simgrid.flows:Options",
        on_request=True,
        follows=(*COST_FEATURES, JOBS),
    )
