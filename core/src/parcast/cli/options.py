"""Arguments and options of commands, and the names that the shell completes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

from parcast.api import Registry
from parcast.cli.output import output_option

Complete = Callable[[typer.Context, str], list[str]]


def _completing(names_of: Callable[[Registry], Iterable[str]]) -> Complete:
    """Return what completes the last of some names that commas separate."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        registry = context.find_object(Registry) or Registry()
        before, comma, last = incomplete.rpartition(",")
        return [
            f"{before}{comma}{name}" for name in sorted(names_of(registry)) if name.startswith(last)
        ]

    return complete


def _solver_names(registry: Registry) -> set[str]:
    return {*registry.solvers, *registry.families, *(e.family for e in registry.solvers.values())}


_workloads = _completing(lambda registry: registry.workloads)
_machines = _completing(lambda registry: registry.machines)
complete_solvers = _completing(_solver_names)
complete_any_name = _completing(
    lambda registry: {
        *registry.workloads,
        *registry.machines,
        *registry.parts,
        *registry.kinds,
        *_solver_names(registry),
    }
)

#: The help of arguments that take several names.
SEVERAL = "Names or files, separated by commas."
_ONE = "A name or a file."
Workloads = typer.Argument(help=SEVERAL, autocompletion=_workloads)
Machines = typer.Argument(help=SEVERAL, autocompletion=_machines)
Workload = typer.Argument(help=_ONE, autocompletion=_workloads)
Machine = typer.Argument(help=_ONE, autocompletion=_machines)
Processes = Annotated[
    str | None,
    typer.Option(
        "-p",
        help="Processes: 4,9,16 or 1..64 or 1..64*2 (the default); of jobs 64+64.",
        metavar="LIST",
    ),
]
Disks = Annotated[
    str | None, typer.Option("-d", help="Disks; the machine's own if not given.", metavar="LIST")
]
Mapping = Annotated[str, typer.Option(help="How processes go to nodes: block or cyclic.")]
JobPlacement = Annotated[
    str | None,
    typer.Option(
        "--placement",
        metavar="WHERE",
        help="Nodes of jobs (a.py+b.py): packed, spread, random or a=0..31,b=32..63.",
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A workload parameter, a machine value or a solver option; may be a formula of p, d.",
    ),
]
OverSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="NAME=VALUES",
        help="A setting to vary: 'processor.rate=60..480*2 MFLOP/s' or n=64,102,162.",
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of solvers that draw random numbers.", min=0)]
AssumeAlike = Annotated[
    bool,
    typer.Option(
        "--assume-alike", help="Take ranks of a profile without a file for the like of the first."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Output = Annotated[Path | None, output_option("Write a file; its suffix is the format.")]
Uncertainty = Annotated[
    int, typer.Option(help="Samples of the uncertain numbers, such as 200.", metavar="N")
]

#: What `compare` alone takes.
Solvers = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--solver",
        help="Solvers or families, by commas or repeated; every family if not given.",
        autocompletion=complete_solvers,
    ),
]
Measured = Annotated[
    Path | None, typer.Option(help="Measured times: .csv, or Extra-P's .json or .jsonl.")
]
Tolerance = Annotated[
    str | None, typer.Option(help="Exit with 1 where an error is larger, such as 10%.")
]
BudgetTime = Annotated[
    str,
    typer.Option(
        help="Time to spend on solvers that are not named, by the costs that they state.",
        metavar="TIME",
    ),
]
Sweep = Annotated[
    str | None,
    typer.Option(
        help="A number to vary evenly, and from where on it hurts: network.startup=0..10us.",
        metavar="NAME=RANGE",
    ),
]
Counted = Annotated[
    str | None,
    typer.Option(help="What throughput counts, such as 'cells = n * n'.", metavar="[NAME=]FORMULA"),
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Say what makes answers differ by more than 5 %.")
]
Wide = Annotated[
    bool, typer.Option("--wide", help="Show all columns, however narrow the terminal.")
]
