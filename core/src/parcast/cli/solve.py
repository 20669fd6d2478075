"""``parcast compare`` and ``parcast predict``."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer

from parcast.api import Registry
from parcast.cli.details import print_row
from parcast.cli.measuring import check_errors, largest_error
from parcast.cli.options import (
    AssumeAlike,
    BudgetTime,
    Counted,
    Disks,
    Explain,
    JobPlacement,
    Json,
    Machine,
    Machines,
    Mapping,
    Measured,
    Output,
    OverSettings,
    Processes,
    Seed,
    Setting,
    Solvers,
    Sweep,
    Tolerance,
    Uncertainty,
    Wide,
    Workload,
    Workloads,
    complete_solvers,
)
from parcast.cli.output import (
    check_output,
    print_json,
    print_results,
    print_sweep,
    print_text,
    show_progress,
    writing,
)
from parcast.comparison.jobs import split_text
from parcast.comparison.settings import split_assignment
from parcast.errors import InvalidPointError, ParcastError, UncertaintyError, UnitError
from parcast.files import assuming_alike
from parcast.model.query import Status
from parcast.quantities.formulas import Unit, parse_quantity
from parcast.quantities.ranges import parse_numbers
from parcast.results.results import Results

if TYPE_CHECKING:
    from parcast.comparison.over import Over


def compare(
    context: typer.Context,
    workload: Annotated[str, Workloads],
    machine: Annotated[str, Machines],
    solver: Solvers = None,
    p: Processes = None,
    d: Disks = None,
    mapping: Mapping = "block",
    placement: JobPlacement = None,
    settings: Setting = None,
    over: OverSettings = None,
    seed: Seed = 0,
    assume_alike: AssumeAlike = False,
    measured: Measured = None,
    tolerance: Tolerance = None,
    uncertainty: Uncertainty = 0,
    budget: BudgetTime = "20 s",
    sweep: Sweep = None,
    per: Counted = None,
    explain: Explain = False,
    wide: Wide = False,
    json: Json = False,
    output: Output = None,
) -> int:
    """Compare the predictions of all solvers for a workload on a machine.

    The speedup is over the same solver's time with one process and one disk, the efficiency over
    its fewest processes; the error is over the measured time.
    """
    registry: Registry = context.obj
    if assume_alike:
        context.with_resource(assuming_alike())
    limit = math.inf if tolerance is None else largest_error(tolerance, measured)
    check_output(registry, output)
    swept = _swept(sweep, over, explain=explain)
    workloads, machines = workload.split(","), machine.split(",")
    question = _question(p, d, mapping, placement, settings, seed)
    results = _compare(
        registry,
        workloads,
        machines,
        solvers=",".join(solver) if solver else None,
        over={swept.name: swept.values} if swept else _varied(over),
        measured=measured,
        uncertainty=uncertainty,
        budget=_seconds("--budget", budget),
        per=per,
        elasticities=False if swept else None,
        **question,
    )
    _refuse_one_invalid_point(results)
    why = _explain(registry, results, workloads, machines, question) if explain else []
    with writing(registry, results, output):
        if json:
            _print_as_json(results, why, explain=explain)
        elif swept:
            print_sweep(results, swept)
        else:
            _print(results, why, wide=wide)
    code = _exit_code(results)
    return code if measured is None else max(code, check_errors(results, limit))


def _seconds(option: str, text: str) -> float:
    """Return a time that is given to an option; ``5m`` is five minutes."""
    text = re.sub(r"(?<=\d)\s*m$", " min", text.strip())
    try:
        return Unit("s").check(parse_quantity(text, "s").value, text)
    except UnitError as error:
        raise UnitError(f"{option}: {error}; write a time such as '20 s' or '5 min'") from None


def _print_as_json(results: Results, why: list[Any], *, explain: bool) -> None:
    explained = {"explained": list(map(attrs.asdict, why))} if explain else {}
    print_json({**results.to_dict(), **explained})


def _print(results: Results, why: list[Any], *, wide: bool) -> None:
    """Print results, and why they differ."""
    print_results(results, wide=wide)
    for index, sentence in enumerate(why):
        print_text(("\n" if index == 0 else "") + str(sentence))


def _swept(sweep: str | None, over: list[str] | None, *, explain: bool) -> Over | None:
    """Return the setting that is swept, if any is.

    Raises
    ------
    ParcastError
        If several points are asked about in two ways, or explained.
    """
    if explain and (over or sweep):
        raise ParcastError(
            "--explain asks about one point; give --set instead of --over or --sweep"
        )
    if over and sweep:
        raise ParcastError("--sweep varies one number alone; leave out --over")
    if sweep is None:
        return None
    from parcast.comparison.over import parse_sweep

    return parse_sweep(sweep)


def _varied(over: list[str] | None) -> dict[str, tuple[str, ...]]:
    """Return the values of settings that vary, by name."""
    if not over:
        return {}
    from parcast.comparison.over import read_overs

    return {name: setting.values for name, setting in read_overs(over).items()}


def predict(
    context: typer.Context,
    workload: Annotated[str, Workload],
    machine: Annotated[str, Machine],
    solver: Annotated[
        str,
        typer.Option(
            "-s", "--solver", help="A solver or a family.", autocompletion=complete_solvers
        ),
    ],
    p: Processes = None,
    d: Disks = None,
    mapping: Mapping = "block",
    placement: JobPlacement = None,
    settings: Setting = None,
    seed: Seed = 0,
    assume_alike: AssumeAlike = False,
    uncertainty: Uncertainty = 0,
    json: Json = False,
) -> int:
    """Predict by one solver and show all details."""
    registry: Registry = context.obj
    if assume_alike:
        context.with_resource(assuming_alike())
    question = _question(p, d, mapping, placement, settings, seed)
    results = _compare(
        registry, workload, machine, solvers=solver, uncertainty=uncertainty, **question
    )
    _refuse_one_invalid_point(results)
    if json:
        print_json(results.to_dict())
    else:
        for row in results.rows:
            print_row(row)
    return _exit_code(results)


def _explain(
    registry: Registry, results: Results, workload: Any, machine: Any, question: dict[str, Any]
) -> list[Any]:
    from parcast.analysis.explanation import explain

    same = {name: question[name] for name in ("mapping", "settings", "seed")}
    return explain(registry, results, workload, machine, **same)


def _compare(registry: Registry, workload: Any, machine: Any, **question: Any) -> Results:
    from parcast.comparison.compare import compare as compare_solvers

    try:
        with show_progress() as tell:
            return compare_solvers(registry, workload, machine, tell=tell, **question)
    except UncertaintyError as error:  # the option has the argument's name
        raise UncertaintyError(f"--{error}") from None


def _question(
    p: str | None,
    d: str | None,
    mapping: str,
    placement: str | None,
    settings: list[str] | None,
    seed: int,
) -> dict[str, Any]:
    return {
        "p": split_text(p) or parse_numbers("-p", p) if p is not None else None,
        "d": parse_numbers("-d", d) if d is not None else None,
        "mapping": mapping,
        "placement": placement,
        "settings": dict(map(split_assignment, settings or ())),
        "seed": seed,
    }


def _refuse_one_invalid_point(results: Results) -> None:
    """Raise where one point was asked and it has no meaning for any solver."""
    single = len({(row.p, row.d) for row in results.rows}) == 1
    if single and all(row.status is Status.INVALID for row in results.rows):
        raise InvalidPointError(results.rows[0].message)


def _exit_code(results: Results) -> int:
    statuses = {row.status for row in results.rows}
    single = len({(row.p, row.d) for row in results.rows}) == 1
    if single and Status.INVALID in statuses:
        message = next(row.message for row in results.rows if row.status is Status.INVALID)
        print(f"parcast: {message}", file=sys.stderr)
        return 2
    bad = Status.OK not in statuses or statuses & {Status.FAILED, Status.NOT_CONVERGED}
    return 1 if bad else 0
