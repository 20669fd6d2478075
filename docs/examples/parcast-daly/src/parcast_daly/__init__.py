"""Checkpoints and failures for parcast: how long a job takes on nodes that fail."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from parcast import KindEntry, PartEntry, Resource, SolverEntry, hookimpl


@hookimpl
def parcast_kinds() -> Iterator[KindEntry]:
    yield KindEntry("checkpointed", "parcast_daly.job:Job", "Work that saves its state.")


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    yield PartEntry("failures", "parcast_daly.failures:Failures", "How often nodes fail.")


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry]:
    solver, options = "parcast_daly.solver:Daly", "parcast_daly.solver:Options"
    yield SolverEntry("daly", "checkpointed", solver, "Failures and restarts.", options=options)


@hookimpl
def parcast_machines() -> Iterator[Resource]:
    yield Resource("failing-nodes", files(__name__) / "failing-nodes.toml")


@hookimpl
def parcast_workloads() -> Iterator[Resource]:
    yield Resource("long-job", files(__name__) / "long-job.toml")
