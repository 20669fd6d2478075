"""Commands over many answers: what slow ranks cost, and the history of experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast_perturb.commands import (
    Eager,
    Json,
    Overhead,
    RecordedOn,
    TimedOn,
    TraceFile,
)

if TYPE_CHECKING:
    from parcast_perturb.slowest import Slowness
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
    """Say which ranks compute longer than the median, and how long the run is without that."""
    from parcast_perturb.asking import Known
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.prediction import policies
    from parcast_perturb.slowest import slowness
    from parcast_perturb.subject import subject

    options = Known(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    asked_of = subject(context.obj, file, options).quiet()
    trace, known, notes = asked_of.trace, asked_of.known, asked_of.notes
    policy = policies(trace, known, "auto", Semantics())[0]
    found = slowness(trace, known, policy)
    if as_json:
        typer.echo(json.dumps(_object(trace, found, policy, notes), allow_nan=False))
    else:
        typer.echo("\n".join([*_lines(trace, found, policy), *(f"note: {one}" for one in notes)]))


def _object(
    trace: Trace, found: Slowness, policy: str, notes: tuple[str, ...]
) -> dict[str, object]:
    return {
        "schema": 1,
        "trace": trace.where,
        "tick": trace.tick,
        "policy": policy,
        "before": found.before,
        "even": found.even,
        "slowdown": found.slowdown,
        "without": {str(rank): time for rank, time in found.without.items()},
        "excess": found.excess.tolist(),
        "notes": list(notes),
    }


def _lines(trace: Trace, found: Slowness, policy: str) -> list[str]:
    from parcast_perturb.report import in_words

    before = in_words(trace, found.before)
    if not found.without:
        return [f"{trace.where}: {before}; no rank computes longer than the median rank"]
    even = f"{in_words(trace, found.even)} ({policy})"
    cost = f"slow ranks cost {found.slowdown - 1:.2%}"
    rows = [
        f"{trace.where}: {before}; with no rank slower than the median one {even}, so {cost}",
        f"{'rank':>6}{'computes longer':>18}{'run without that':>18}{'it costs':>10}",
    ]
    for rank, without in found.without.items():
        share = found.before / without - 1 if without > 0 else 0.0
        excess = in_words(trace, float(found.excess[rank]))
        rows.append(f"{rank:6}{excess:>18}{in_words(trace, without):>18}{share:>10.2%}")
    slower = int((found.excess > 0).sum())
    if slower > len(found.without):
        rows.append(f"   (the {len(found.without)} slowest of {slower} ranks above the median)")
    return rows


def experiments(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of --keep.")],
    *,
    as_json: Json = False,
) -> None:
    """List the answers that 'parcast perturb run --keep FOLDER' kept, in their order."""
    from parcast_perturb.history import kept, rows

    found = list(kept(folder))
    typer.echo(json.dumps(found, allow_nan=False) if as_json else "\n".join(rows(found)))
