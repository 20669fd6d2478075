"""``parcast scaling`` and ``parcast walltime``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option
from parcast.errors import ParcastError
from parcast_scaling.scope import Measures, Network, Scope

if TYPE_CHECKING:
    from parcast import Registry
    from parcast_scaling.reading import Times

Runs = Annotated[
    list[str],
    typer.Argument(
        help="A table of p and times or rates, with repeats; outputs of LAMMPS, GROMACS and "
        "others; Extra-P's, sacct's or Thicket's file; a "
        "dataset of the scoreboard, or a folder of one, and its series behind a #; or a .csv "
        "file of p and amounts; or traces of one code at several p. A program or traces beside "
        "a table of times propose terms of the time."
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "-p", help="Where to predict; if not given: doublings, or of amounts 4 and 16 times the "
        "largest."
    ),
]  # fmt: skip
To = Annotated[
    int | None,
    typer.Option(min=1, help="Predict times up to this p; 16 times the largest if not given."),
]
On = Annotated[
    str | None,
    typer.Option(
        help="The machine of the runs: its rate makes seconds of traces operations; no time is "
        "less than it needs for amounts beside times; on a cloud's, times rise oftener."
    ),
]
OfNetwork = Annotated[
    Network | None,
    typer.Option(
        help="Whose network it is, if not the table's or the machine's: on clouds, times rise "
        "oftener beyond what is measured."
    ),
]
WhatIsMeasured = Annotated[
    Measures | None,
    typer.Option(
        help="Communication alone, such as a benchmark of a collective, or a code that computes "
        "as well; if not said, by whether its times fall."
    ),
]
HoldOut = Annotated[
    str | None, typer.Option(metavar="LIST", help="p that are not fitted, but predicted.")
]
Weak = Annotated[
    bool, typer.Option("--weak", help="The work grows as p; else it stays as it is.")
]  # fmt: skip
Efficiency = Annotated[
    float, typer.Option(min=0.01, max=0.99, help="Whose probability at each p is wanted.")
]
Worth = Annotated[
    int,
    typer.Option(min=0, max=9, help="So many runs that narrow the answer most per node-hour."),
]
NarrowTo = Annotated[
    float,
    typer.Option(
        min=1.01, metavar="FACTOR", help="The 90 % band that is narrow enough, its upper end over "
        "its lower one: no more runs are proposed."
    ),
]  # fmt: skip
Measure = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND", help="Measure them: what runs the code at {p} and prints its time last. "
        "Each is added to the table before the next is proposed."
    ),
]  # fmt: skip
MeasureTo = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="P", help="The largest p that can be measured; half of the largest that is "
        "predicted if not given."
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Output = Annotated[
    Path | None,
    output_option("A plot of times, .html; of amounts a workload of kind phases, .toml."),
]
History = Annotated[
    str,
    typer.Option(metavar="FILE", help="Times of runs: sacct's table, or a table of p and time."),
]


def scaling(
    context: typer.Context,
    runs: Runs,
    p: At = None,
    to: To = None,
    on: On = None,
    network: OfNetwork = None,
    measures: WhatIsMeasured = None,
    hold_out: HoldOut = None,
    weak: Weak = False,
    efficiency: Efficiency = 0.5,
    worth_measuring: Worth = 0,
    narrow_to: NarrowTo = 1.5,
    measure: Measure = None,
    measure_to: MeasureTo = None,
    seed: Seed = 2026,
    json: Json = False,
    output: Output = None,
) -> int:
    """Predict times beyond a few measured ones, with bands and the knee; or find how amounts grow.

    A table with a column time, or seconds, is one of times: a curve is inferred from what the
    field knows of scaling. Columns flops, memory_bytes, messages, bytes, io_bytes, parallel, cycles
    and bursts of others become those of a phase, as formulas of p. Of traces at several p the
    amounts are counted where --on names their machine, and else their times are used; with
    --to, --weak or --worth-measuring both are.
    """
    of_times = {"--to": to is not None, "--weak": weak, "--worth-measuring": worth_measuring > 0,
                "--measure": measure is not None, "--network": network is not None,
                "--measures": measures is not None}  # fmt: skip
    options = [name for name, present in of_times.items() if present]
    times, sources = _times_and_sources(context.obj, runs, on, times_wanted=bool(options))
    if times is None:
        if options:
            from parcast_scaling.columns import TABLES
            from parcast_scaling.runs import check_recorded

            check_recorded(context.obj, [run for run in runs if not run.lower().endswith(TABLES)])
            raise ParcastError(
                f"{options[0]} is about times, and {runs[0]} has none; give a table with p and time"
            )
        from parcast_scaling.amount_commands import find_formulas

        return find_formulas(context, runs, p=p, on=on, hold_out=hold_out, json=json, output=output)
    from parcast_scaling.time_commands import Wanted, show_forecast

    wanted = Wanted(
        p=p,
        to=to,
        machine=on,
        scope=Scope(network=network, measures=measures),
        sources=sources,
        hold_out=hold_out,
        weak=weak,
        efficiency=efficiency,
        worth_measuring=worth_measuring,
        narrow_to=narrow_to,
        measure=measure,
        measure_to=measure_to,
        seed=seed,
    )
    return show_forecast(context.obj, times, wanted, json=json, output=output)


def walltime(
    context: typer.Context,
    history: History,
    p: Annotated[int, typer.Option("-p", min=1, help="Of the run: what the table counts.")],
    quantile: Annotated[
        float, typer.Option(help="The probability that the run ends in time.")
    ] = 0.95,
    seed: Seed = 2026,
    json: Json = False,
) -> int:
    """Find the time limit to ask for: a quantile of the run time, and what more costs."""
    from parcast_scaling.walltime_commands import show_walltime

    times, _ = _tables_and_sources(context.obj, [history])
    if times is None:
        raise ParcastError(
            f"--history {history}: it has no column of times; give sacct's table, or a table of p "
            "and time"
        )
    return show_walltime(times, p, quantile, seed=seed, json=json)


def _times_and_sources(
    registry: Registry, runs: list[str], machine: str | None, *, times_wanted: bool
) -> tuple[Times | None, tuple[str, ...]]:
    """Return the times, and what proposes terms of them; None where amounts are wanted."""
    times, sources = _tables_and_sources(registry, runs)
    if times is not None or len(runs) < 2 or (machine is not None and not times_wanted):
        return times, sources
    from parcast_scaling.reading import read_recorded

    times = read_recorded(registry, runs)
    counted = times is not None and not times.profiles and machine is not None
    return times, tuple(runs) if counted else ()


def _tables_and_sources(
    registry: Registry, runs: list[str]
) -> tuple[Times | None, tuple[str, ...]]:
    """Return the table of times, and what stands beside it: a program, or traces."""
    from parcast.comparison import is_recorded
    from parcast_scaling.datasets import read_series
    from parcast_scaling.reading import read_times

    tables: dict[str, Times] = {}
    for run in runs:
        if is_recorded(registry, run):
            continue
        times = read_series(registry, run) or read_times(run)
        if times is not None:
            tables[run] = times
    sources = tuple(run for run in runs if run not in tables)
    if len(tables) > 1 and not all(times.profiles for times in tables.values()):
        raise ParcastError(
            f"{' and '.join(tables)} are two tables of times; write all runs into one of them"
        )
    return _together(list(tables.values())), sources


def _together(tables: Sequence[Times]) -> Times | None:
    """Return the runs of several files of profiles as one table."""
    if len(tables) <= 1:
        return next(iter(tables), None)
    import attrs

    first = tables[0]
    for times in tables:
        if times.code != first.code:
            raise ParcastError(
                f"{first.where} is {_kind(first)}, and {times.where} is {_kind(times)}; give runs "
                "of one code"
            )
    return attrs.evolve(
        first,
        where=", ".join(times.where for times in tables),
        runs=tuple(run for times in tables for run in times.runs),
        remarks=tuple(dict.fromkeys(text for times in tables for text in times.remarks)),
        varies=any(times.varies for times in tables),
    )


def _kind(times: Times) -> str:
    return f"an output of {times.code}" if times.code else "a profile"
