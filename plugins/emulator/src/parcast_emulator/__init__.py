"""Application emulators and their simulator (Uysal, Kurc, Sussman & Saltz 1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import (
    FamilyEntry,
    KernelEntry,
    KindEntry,
    Lowering,
    PartEntry,
    Query,
    Reader,
    SolverEntry,
    hookimpl,
)
from parcast.plugins import COST_FEATURES, JOBS, resources

if TYPE_CHECKING:
    import typer

#: What logs of Darshan begin with, and what its parsers print first.
_DARSHAN = r"\A[34]\.\d\d\x00|(?m:^# darshan log version: |^# DXT, file_id: )"


parcast_parts = (
    PartEntry("disk", "parcast_emulator.hardware:Disk", "One of a node's d disks."),
    PartEntry("bus", "parcast_emulator.hardware:Bus", "From a node's disks to its memory."),
    PartEntry("nic", "parcast_emulator.hardware:Nic", "A node's port and its buffers."),
)


parcast_kinds = (
    KindEntry(
        "emulator",
        "parcast_emulator.emulators.content:Emulated",
        "Blocks that an application reads, sends and computes on.",
    ),
)


parcast_solvers = (
    SolverEntry(
        "emulator.lc",
        "emulator",
        "parcast_emulator.solvers.lc:LooselyCoupled",
        "Disks, buses, ports and processors, first come first served; exact for its model.",
        options="parcast_emulator.solvers.lc:Options",
        follows=COST_FEATURES,
    ),
    SolverEntry(
        "emulator.tc",
        "emulator",
        "parcast_emulator.solvers.tc:TightlyCoupled",
        "Processes that issue calls one by one; checking for completion may cost time.",
        options="parcast_emulator.solvers.tc:Options",
        follows=(*COST_FEATURES, JOBS),
    ),
    FamilyEntry(
        "emulator", "parcast_emulator:choose", "lc where blocks are known beforehand, else tc."
    ),
)


def choose(query: Query) -> str:
    """Return the family's solver for a query."""
    return "emulator.lc" if query.workload.kind == "emulator" else "emulator.tc"


parcast_lowerings = (
    Lowering(
        "program",
        "emulator",
        "parcast_emulator.emulators.of_program:emulated",
        "Every process issues its operations one by one.",
        exact=True,
    ),
    Lowering(
        "emulator",
        "program",
        "parcast_emulator.emulators.to_program:program",
        "At the p asked; each process waits for its reads, and receives turn by turn.",
    ),
)


parcast_readers = (
    Reader(".yaml", "parcast_emulator.dlio:read", "Training, as DLIO describes it."),
    Reader(".yml", "parcast_emulator.dlio:read", "Training, as DLIO describes it."),
    Reader(
        ".darshan",
        "parcast_emulator.darshan.workload:read",
        "What a job read and wrote, as Darshan recorded it.",
    ),
    Reader(
        ".txt",
        "parcast_emulator.darshan.workload:read",
        "A log of Darshan, as its parsers print it.",
        mark=_DARSHAN,
    ),
    Reader(
        "",
        "parcast_emulator.logs:read",
        "A log of Darshan, as its parsers print it, or a folder of Recorder.",
        mark=rf"{_DARSHAN}|(?m:^recorder\.mt$)",
    ),
    Reader(
        ".mt",
        "parcast_emulator.recorder.workload:read",
        "What a job read and wrote, as Recorder traced it.",
    ),
)


parcast_machines = resources(__name__, ".toml", "machines")
parcast_workloads = resources(__name__, ".toml", "workloads")


parcast_kernels = (
    KernelEntry(
        "emulator.ranks",
        "parcast_emulator.warming:ranks",
        "Programs, whose messages share no links.",
    ),
    KernelEntry(
        "emulator.flows", "parcast_emulator.warming:flows", "Programs, whose messages share links."
    ),
    KernelEntry("emulator.blocks", "parcast_emulator.warming:blocks", "Emulated applications."),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast emulator``."""
    from parcast_emulator.commands import app as commands

    app.add_typer(commands, name="emulator", help="Application emulators and their simulator.")
