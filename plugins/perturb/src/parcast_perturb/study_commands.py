"""Commands over many answers: what slow ranks cost, and the history of experiments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast_perturb.command_options import (
    AssumeAlike,
    Eager,
    Json,
    Overhead,
    RecordedOn,
    TimedOn,
    TraceFile,
)

if TYPE_CHECKING:
    from parcast_perturb.perturbation import Recorded
    from parcast_perturb.slow_ranks import Slowness
    from parcast_perturb.traced_run import TracedRun
    from parcast_traces.trace.columns import Trace

#: Fewer standard deviations of noise may be chance, with one of many ranks the slowest always.
_SURE = 4.0
#: A rank whose excess is this share of the slowest one's is named beside it.
_NEAR = 0.8


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (slowest, experiments):
        app.command()(command)


def slowest(
    context: typer.Context,
    file: TraceFile,
    *,
    assume_alike: AssumeAlike = False,
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    as_json: Json = False,
) -> None:
    """Show which ranks compute longer than the others, and how long the run is without that."""
    from parcast_perturb.options import MachineOptions
    from parcast_perturb.slow_ranks import slowness
    from parcast_perturb.traced_run import read_run

    background = MachineOptions(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    traced = read_run(context.obj, file, background, assume_alike=assume_alike).without_noise()
    trace, known, policy, notes = _compared(traced)
    cost = slowness(trace, known, policy)
    if as_json:
        typer.echo(json.dumps(_object(trace, cost, policy, notes), allow_nan=False))
    else:
        typer.echo("\n".join([*_lines(trace, cost, policy), *(f"note: {note}" for note in notes)]))


def _compared(traced: TracedRun) -> tuple[Trace, Recorded, str, tuple[str, ...]]:
    """Return a run on one clock where its collectives tell, what is known of it, and notes."""
    from parcast_perturb.forecast import policies
    from parcast_perturb.one_clock import on_one_clock, recorded_costs
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.report import in_words
    from parcast_perturb.traced_run import OWN_COST

    trace, recorded, notes = traced.trace, traced.recorded, (*traced.trace.notes, *traced.notes)
    clock = on_one_clock(trace)
    if clock is None or trace.modeled:
        return trace, recorded, policies(trace, recorded, "auto", Semantics())[0], notes
    known = recorded_costs(clock.trace, recorded)
    if clock.meetings:
        spread = in_words(trace, clock.spread)
        count = f"{clock.meetings:,} collectives"
        notes += (f"clocks are put on rank 0's by {count}, whose ends then differ by {spread}",)
    if clock.messages:
        spread = in_words(trace, clock.spread)
        notes += (f"clocks are put on rank 0's by {clock.messages:,} messages, to {spread}",)
    seen = []
    if known.overhead != recorded.overhead:
        notes = tuple(note for note in notes if note != OWN_COST)
        seen.append(f"a call costs its rank {in_words(trace, known.overhead)}")
    if known.latency != recorded.latency:
        seen.append(f"a message takes {in_words(trace, known.latency or 0.0)}")
    if seen:
        notes += (f"seen in the trace: {', '.join(seen)}",)
    return clock.trace, known, "clocked", notes


def _object(trace: Trace, cost: Slowness, policy: str, notes: tuple[str, ...]) -> dict[str, object]:
    import attrs

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
        "delays": None if cost.delays is None else attrs.asdict(cost.delays),
        "beyond_noise": None if cost.beyond in (None, float("inf")) else cost.beyond,
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
        f"{trace.where}: {before}; with all ranks like the median one {even}, so {cost}",
        _verdict(trace, slowness),
        *_delays(trace, slowness),
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


def _delays(trace: Trace, slowness: Slowness) -> list[str]:
    """Return what single delays of the slowest cost, if it has any."""
    from parcast_perturb.report import in_words

    delays, rank = slowness.delays, next(iter(slowness.without))
    if delays is None:
        return []
    cost = in_words(trace, slowness.before - delays.without)
    longer = in_words(trace, delays.longer)
    what = f"{delays.count} of {delays.of} stretches of rank {rank}"
    return [f"{what} take {longer} longer than its others: these delays cost {cost}"]


def _verdict(trace: Trace, slowness: Slowness) -> str:
    """Return who is the slowest, and whether that is more than chance."""
    from parcast_perturb.report import in_words

    rank = next(iter(slowness.without))
    longer = in_words(trace, float(slowness.excess[rank]))
    sentence = f"rank {rank} is the slowest: it computes {longer} longer than the others"
    least = _NEAR * slowness.excess[rank]
    near = [str(r) for r in slowness.without if r != rank and slowness.excess[r] >= least]
    if near:
        sentence += f" (nearly as much: {', '.join(near)})"
    if slowness.beyond is None or slowness.beyond == float("inf"):
        return sentence
    if slowness.beyond < _SURE:
        return f"{sentence}, which is within their noise ({slowness.beyond:.1f} deviations of it)"
    return f"{sentence}, {slowness.beyond:.0f} standard deviations of their noise"


def experiments(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of --keep.")],
    *,
    as_json: Json = False,
) -> None:
    """List the answers that 'parcast perturb run --keep FOLDER' stored, in their order."""
    from parcast_perturb.history import stored_experiments, table_lines

    answers = list(stored_experiments(folder))
    typer.echo(json.dumps(answers, allow_nan=False) if as_json else "\n".join(table_lines(answers)))
