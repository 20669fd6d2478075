"""SimGrid as a solver: programs played by S4U on the machine that every family takes."""

from __future__ import annotations

from parcast import SolverEntry
from parcast.plugins import COST_FEATURES, JOBS

parcast_solvers = (
    SolverEntry(
        "simgrid.flows",
        "program",
        "parcast_simgrid.flows:Flows",
        "Every process an actor of SimGrid, its messages flows over the machine's links.",
        options="parcast_simgrid.flows:Options",
        on_request=True,
        follows=(*COST_FEATURES, JOBS),
    ),
)
