"""Message-graph perturbation of recorded runs (Sottile, Chandu & Bader 2006)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from parcast import (
    FamilyEntry,
    KindEntry,
    Lowering,
    PartEntry,
    Reader,
    Resource,
    SolverEntry,
    hookimpl,
)
from parcast.entries import COSTS

if TYPE_CHECKING:
    import typer

_SOLVERS = {
    "clocked": "Exact, where the clocks of all ranks are one; so for every program.",
    "upper": "Not below the perturbed time, without comparing clocks.",
    "lower": "Not above the perturbed time, without comparing clocks.",
}

#: What is read by suffix, and what tells it from other files of this suffix.
_READ = {
    ".trace": ("A recorded run, in columns.", ""),
    ".otf2": ("A recorded run, by Score-P and others.", ""),
    ".prv": ("A recorded run, by Extrae.", ""),
    ".tit": ("A time-independent trace of SimGrid.", ""),
    ".goal": ("A schedule of LogGOPSim.", ""),
    ".et": ("An execution trace of Chakra.", ""),
    ".txt": ("A recorded run as DUMPI, liballprof, SimGrid or LogGOPSim print it.", ""),
    ".json": (
        "A recorded run in the neutral form, of Chakra or of PyTorch's profiler.",
        r'"(t_start|traceEvents|distributedInfo|deviceProperties)"|_NODE"|"ranks": *\[|"comms":',
    ),
    ".parquet": ("Operations of a training job, as columns.", ""),
    ".csv": ("Operations of a training job, a row each.", r"\A(?=.*\bdp_rank\b).*\boptype\b"),
    "": ("A folder of 'parcast mpi trace', or of OTF2.", r"(?m)^rank-\d+\.trace$|\.otf2$"),
}


@hookimpl
def parcast_kinds() -> Iterator[KindEntry]:
    """Add recorded runs."""
    yield KindEntry(
        "trace",
        "parcast_perturb.traced:Traced",
        "What every rank called and when.",
        suffix=".trace",
    )


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    """Add the formats that no other workload has."""
    for suffix, (summary, mark) in _READ.items():
        yield Reader(suffix, "parcast_perturb.traced:read", summary, mark=mark)


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add what a machine's operating system does."""
    yield PartEntry(
        "noise", "parcast_perturb.asking:Noise", "What is added to calls and gaps.", choice="noise"
    )


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry | FamilyEntry]:
    """Add propagation under each policy."""
    for name, summary in _SOLVERS.items():
        yield SolverEntry(
            f"perturb.{name}",
            "trace",
            f"parcast_perturb.solvers:{name.capitalize()}",
            summary,
            options="parcast_perturb.solvers:Options",
            follows=("noise", *COSTS),
        )
    yield FamilyEntry(
        "perturb", "parcast_perturb.solvers:choose", "clocked where it can, or upper.", kind="trace"
    )


@hookimpl
def parcast_lowerings() -> Iterator[Lowering]:
    """Add programs as traces of runs without a network, and recorded runs as programs."""
    yield Lowering(
        "program",
        "trace",
        "parcast_perturb.traced:of_program",
        "What the network takes is the perturbation.",
        exact=True,
    )
    yield Lowering(
        "trace",
        "program",
        "parcast_perturb.to_program:program",
        "Its calls, and what was computed between them, at its own number of processes.",
    )


@hookimpl
def parcast_workloads() -> Iterator[Resource]:
    """Add the experiment of the paper's section 6.1."""
    yield Resource("token-ring", files(__name__) / "programs" / "token-ring.py")


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast perturb``."""
    from parcast_perturb import file_commands, study_commands
    from parcast_perturb.commands import app as commands

    file_commands.add(commands)
    study_commands.add(commands)
    app.add_typer(commands, name="perturb", help="Perturbations of recorded runs.")
