"""PAMELA for parcast (van Gemund, IEEE TPDS 14(2), 2003): models compiled to formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import (
    FamilyEntry,
    KernelEntry,
    KindEntry,
    Lowering,
    PartEntry,
    Reader,
    SolverEntry,
    hookimpl,
)
from parcast.plugins import MEMORY_FEATURES, resources

if TYPE_CHECKING:
    import typer

    from parcast.model import Query


parcast_kinds = (
    KindEntry(
        "pamela",
        "parcast_pamela.workload:Content",
        "A process algebra with resources, kept symbolic.",
        suffix=".pam",
    ),
)


parcast_parts = (
    PartEntry("pamela", "parcast_pamela.workload:Pamela", "Which machine model stands for it."),
)


parcast_readers = (Reader(".pam", "parcast_pamela.workload:read", "A PAMELA model."),)


parcast_solvers = (
    FamilyEntry("pamela", "parcast_pamela:choose", "The bound, by a formula."),
    SolverEntry(
        "pamela.bound",
        "pamela",
        "parcast_pamela.solvers.bound:Bound",
        "A formula for a lower bound, contention included.",
        options="parcast_pamela.solvers.bound:Options",
        follows=MEMORY_FEATURES,
        choices={"left-out waits for messages": {"form": "barrier"}},
    ),
    SolverEntry(
        "pamela.sim",
        "pamela",
        "parcast_pamela.solvers.sim:Sim",
        "Discrete events, one server after another.",
        options="parcast_pamela.solvers.sim:Options",
        on_request=True,
        follows=MEMORY_FEATURES,
    ),
    SolverEntry(
        "pamela.path",
        "pamela",
        "parcast_pamela.solvers.path:Path",
        "The critical path, contention left out.",
        options="parcast_pamela.solvers.path:Options",
        on_request=True,
        follows=MEMORY_FEATURES,
    ),
)


def choose(query: Query) -> str:  # noqa: ARG001  (a family's function takes a query)
    """Return the default solver's name."""
    return "pamela.bound"


parcast_lowerings = (
    Lowering(
        "program",
        "pamela",
        "parcast_pamela.programs.lowering:lower",
        "Each process by itself, all together where all wait for all; its bound is one.",
        below=True,
        cost="parcast_pamela.programs.lowering:cost",
    ),
)


#: Those that a model of the library stands for.
parcast_machines = resources(__name__, ".toml", "machines")

#: The case studies of the paper's section 3.
parcast_workloads = resources(__name__, ".pam", "workloads")


parcast_kernels = (
    KernelEntry(
        "pamela",
        "parcast_pamela.warming:runs",
        "Simulations of models, and critical paths of programs.",
    ),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast pamela``."""
    from parcast_pamela.commands import app as commands

    app.add_typer(commands, name="pamela", help="PAMELA models, as formulas.")
