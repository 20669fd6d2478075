"""Commands over many answers: what slow ranks cost, and the history of experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast_perturb.command_options import Eager, Json, Overhead, RecordedOn, TimedOn, TraceFile

if TYPE_CHECKING:
    from parcast_perturb.slow_ranks import Slowness
    from parcast_traces.trace.columns import Trace


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (slowest, experiments):
        app.command()(command)


def slowest(
    context: typer.Context,
    file: TraceFile,
    *,
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    as_json: Json = False,
) -> None:
    """Show which ranks compute longer than the median, and how long the run is without that."""
    from parcast_perturb.forecast import policies
    from parcast_perturb.options import MachineOptions
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.slow_ranks import slowness
    from parcast_perturb.traced_run import read_run

    background = MachineOptions(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    traced = read_run(context.obj, file, background).without_noise()
    trace, notes = traced.trace, traced.notes
    policy = policies(trace, traced.recorded, "auto", Semantics())[0]
    cost = slowness(trace, traced.recorded, policy)
    if as_json:
        typer.echo(json.dumps(_object(trace, cost, policy, notes), allow_nan=False))
    else:
        typer.echo("\n".join([*_lines(trace, cost, policy), *(f"note: {note}" for note in notes)]))


def _object(trace: Trace, cost: Slowness, policy: str, notes: tuple[str, ...]) -> dict[str, object]:
    return {
        "schema": 1,
        "trace": trace.where,
        "tick": trace.tick,
        "policy": policy,
        "before": cost.before,
        "even": cost.even,
        "slowdown": cost.slowdown,
        "without": {str(rank): time for rank, time in cost.without.items()},
        "excess": cost.excess.tolist(),
        "notes": list(notes),
    }


def _lines(trace: Trace, slowness: Slowness, policy: str) -> list[str]:
    from parcast_perturb.report import in_words

    before = in_words(trace, slowness.before)
    if not slowness.without:
        return [f"{trace.where}: {before}; no rank computes longer than the median rank"]
    even = f"{in_words(trace, slowness.even)} ({policy})"
    cost = f"slow ranks cost {slowness.slowdown - 1:.2%}"
    rows = [
        f"{trace.where}: {before}; with no rank slower than the median one {even}, so {cost}",
        f"{'rank':>6}{'computes longer':>18}{'run without that':>18}{'it costs':>10}",
    ]
    for rank, without in slowness.without.items():
        share = slowness.before / without - 1 if without > 0 else 0.0
        excess = in_words(trace, float(slowness.excess[rank]))
        rows.append(f"{rank:6}{excess:>18}{in_words(trace, without):>18}{share:>10.2%}")
    slower = int((slowness.excess > 0).sum())
    if slower > len(slowness.without):
        rows.append(f"   (the {len(slowness.without)} slowest of {slower} ranks above the median)")
    return rows


def experiments(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of --keep.")],
    *,
    as_json: Json = False,
) -> None:
    """List the answers that 'parcast perturb run --keep FOLDER' stored, in their order."""
    from parcast_perturb.history import stored_experiments, table_lines

    answers = list(stored_experiments(folder))
    typer.echo(json.dumps(answers, allow_nan=False) if as_json else "\n".join(table_lines(answers)))
