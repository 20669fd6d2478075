"""Checkpoints and failures for parcast: how long a job takes on nodes that fail."""

from __future__ import annotations

from parcast import KindEntry, PartEntry, SolverEntry
from parcast.plugins import resources

parcast_kinds = (KindEntry("checkpointed", "parcast_daly.job:Job", "Work that saves its state."),)
parcast_parts = (PartEntry("failures", "parcast_daly.failures:Failures", "How often nodes fail."),)
parcast_solvers = (
    SolverEntry(
        "daly",
        "checkpointed",
        "parcast_daly.solver:Daly",
        "Failures and restarts.",
        options="parcast_daly.solver:Options",
    ),
)
parcast_machines = resources(__name__, ".toml", "machines")
parcast_workloads = resources(__name__, ".toml", "workloads")
