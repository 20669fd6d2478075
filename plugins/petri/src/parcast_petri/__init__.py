"""Timed Petri nets for parcast (Anglano, ICS 1998): programs on loaded nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import FamilyEntry, KernelEntry, PartEntry, Query, Reader, SolverEntry, hookimpl
from parcast.plugins import COST_FEATURES, resources

if TYPE_CHECKING:
    import typer


parcast_parts = (
    PartEntry(
        "background",
        "parcast_petri.machine.background:Background",
        "Jobs of others on nodes.",
        choice="background jobs",
    ),
    PartEntry(
        "links", "parcast_petri.machine.links:Links", "Ports, and further networks.", choice="links"
    ),
    PartEntry(
        "traffic",
        "parcast_petri.machine.links:Traffic",
        "Messages of others.",
        choice="traffic of others",
    ),
)


#: Messages share a network by equal parts; in turn, as the other families have them, without.
#: With ``petri.memory=ps`` processes share memory with those that move bytes at the time; with all
#: of the node, without.
SHARES = {
    "equal shares of the network": {"sharing": "fcfs"},
    "memory shared anew": {"memory": "fixed"},
}
FOLLOWED = ("background", "links", "traffic", *COST_FEATURES)


#: Files of nets, which a command takes.
parcast_readers = tuple(
    Reader(
        suffix,
        "parcast_petri.nets.pnml.reading:read_pnml",
        "A Petri net.",
        mark=mark,
        command="petri solve",
    )
    for suffix, mark in ((".pnml", ""), (".xml", r"<pnml\b"), (".tapn", r"<pnml\b"))
)

parcast_solvers = (
    SolverEntry(
        "petri.mean",
        "program",
        "parcast_petri.solvers.mean:Mean",
        "The paper's net: mean slowdowns of loaded nodes, one run.",
        options="parcast_petri.options:Options",
        follows=FOLLOWED,
        choices=SHARES,
    ),
    SolverEntry(
        "petri.sampled",
        "program",
        "parcast_petri.solvers.sampled:Sampled",
        "Each computation's time drawn from the law of one loaded core.",
        options="parcast_petri.options:SampledOptions",
        follows=FOLLOWED,
        choices=SHARES,
    ),
    SolverEntry(
        "petri.explicit",
        "program",
        "parcast_petri.solvers.explicit:Explicit",
        "Background jobs in the net, sharing processors with the program.",
        options="parcast_petri.options:SampledOptions",
        follows=FOLLOWED,
        choices=SHARES,
    ),
    FamilyEntry(
        "petri",
        "parcast_petri:choose",
        "explicit where several nodes are loaded or traffic is random, else mean.",
        kind="program",
    ),
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


#: The workstations of the paper, one of them loaded.
parcast_machines = resources(__name__, ".toml", "machines")


parcast_kernels = (KernelEntry("petri", "parcast_petri.warming:game", "The token game."),)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast petri``."""
    import typer

    from parcast_petri.commands import nets, placement, solving

    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for module in (solving, nets, placement):
        module.add(group)
    app.add_typer(group, name="petri", help="Timed Petri nets: loaded nodes, shared networks.")
