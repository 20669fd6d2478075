"""The core's own kinds, parts and formats, registered through the same door as anyone's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.plugins.entries import KindEntry, Lowering, PartEntry, Reader, Writer
from parcast.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from concurrent.futures import Executor


parcast_kinds = (
    KindEntry("phases", "parcast.model.phases:Phases", "SPMD cycles of computation and I/O."),
    KindEntry(
        "program", "parcast.program:Program", "What every process does, in Python.", suffix=".py"
    ),
)


parcast_readers = (
    Reader(".py", "parcast.files.tables:read_program", "A program, read and never executed."),
)


parcast_parts = (
    PartEntry("processor", "parcast.model.machine:Processor", "How fast one process computes."),
    PartEntry("nodes", "parcast.model.machine:Nodes", "How many nodes and cores there are."),
    PartEntry("network", "parcast.model.machine:Network", "What messages cost."),
    PartEntry("storage", "parcast.model.machine:Storage", "How fast the disks are."),
    PartEntry(
        "accelerator",
        "parcast.model.accelerator:Accelerator",
        "How fast the accelerators of a node are.",
    ),
    PartEntry("cost", "parcast.model.machine:Cost", "What a node costs for an hour."),
)


parcast_writers = (
    Writer(".json", "parcast.results.writers:write_json", "One object: rows and provenance."),
    Writer(".jsonl", "parcast.results.writers:write_jsonl", "One row a line."),
    Writer(".csv", "parcast.results.writers:write_csv", "One row a line, nested values dotted."),
    Writer(".extrap.jsonl", "parcast.results.writers:write_extrap", "Times for Extra-P."),
    Writer(
        ".parquet", "parcast.results.frame_writers:write_parquet", "A data frame; parcast[frames]."
    ),
    Writer(
        ".nc", "parcast.results.frame_writers:write_netcdf", "A grid in netCDF4; parcast[frames]."
    ),
)


@hookimpl
def parcast_executor(spec: str) -> Executor | None:
    """Return the executors of this machine: ``processes:4``, ``threads:4``."""
    from parcast.plugins.executors import local_executor

    return local_executor(spec)


parcast_lowerings = (
    Lowering(
        "phases",
        "program",
        "parcast.program.lowerings.from_phases:lower",
        "Deterministic bursts; messages around a ring.",
        on_request=True,
        shared=True,
    ),
    Lowering(
        "program",
        "phases",
        "parcast.program.lowerings.to_phases:lower",
        "Operations counted, for processes that are alike.",
        cost="parcast.program.lowerings.to_phases:cost",
        shared=True,
    ),
)
