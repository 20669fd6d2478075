"""``parcast study``: a grid from a file, cached, resumable, with a progress bar."""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
import typer

from parcast.api import Registry
from parcast.cli.measuring import check_errors, largest_error
from parcast.cli.options import AssumeAlike, Json, Output
from parcast.cli.output import (
    check_output,
    print_json,
    print_results,
    print_table,
    print_text,
    show_progress,
    writing,
)
from parcast.errors import ParcastError
from parcast.files import assuming_alike
from parcast.model.query import Status
from parcast.quantities.units import format_seconds
from parcast.results.results import Results
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.study import Study

#: With more rows than this, they are counted, not shown.
MOST_SHOWN = 100


def study(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The study: a .toml or .json file.")],
    executor: Annotated[
        str, typer.Option(help="Who answers: processes:4, threads:4 or a plugin's.")
    ] = "processes",
    cache: Annotated[
        Path | None, typer.Option(help="The folder of finished points; your own if not given.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither cache finished points nor look for any.")
    ] = False,
    tolerance: Annotated[
        str | None, typer.Option(help="Exit with 1 where an error is larger, such as 10%.")
    ] = None,
    assume_alike: AssumeAlike = False,
    json: Json = False,
    output: Output = None,
) -> int:
    """Predict a whole grid of workloads, machines, p, d, settings and solvers.

    Finished points are cached: after an interruption the same command continues from there.
    """
    from parcast.study import read_study

    registry: Registry = context.obj
    if assume_alike:
        context.with_resource(assuming_alike())
    if cache is not None and no_cache:
        raise ParcastError("--cache and --no-cache exclude each other; give one of them")
    check_output(registry, output)
    grid = read_study(registry, file)
    limit = math.inf if tolerance is None else largest_error(tolerance, grid.measured)
    results = _answers(registry, grid, executor, None if no_cache else cache or "")
    if results is None:
        return 130
    counted = _counted(results)
    with writing(registry, results, output):
        if json:
            print_json(results.to_dict())
        else:
            _print(grid, results, counted, output)
    return max(counted.exit_code, check_errors(results, limit) if grid.measured else 0)


def _answers(
    registry: Registry, grid: Study, executor: str, cache: str | Path | None
) -> Results | None:
    """Return the rows of a study, or None where it was interrupted."""
    finished, warned = 0, False

    def warn(sentence: str) -> None:
        nonlocal warned
        warned = True
        print(f"parcast: warning: {sentence}", file=sys.stderr)

    with show_progress("points") as tell:

        def count(points: int) -> None:
            nonlocal finished
            finished += points
            tell(grid.name, finished, len(grid))

        try:
            return registry.study(
                grid,
                executor=executor,
                cache=cache,
                tell=count,
                warn=warn,
            )
        except KeyboardInterrupt:
            cached = " and cached; the same command continues from there"
            if cache is None or warned:
                cached = ""
            print(
                f"\nparcast: {finished:,} of {len(grid):,} points are finished{cached}",
                file=sys.stderr,
            )
            return None


@attrs.define
class Counted:
    """How the points of one study ended."""

    statuses: dict[str, Counter[str]] = attrs.field(factory=dict)  #: by solver
    times: dict[str, list[float]] = attrs.field(factory=dict)  #: shortest and longest, by solver
    reasons: Counter[tuple[str, str, str]] = attrs.field(factory=Counter)

    @property
    def exit_code(self) -> int:
        """0 where all is well, 1 where nothing was answered or something failed."""
        statuses = {status for counter in self.statuses.values() for status in counter}
        bad = {Status.FAILED.value, Status.NOT_CONVERGED.value} & statuses
        return 1 if bad or Status.OK.value not in statuses else 0


def _counted(results: Results) -> Counted:
    """Count in one pass, without keeping the rows."""
    from parcast.results.packing import packs, values

    counted = Counted()
    names = ("solver", "status", "message", "time")
    for pack in packs(results.rows):
        columns = [values(pack.columns[name], pack.count) for name in names]
        for solver, status, message, time in zip(*columns, strict=True):
            counted.statuses.setdefault(solver, Counter())[status] += 1
            if status != Status.OK.value:
                counted.reasons[solver, status, message] += 1
            if time is not None:
                ends = counted.times.setdefault(solver, [time, time])
                ends[:] = min(ends[0], time), max(ends[1], time)
    return counted


def _print(grid: Study, results: Results, counted: Counted, output: Path | None) -> None:
    print_text(f"{grid.name}: {len(results):,} points. {grid.summary}".rstrip() + "\n")
    if len(results) <= MOST_SHOWN:
        print_results(attrs.evolve(results, rows=_side_by_side(grid, results)))
        return
    statuses = [
        s.value for s in Status if any(s.value in counter for counter in counted.statuses.values())
    ]
    rows = []
    for solver, ended in counted.statuses.items():
        ends = map(format_seconds, counted.times.get(solver, ()))
        counts = [f"{ended[status]:,}" for status in statuses]
        rows.append([solver, *counts, *(list(ends) or ["", ""])])
    print_table(["solver", *statuses, "shortest", "longest"], rows)
    for solver, status, message in [reason for reason, _ in counted.reasons.most_common(5)]:
        times = counted.reasons[solver, status, message]
        print_text(f"\n{solver}: {times:,} {status}: {message}")
    if output is None:
        print_text("\nGive -o FILE to write the rows.")


def _side_by_side(grid: Study, results: Results) -> tuple[Row, ...]:
    """Return what solvers say of the same point together, where all have the same points."""
    rows, points = tuple(results.rows), len(grid.plans[0])
    if any(len(plan) != points for plan in grid.plans):
        return rows
    return tuple(row for at in range(points) for row in rows[at::points])
