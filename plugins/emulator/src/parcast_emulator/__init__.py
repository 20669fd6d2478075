"""Application emulators and their simulator (Uysal, Kurc, Sussman & Saltz 1998)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from parcast import (
    FamilyEntry,
    KernelEntry,
    KindEntry,
    Lowering,
    PartEntry,
    Query,
    Reader,
    Resource,
    SolverEntry,
    hookimpl,
)
from parcast.plugins import COST_FEATURES, JOBS

if TYPE_CHECKING:
    import typer

#: What logs of Darshan begin with, and what its parsers print first.
_DARSHAN = r"\A[34]\.\d\d\x00|(?m:^# darshan log version: |^# DXT, file_id: )"


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add the parts of machines that data blocks pass."""
    yield PartEntry("disk", "parcast_emulator.hardware:Disk", "One of a node's d disks.")
    yield PartEntry("bus", "parcast_emulator.hardware:Bus", "From a node's disks to its memory.")
    yield PartEntry("nic", "parcast_emulator.hardware:Nic", "A node's port and its buffers.")


@hookimpl
def parcast_kinds() -> Iterator[KindEntry]:
    """Add emulated applications."""
    yield KindEntry(
        "emulator",
        "parcast_emulator.emulators.content:Emulated",
        "Blocks that an application reads, sends and computes on.",
    )


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry | FamilyEntry]:
    """Add the loosely and the tightly coupled simulator."""
    yield SolverEntry(
        "emulator.lc",
        "emulator",
        "parcast_emulator.solvers.lc:LooselyCoupled",
        "Disks, buses, ports and processors, first come first served; exact for its model.",
        options="parcast_emulator.solvers.lc:Options",
        follows=COST_FEATURES,
    )
    yield SolverEntry(
        "emulator.tc",
        "emulator",
        "parcast_emulator.solvers.tc:TightlyCoupled",
        "Processes that issue calls one by one; checking for completion may cost time.",
        options="parcast_emulator.solvers.tc:Options",
        follows=(*COST_FEATURES, JOBS),
    )
    yield FamilyEntry(
        "emulator", "parcast_emulator:choose", "lc where blocks are known beforehand, else tc."
    )


def choose(query: Query) -> str:
    """Return the family's solver for a query."""
    return "emulator.lc" if query.workload.kind == "emulator" else "emulator.tc"


@hookimpl
def parcast_lowerings() -> Iterator[Lowering]:
    """Add programs as emulated applications, and applications as programs."""
    yield Lowering(
        "program",
        "emulator",
        "parcast_emulator.emulators.of_program:emulated",
        "Every process issues its operations one by one.",
        exact=True,
    )
    yield Lowering(
        "emulator",
        "program",
        "parcast_emulator.emulators.to_program:program",
        "At the p asked; each process waits for its reads, and receives turn by turn.",
    )


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    """Add the files of the DLIO benchmark, logs of Darshan, and traces of Recorder."""
    for suffix in (".yaml", ".yml"):
        yield Reader(suffix, "parcast_emulator.dlio:read", "Training, as DLIO describes it.")
    darshan = "parcast_emulator.darshan.workload:read"
    yield Reader(".darshan", darshan, "What a job read and wrote, as Darshan recorded it.")
    printed = "A log of Darshan, as its parsers print it"
    yield Reader(".txt", darshan, f"{printed}.", mark=_DARSHAN)
    yield Reader("", "parcast_emulator.logs:read", f"{printed}, or a folder of Recorder.",
                 mark=rf"{_DARSHAN}|(?m:^recorder\.mt$)")  # fmt: skip
    recorder = "parcast_emulator.recorder.workload:read"
    yield Reader(".mt", recorder, "What a job read and wrote, as Recorder traced it.")


@hookimpl
def parcast_machines() -> Iterator[Resource]:
    """Add the machines of the paper, and some of today."""
    yield from _resources("machines")


@hookimpl
def parcast_workloads() -> Iterator[Resource]:
    """Add the applications of the paper, and some of today."""
    yield from _resources("workloads")


def _resources(folder: str) -> Iterator[Resource]:
    for file in (files(__name__) / folder).iterdir():
        if file.name.endswith(".toml"):
            yield Resource(file.name.removesuffix(".toml"), file)


@hookimpl
def parcast_kernels() -> Iterator[KernelEntry]:
    """Add what is compiled."""
    yield KernelEntry(
        "emulator.ranks",
        "parcast_emulator.warming:ranks",
        "Programs, whose messages share no links.",
    )
    yield KernelEntry(
        "emulator.flows", "parcast_emulator.warming:flows", "Programs, whose messages share links."
    )
    yield KernelEntry(
        "emulator.blocks", "parcast_emulator.warming:blocks", "Emulated applications."
    )


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast emulator``."""
    from parcast_emulator.commands import app as commands

    app.add_typer(commands, name="emulator", help="Application emulators and their simulator.")
