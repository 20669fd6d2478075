"""PAMELA for parcast (van Gemund, IEEE TPDS 14(2), 2003): models compiled to formulas."""

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
    Reader,
    Resource,
    SolverEntry,
    hookimpl,
)
from parcast.plugins import MEMORY_FEATURES

if TYPE_CHECKING:
    import typer

    from parcast.model import Query


@hookimpl
def parcast_kinds() -> Iterator[KindEntry]:
    """Add the kind of workload that .pam files hold."""
    yield KindEntry(
        "pamela",
        "parcast_pamela.workload:Content",
        "A process algebra with resources, kept symbolic.",
        suffix=".pam",
    )


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add what of a machine only PAMELA reads."""
    yield PartEntry(
        "pamela", "parcast_pamela.workload:Pamela", "Which machine model stands for it."
    )


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    """Add the reader of .pam files."""
    yield Reader(".pam", "parcast_pamela.workload:read", "A PAMELA model.")


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry | FamilyEntry]:
    """Add the bound by formulas, the simulator and the critical path."""
    yield FamilyEntry("pamela", "parcast_pamela:choose", "The bound, by a formula.")
    for name, target, summary, options in (
        ("bound", "bound:Bound", "A formula for a lower bound, contention included.", "bound"),
        ("sim", "sim:Sim", "Discrete events, one server after another.", "sim"),
        ("path", "path:Path", "The critical path, contention left out.", "path"),
    ):
        yield SolverEntry(
            f"pamela.{name}",
            "pamela",
            f"parcast_pamela.solvers.{target}",
            summary,
            options=options and f"parcast_pamela.solvers.{options}:Options",
            on_request=name != "bound",
            follows=MEMORY_FEATURES,
            choices={"left-out waits for messages": {"form": "barrier"}} if name == "bound" else {},
        )


def choose(query: Query) -> str:  # noqa: ARG001  (a family's function takes a query)
    """Return the default solver's name."""
    return "pamela.bound"


@hookimpl
def parcast_lowerings() -> Iterator[Lowering]:
    """Add programs as models of their processes, each by itself."""
    yield Lowering(
        "program",
        "pamela",
        "parcast_pamela.programs.lowering:lower",
        "Each process by itself, all together where all wait for all; its bound is one.",
        below=True,
        cost="parcast_pamela.programs.lowering:cost",
    )


@hookimpl
def parcast_machines() -> Iterator[Resource]:
    """Add the machines that a model of the library stands for."""
    for path in sorted((files(__name__) / "machines").iterdir(), key=lambda entry: entry.name):
        if path.name.endswith(".toml"):
            yield Resource(path.name.removesuffix(".toml"), path)


@hookimpl
def parcast_workloads() -> Iterator[Resource]:
    """Add the case studies of the paper's section 3."""
    for path in sorted((files(__name__) / "workloads").iterdir(), key=lambda entry: entry.name):
        if path.name.endswith(".pam"):
            yield Resource(path.name.removesuffix(".pam"), path)


@hookimpl
def parcast_kernels() -> Iterator[KernelEntry]:
    """Add what is compiled."""
    yield KernelEntry(
        "pamela",
        "parcast_pamela.warming:runs",
        "Simulations of models, and critical paths of programs.",
    )


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast pamela``."""
    from parcast_pamela.commands import app as commands

    app.add_typer(commands, name="pamela", help="PAMELA models, as formulas.")
