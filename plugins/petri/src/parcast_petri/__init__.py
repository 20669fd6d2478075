"""Timed Petri nets for parcast (Anglano, ICS 1998): programs on loaded nodes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from parcast import (
    FamilyEntry,
    KernelEntry,
    PartEntry,
    Query,
    Reader,
    Resource,
    SolverEntry,
    hookimpl,
)
from parcast.plugins import COST_FEATURES

if TYPE_CHECKING:
    import typer


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add the background of nodes, and what there is to say of networks."""
    for name, target, summary, choice in (
        ("background", "background:Background", "Jobs of others on nodes.", "background jobs"),
        ("links", "links:Links", "Ports, and further networks.", "links"),
        ("traffic", "links:Traffic", "Messages of others.", "traffic of others"),
    ):
        yield PartEntry(name, f"parcast_petri.machine.{target}", summary, choice=choice)


#: Messages share a network by equal parts; in turn, as the other families have them, without.
#: With ``petri.memory=ps`` processes share memory with those that move bytes at the time; with all
#: of the node, without.
SHARES = {
    "equal shares of the network": {"sharing": "fcfs"},
    "memory shared anew": {"memory": "fixed"},
}
FOLLOWED = ("background", "links", "traffic", *COST_FEATURES)


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    """Add the files of nets, which commands take."""
    read = "parcast_petri.nets.pnml.reading:read_pnml"
    yield Reader(".pnml", read, "A Petri net.", command="petri solve")


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry | FamilyEntry]:
    """Add three levels of one model."""
    yield SolverEntry(
        "petri.mean",
        "program",
        "parcast_petri.solvers.mean:Mean",
        "The paper's net: mean slowdowns of loaded nodes, one run.",
        options="parcast_petri.options:Options",
        follows=FOLLOWED,
        choices=SHARES,
    )
    yield SolverEntry(
        "petri.sampled",
        "program",
        "parcast_petri.solvers.sampled:Sampled",
        "Each computation's time drawn from the law of one loaded core.",
        options="parcast_petri.options:SampledOptions",
        follows=FOLLOWED,
        choices=SHARES,
    )
    yield SolverEntry(
        "petri.explicit",
        "program",
        "parcast_petri.solvers.explicit:Explicit",
        "Background jobs in the net, sharing processors with the program.",
        options="parcast_petri.options:SampledOptions",
        follows=FOLLOWED,
        choices=SHARES,
    )
    yield FamilyEntry(
        "petri",
        "parcast_petri:choose",
        "explicit where several nodes are loaded or traffic is random, else mean.",
        kind="program",
    )


def choose(query: Query) -> str:
    """Return the family's solver for a query."""
    from parcast.errors import ParcastError
    from parcast_petri.programs.traffic import random_traffic
    from parcast_petri.solvers.preparation import loads

    try:
        several = len(loads(query)) > 1 or random_traffic(query)
    except ParcastError:  # which the solver then says
        several = False
    return "petri.explicit" if several else "petri.mean"


@hookimpl
def parcast_machines() -> Iterator[Resource]:
    """Add the workstations of the paper, one of them loaded."""
    for file in (files(__name__) / "machines").iterdir():
        yield Resource(file.name.removesuffix(".toml"), file)


@hookimpl
def parcast_kernels() -> Iterator[KernelEntry]:
    """Add what is compiled."""
    yield KernelEntry("petri", "parcast_petri.warming:game", "The token game.")


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast petri``."""
    import typer

    from parcast_petri.commands import nets, placement, solving

    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for module in (solving, nets, placement):
        module.add(group)
    app.add_typer(group, name="petri", help="Timed Petri nets: loaded nodes, shared networks.")
