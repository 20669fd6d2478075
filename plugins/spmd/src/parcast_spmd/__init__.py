"""SPMD queuing networks for parcast (Cremonesi & Gennaro, IEEE TPDS 13(12), 2002)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parcast import FamilyEntry, KernelEntry, Query, Reader, SolverEntry, hookimpl
from parcast.plugins import MEMORY_FEATURES

if TYPE_CHECKING:
    import typer


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    """Add the files of JMT, which a command takes."""
    for suffix in (".jsimg", ".jmva"):
        yield Reader(
            suffix,
            "parcast_spmd.network_files:read",
            "A queuing network of JMT.",
            command="spmd network",
        )


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry | FamilyEntry]:
    """Add one solver for each of the paper's models, and the choice between them."""
    yield FamilyEntry(
        "spmd",
        "parcast_spmd:choose",
        "The queuing model that fits the workload's I/O and the machine's layout.",
        kind="phases",
    )
    for target, options, summary in (
        ("sio:sio", "SioOptions", "Synchronous I/O: fork-join around a shared network."),
        ("aio:bus", "AioOptions", "Asynchronous I/O at one shared I/O node: exact mean values."),
        (
            "aio:clu",
            "AioOptions",
            "Asynchronous I/O, a disk for each cluster: exact for any number.",
        ),
        ("mixed:mixed", "MixedOptions", "Each phase by the model that its I/O asks for."),
        ("bounds:bounds", "BoundsOptions", "What no program of these demands can beat or exceed."),
        ("sim:sim", "SimOptions", "All three models simulated event by event, with intervals."),
    ):
        name = target.partition(":")[2]
        law = {"law of bursts": {"method": "fixed-cycles"}} if name == "sio" else {}
        yield SolverEntry(
            f"spmd.{name}",
            "phases",
            f"parcast_spmd.solvers.{target}",
            summary,
            options=f"parcast_spmd.options:{options}",
            choices=law,
            follows=("network.saturation", *MEMORY_FEATURES),
        )
    yield SolverEntry(
        "spmd.line",
        "phases",
        "parcast_spmd.solvers.line:line",
        "Asynchronous I/O: its network solved by LINE, where that is installed.",
        options="parcast_spmd.options:Options",
        on_request=True,
        follows=("network.saturation",),
    )


def choose(query: Query) -> str:
    """Return the name of the solver that fits all phases of a ``phases`` workload."""
    from parcast_spmd.models.demands import model_of

    models = {model_of(phase, query) for phase in query.workload.content.phase}
    return f"spmd.{models.pop()}" if len(models) == 1 else "spmd.mixed"


@hookimpl
def parcast_kernels() -> Iterator[KernelEntry]:
    """Add what is compiled."""
    yield KernelEntry("spmd", "parcast_spmd.warming:queues", "Queues: means and simulation.")


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast spmd``."""
    from parcast_spmd.commands import app as commands

    app.add_typer(commands, name="spmd", help="Queuing networks of SPMD programs.")
