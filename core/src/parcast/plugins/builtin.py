"""The core's own kinds, parts and formats, registered through the same door as anyone's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parcast.plugins.entries import KindEntry, Lowering, PartEntry, Reader, Writer
from parcast.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from concurrent.futures import Executor


@hookimpl
def parcast_kinds() -> Iterator[KindEntry]:
    """Add the kinds that several families share."""
    yield KindEntry("phases", "parcast.model.phases:Phases", "SPMD cycles of computation and I/O.")
    yield KindEntry(
        "program", "parcast.program:Program", "What every process does, in Python.", suffix=".py"
    )


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    """Add the formats that the core reads beside TOML and JSON."""
    target = "parcast.files.programs:read_program"
    yield Reader(".py", target, "A program, read and never executed.")


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add the parts that every family knows."""
    yield PartEntry(
        "processor", "parcast.model.machine:Processor", "How fast one process computes."
    )
    yield PartEntry("nodes", "parcast.model.machine:Nodes", "How many nodes and cores there are.")
    yield PartEntry("network", "parcast.model.machine:Network", "What messages cost.")
    yield PartEntry("storage", "parcast.model.machine:Storage", "How fast the disks are.")
    yield PartEntry(
        "accelerator",
        "parcast.model.accelerator:Accelerator",
        "How fast the accelerators of a node are.",
    )
    yield PartEntry("cost", "parcast.model.machine:Cost", "What a node costs for an hour.")


@hookimpl
def parcast_writers() -> Iterator[Writer]:
    """Add the formats of results; .parquet and .nc need the extra ``frames``."""
    yield Writer(".json", "parcast.results.writers:write_json", "One object: rows and provenance.")
    yield Writer(".jsonl", "parcast.results.writers:write_jsonl", "One row a line.")
    yield Writer(
        ".csv", "parcast.results.writers:write_csv", "One row a line, nested values dotted."
    )
    yield Writer(".extrap.jsonl", "parcast.results.writers:write_extrap", "Times for Extra-P.")
    yield Writer(
        ".parquet", "parcast.results.frame_writers:write_parquet", "A data frame; parcast[frames]."
    )
    yield Writer(
        ".nc", "parcast.results.frame_writers:write_netcdf", "A grid in netCDF4; parcast[frames]."
    )


@hookimpl
def parcast_executor(spec: str) -> Executor | None:
    """Return the executors of this machine: ``processes:4``, ``threads:4``."""
    from parcast.plugins.executors import local_executor

    return local_executor(spec)


@hookimpl
def parcast_lowerings() -> Iterator[Lowering]:
    """Add the ways between the core's own kinds."""
    yield Lowering(
        "phases",
        "program",
        "parcast.program.lowerings.from_phases:lower",
        "Deterministic bursts; messages around a ring.",
        on_request=True,
    )
    yield Lowering(
        "program",
        "phases",
        "parcast.program.lowerings.to_phases:lower",
        "Operations counted, for processes that are alike.",
        cost="parcast.program.lowerings.to_phases:cost",
    )
