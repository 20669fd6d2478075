"""Rooflines for parcast: every hook there is, each used once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from importlib.resources import files
from typing import TYPE_CHECKING

from parcast import (
    FamilyEntry,
    KernelEntry,
    KindEntry,
    Lowering,
    PartEntry,
    Prediction,
    PredictorEntry,
    Query,
    Reader,
    Resource,
    SolverEntry,
    Writer,
    hookimpl,
)
from parcast.model import ErrorRecord

if TYPE_CHECKING:
    import typer


@hookimpl
def parcast_kinds() -> Iterator[KindEntry]:
    yield KindEntry("kernel", "parcast_roofline.kernel:Kernel", "Loops: work and bytes.")


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    yield PartEntry("cache", "parcast_roofline.cache:Cache", "One process's own cache.")


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry | FamilyEntry]:
    options = "parcast_roofline.solvers:Options"
    dram, cache = "parcast_roofline.solvers:Dram", "parcast_roofline.solvers:InCache"
    yield SolverEntry("roofline.dram", "kernel", dram, "Data from memory.", options=options)
    yield SolverEntry("roofline.cache", "kernel", cache, "Data from cache.", options=options)
    choose = "parcast_roofline.solvers:choose"
    yield FamilyEntry("roofline", choose, "From cache where it all fits.", kind="kernel")


@hookimpl
def parcast_machines() -> Iterator[Resource]:
    yield Resource("round-node", files(__name__) / "round-node.toml")


@hookimpl
def parcast_workloads() -> Iterator[Resource]:
    yield Resource("stream-triad", files(__name__) / "stream-triad.toml")


@hookimpl
def parcast_measurements() -> Iterator[Resource]:
    yield Resource("triad-runs", files(__name__) / "triad-runs")


@hookimpl
def parcast_predictors() -> Iterator[PredictorEntry]:
    yield PredictorEntry("halving", "parcast_roofline.halving:predict", "Perfect speedup.")


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    yield Reader(".roof", "parcast_roofline.roof:read", "A kernel, one loop a line.")


@hookimpl
def parcast_writers() -> Iterator[Writer]:
    yield Writer(".adoc", "parcast_roofline.asciidoc:write", "An AsciiDoc table.")


@hookimpl
def parcast_lowerings() -> Iterator[Lowering]:
    yield Lowering("kernel", "phases", "parcast_roofline.lower:phases", "One phase a loop.")


@hookimpl
def parcast_kernels() -> Iterator[KernelEntry]:
    yield KernelEntry("roofline", "parcast_roofline.loops:warm", "Loops summed.")


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    from parcast_roofline.commands import roofline

    app.add_typer(roofline, name="roofline")


@hookimpl
def parcast_executor(spec: str) -> Executor | None:
    name, _, count = spec.partition(":")
    if name != "pool":
        return None
    from parcast_roofline.executor import pool

    return pool(count)


@hookimpl
def parcast_usual_error(solver: str, distance: float | None) -> ErrorRecord | None:
    if solver != "roofline" or distance is None or distance > 4:
        return None
    return ErrorRecord(factor=1.2, level=0.9, points=20, datasets=("triad-runs",))


@hookimpl
def parcast_point_done(query: Query, prediction: Prediction) -> None:
    logging.getLogger(__name__).debug(
        "%s on %s at p=%d: %s",
        query.workload.name, query.machine.name, query.p, prediction.status.value,
    )  # fmt: skip
