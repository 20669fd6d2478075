"""``parcast spmd surface``."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
import typer

from parcast.cli import check_output, output_option
from parcast.comparison import read_overs, split_assignment
from parcast.errors import ParcastError, UnitError
from parcast.quantities import parse_numbers, to_base

if TYPE_CHECKING:
    from parcast import Registry, Results
    from parcast_spmd.surface.advice import Budget
    from parcast_spmd.surface.report import Advice


Name = Annotated[str, typer.Argument(help="A name or a file.")]
Processes = Annotated[
    str, typer.Option("-p", help="Processes: 4,9,16 or 1..64 or 1..1024*2.", metavar="LIST")
]
Disks = Annotated[
    str | None, typer.Option("-d", help="Disks; the machine's own if not given.", metavar="LIST")
]
Solver = Annotated[str, typer.Option("-s", "--solver", help="spmd, or one of its solvers.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter, a machine value or an option."),
]
Varied = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="A setting to vary as well: 'processor.rate=60..480*2 MFLOP/s' or n=64,102,162.",
    ),
]
Spent = Annotated[
    str | None,
    typer.Option(help="The most to spend: a number, by --cost, or a run's price: '10 EUR'."),
]
Cost = Annotated[
    str | None,
    typer.Option(help="What --budget counts, a formula; 'p + d' if not given.", metavar="FORMULA"),
]
Threshold = Annotated[str, typer.Option(help="A processor pays while it adds this to the speedup.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON: every row.")]
Output = Annotated[Path | None, output_option("Write a file; its suffix is the format.")]


def surface(
    context: typer.Context,
    workload: Name,
    machine: Name,
    *,
    p: Processes = "1..1024*2",
    d: Disks = None,
    solver: Solver = "spmd",
    settings: Set = None,
    over: Varied = None,
    budget: Spent = None,
    cost: Cost = None,
    threshold: Threshold = "10%",
    as_json: Json = False,
    output: Output = None,
) -> int:
    """Ask at every p and d: the speedups, the bottlenecks, and what is worth buying."""
    from parcast.cli import print_text, show_progress
    from parcast_spmd.surface.advice import parse_budget
    from parcast_spmd.surface.report import advise, lines
    from parcast_spmd.surface.survey import survey

    registry: Registry = context.obj
    check_output(registry, output)
    allowance, smallest_gain = parse_budget(budget, cost), _threshold(threshold)
    with show_progress() as tell:
        results = survey(
            registry,
            workload,
            machine,
            p=parse_numbers("-p", p),
            d=None if d is None else parse_numbers("-d", d),
            over=list(read_overs(over or ()).values()),
            settings=dict(map(split_assignment, settings or ())),
            solver=solver,
            tell=tell,
        )
    code = _exit_code(results)
    advice = advise(results, allowance, smallest_gain)
    if as_json:
        sys.stdout.writelines(_json(results, advice, allowance))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
        for line in lines(results, advice, allowance, smallest_gain, min(width, 100)):
            print_text(line)
    if output is not None:
        registry.write(results, output)
    return code


def _threshold(text: str) -> float:
    try:
        value = to_base(text, "1")
    except UnitError as error:
        raise ParcastError(f"--threshold: {error}; write a part such as 10% or 0.1") from None
    if value <= 0:
        raise ParcastError(f"--threshold {text}: it must be above 0, such as 10%")
    return value


def _json(results: Results, advice: Sequence[Advice], budget: Budget | None) -> Iterator[str]:
    """Yield the object that every command prints, a row a line, and its ``advice``."""
    compact = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
    empty = attrs.evolve(results, rows=()).to_dict()
    yield f'{{"schema": {empty["schema"]}, "rows": ['
    for index, row in enumerate(results.rows):
        yield (",\n" if index else "\n") + row.to_json()
    yield f'\n],\n"provenance": {compact(empty["provenance"])},\n'
    yield f'"advice": {compact([entry.to_data(budget) for entry in advice])}}}\n'


def _exit_code(results: Results) -> int:
    from parcast import InvalidPointError, Status

    statuses = {row.status for row in results.rows}
    if statuses == {Status.INVALID} and len(results.rows) == 1:
        raise InvalidPointError(results.rows[0].message)
    bad = Status.OK not in statuses or statuses & {Status.FAILED, Status.NOT_CONVERGED}
    return 1 if bad else 0
