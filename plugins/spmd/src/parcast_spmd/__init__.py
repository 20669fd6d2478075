"""SPMD queuing networks for parcast (Cremonesi & Gennaro, IEEE TPDS 13(12), 2002)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import FamilyEntry, KernelEntry, Reader, SolverEntry, hookimpl
from parcast.plugins import MEMORY_FEATURES

if TYPE_CHECKING:
    import typer


_FOLLOWED = ("network.saturation", *MEMORY_FEATURES)

#: Files of JMT, which a command takes.
parcast_readers = (
    Reader(
        ".jsimg",
        "parcast_spmd.network_files:read",
        "A queuing network of JMT.",
        command="spmd network",
    ),
    Reader(
        ".jmva",
        "parcast_spmd.network_files:read",
        "A queuing network of JMT.",
        command="spmd network",
    ),
)

parcast_solvers = (
    FamilyEntry(
        "spmd",
        "parcast_spmd.solvers.phases:choose",
        "The queuing model that fits the workload's I/O and the machine's layout.",
        kind="phases",
    ),
    SolverEntry(
        "spmd.sio",
        "phases",
        "parcast_spmd.solvers.sio:sio",
        "Synchronous I/O: fork-join around a shared network.",
        options="parcast_spmd.options:SioOptions",
        choices={"law of bursts": {"method": "fixed-cycles"}},
        follows=_FOLLOWED,
    ),
    SolverEntry(
        "spmd.bus",
        "phases",
        "parcast_spmd.solvers.aio:bus",
        "Asynchronous I/O at one shared I/O node: exact mean values.",
        options="parcast_spmd.options:AioOptions",
        follows=_FOLLOWED,
    ),
    SolverEntry(
        "spmd.clu",
        "phases",
        "parcast_spmd.solvers.aio:clu",
        "Asynchronous I/O, a disk for each cluster: exact for any number.",
        options="parcast_spmd.options:AioOptions",
        follows=_FOLLOWED,
    ),
    SolverEntry(
        "spmd.mixed",
        "phases",
        "parcast_spmd.solvers.mixed:mixed",
        "Each phase by the model that its I/O asks for.",
        options="parcast_spmd.options:MixedOptions",
        follows=_FOLLOWED,
    ),
    SolverEntry(
        "spmd.bounds",
        "phases",
        "parcast_spmd.solvers.bounds:bounds",
        "What no program of these demands can beat or exceed.",
        options="parcast_spmd.options:BoundsOptions",
        follows=_FOLLOWED,
    ),
    SolverEntry(
        "spmd.sim",
        "phases",
        "parcast_spmd.solvers.sim:sim",
        "All three models simulated event by event, with intervals.",
        options="parcast_spmd.options:SimOptions",
        follows=_FOLLOWED,
    ),
    SolverEntry(
        "spmd.line",
        "phases",
        "parcast_spmd.solvers.line:line",
        "Asynchronous I/O: its network solved by LINE, where that is installed.",
        options="parcast_spmd.options:Options",
        on_request=True,
        follows=("network.saturation",),
    ),
)


parcast_kernels = (
    KernelEntry("spmd", "parcast_spmd.warming:queues", "Queues: means and simulation."),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast spmd``."""
    from parcast_spmd.commands import app as commands

    app.add_typer(commands, name="spmd", help="Queuing networks of SPMD programs.")
