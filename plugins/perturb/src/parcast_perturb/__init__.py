"""Message-graph perturbation of recorded runs (Sottile, Chandu & Bader 2006)."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from parcast import (
    FamilyEntry,
    KernelEntry,
    Lowering,
    PartEntry,
    Query,
    Resource,
    SolverEntry,
    hookimpl,
)
from parcast.plugins import COST_FEATURES

if TYPE_CHECKING:
    import typer

#: What the solver of each policy is, and says.
_SOLVERS = {
    "clocked": ("Clocked", "Exact, where the clocks of all ranks are one; so for every program."),
    "simulated": ("Simulated", "Played on the network that messages share, noise and all."),
    "upper": ("upper_bound", "Not below the perturbed time, without comparing clocks."),
    "lower": ("lower_bound", "Not above the perturbed time, without comparing clocks."),
}


parcast_parts = (
    PartEntry(
        "noise",
        "parcast_perturb.machine_costs:Noise",
        "What is added to calls and gaps.",
        choice="noise",
    ),
)


parcast_solvers = (
    *(
        SolverEntry(
            f"perturb.{name}",
            "trace",
            f"parcast_perturb.solvers:{target}",
            summary,
            options="parcast_perturb.solvers:Options",
            follows=("noise", *COST_FEATURES),
        )
        for name, (target, summary) in _SOLVERS.items()
    ),
    SolverEntry(
        "perturb.loggopsim",
        "trace",
        "parcast_perturb.solvers.loggopsim:LogGOPSim",
        "Simulated by the program LogGOPSim, where that is installed.",
        options="parcast_perturb.solvers.loggopsim:Options",
        on_request=True,
        follows=COST_FEATURES,
    ),
    FamilyEntry(
        "perturb", "parcast_perturb:choose", "clocked or simulated, or upper.", kind="trace"
    ),
)


def choose(query: Query) -> str:
    """Return ``perturb.clocked`` where the clocks of all ranks are one, else ``perturb.upper``.

    Where messages of a program share what they pass, or waits pay for each of them, it is
    ``perturb.simulated``; ``perturb.clocked``, a bound then, where that cannot play it.
    """
    content, network = query.workload.content, query.machine.network
    if content.added is not None:
        shares = content.is_less and not (content.unshared and content.fetching)
    else:
        shares = not content.trace.timed and (
            network.contention not in (None, "none") or network.overhead_by == "message"
        )
    if shares:
        return "perturb.simulated"
    trace = content.trace
    one_clock = content.added is not None or trace.comparable or not trace.timed
    return "perturb.clocked" if one_clock else "perturb.upper"


parcast_lowerings = (
    Lowering(
        "program",
        "trace",
        "parcast_perturb.from_program:of_program",
        "What the network takes is the perturbation.",
        exact=True,
        cost="parcast_perturb.from_program:cost",
        shared=True,
    ),
)


parcast_workloads = (Resource("token-ring", files(__name__) / "programs" / "token-ring.py"),)


parcast_kernels = (
    KernelEntry(
        "perturb", "parcast_perturb.warming:propagation", "Delays passed on along a trace."
    ),
    KernelEntry(
        "perturb-played", "parcast_perturb.warming:playing", "Programs played on shared networks."
    ),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast perturb``."""
    import typer

    from parcast_perturb import commands, file_commands, study_commands

    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for module in (commands, file_commands, study_commands):
        module.add(group)
    app.add_typer(group, name="perturb", help="Perturbations of recorded runs.")
