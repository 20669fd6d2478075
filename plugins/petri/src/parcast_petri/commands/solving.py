"""``parcast petri solve`` and ``slowdown``: nets of files, and a process on a loaded node."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

#: Seconds beyond which a command says what it is about to take.
_LONG = 20


class Evaluation(StrEnum):
    """When a delay that depends on the marking is evaluated."""

    batch = "batch"
    sequential = "sequential"


class Beginning(StrEnum):
    """What a demand finds on its node."""

    underway = "underway"
    steady = "steady"
    idle = "idle"


Demand = Annotated[str, typer.Option(help="CPU time of the process, such as 10 or 250ms.")]
Laws = Annotated[
    list[str],
    typer.Option(
        help="Law of the jobs' CPU times, such as exp:1 or hyper:4,50ms; repeat it as LAW@U "
        "for classes of utilization U."
    ),
]
Utilization = Annotated[float | None, typer.Option(help="What the jobs use of each core, below 1.")]
Cores = Annotated[int, typer.Option(min=1, help="Of the node.")]
Own = Annotated[int, typer.Option(min=1, help="Processes that compute on the node.")]
Arrivals = Annotated[
    str, typer.Option(help="Law of the times between arrivals; only its shape matters.")
]
Scheduling = Annotated[
    str, typer.Option(help="ps: equal shares; priority: the background first; rr:QUANTUM[,SWITCH].")
]
Begin = Annotated[
    Beginning,
    typer.Option(
        help="underway: in the midst of a long computation; steady: on a node that only its "
        "jobs have used so far; idle: with no job there. The first two differ where arrivals "
        "are correlated with the past, or the background goes first."
    ),
]
Deadline = Annotated[str | None, typer.Option(help="Give also the probability to be done by then.")]
Runs = Annotated[
    int | None,
    typer.Option(min=100, help="If it must be simulated; default: what ten seconds allow."),
]


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (solve, slowdown):
        app.command()(command)


def solve(
    file: Annotated[Path, typer.Argument(help="A timed net, in JSON or PNML.")],
    *,
    evaluation: Annotated[
        Evaluation, typer.Option(help="When delays that depend on the marking are evaluated.")
    ] = Evaluation.batch,
    bound: Annotated[int, typer.Option(min=1, help="Most tokens in a place.")] = 1 << 40,
    firings: Annotated[int, typer.Option(min=1, help="Most firings.")] = 50_000_000,
    seed: Annotated[int, typer.Option(help="Of the random delays.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate a net until nothing is enabled: its time, what fires, and whether it deadlocks.

    For a net that never ends: its steady state, as firings per second and mean tokens.
    """
    from parcast_petri.commands.arguments import read_net
    from parcast_petri.nets.solve import solution

    subject = read_net(file)
    for note in subject.notes:
        typer.echo(f"parcast: note: {file}: {note}", err=True)
    result = solution(
        subject.net, evaluation=evaluation.value, bound=bound, firings=firings, seed=seed
    )
    typer.echo(json.dumps(result.as_json()) if as_json else result.report())


def slowdown(
    *,
    demand: Demand,
    background: Laws,
    utilization: Utilization = None,
    cores: Cores = 1,
    own: Own = 1,
    arrivals: Arrivals = "exponential",
    scheduling: Scheduling = "ps",
    begin: Begin = Beginning.underway,
    deadline: Deadline = None,
    runs: Runs = None,
    seed: Annotated[int, typer.Option(help="Of those runs.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Predict how long a process takes on a loaded node: factor, mean, deviation and quantiles."""
    from parcast.cli import print_text, show_progress
    from parcast.quantities import to_base
    from parcast_petri.machine.load import read_load
    from parcast_petri.slowdown import Slowdown

    question = Slowdown(
        load=read_load(cores, utilization, background, arrivals, scheduling),
        demand=to_base(demand, "s"),
        own=own,
        begin=begin.value,
        deadline=None if deadline is None else to_base(deadline, "s"),
        seed=seed,
        runs=runs,
    )
    if not question.closed and question.seconds > _LONG and question.feasible:
        typer.echo(
            f"parcast: note: {question.planned_runs:,} runs of about {question.jobs:,.0f} jobs "
            f"or turns take up to {question.seconds:.0f} s; give a smaller --runs or --demand",
            err=True,
        )
    with show_progress() as tell:
        answer = question.answer(tell)
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        print_text(_slowdown_report(answer))


def _slowdown_report(answer: dict[str, Any]) -> str:
    quantiles = ", ".join(f"{float(q):.0%} {value:.6g}" for q, value in answer["quantiles"].items())
    lines = [
        f"slowed down by {answer['factor']:.6g} in the long run ({answer['method']})",
        f"mean {answer['mean']:.6g} s, standard deviation {answer['std']:.6g} s",
        f"quantiles, s: {quantiles}",
    ]
    if "runs" in answer:
        lines.append(f"{answer['runs']:,} runs, their mean +-{answer['standard_error']:.3g} s")
    if "deadline" in answer:
        lines.append(f"done by the deadline with probability {answer['deadline']:.6g}")
    return "\n".join(lines)
