"""``parcast goodput``."""

from __future__ import annotations

from typing import Annotated

import typer

from parcast.cli import print_json
from parcast.errors import ParcastError

Text = str | None


def goodput(
    context: typer.Context,
    workload: Annotated[Text, typer.Argument(help="The work: a name or a file.")] = None,
    machine: Annotated[Text, typer.Argument(help="What it runs on: a name or a file.")] = None,
    *,
    p: Annotated[int | None, typer.Option("-p", min=1, help="Processes.")] = None,
    solver: Annotated[
        Text, typer.Option("-s", "--solver", help="What predicts the work's time.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A workload parameter or machine value."),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="How often the workload runs, one after another.")
    ] = None,
    work: Annotated[
        Text, typer.Option(help="Instead of WORKLOAD: its time without failures, as 30d.")
    ] = None,
    on: Annotated[Text, typer.Option(help="The machine, where there is no WORKLOAD.")] = None,
    mtbf: Annotated[Text, typer.Option(help="Mean time between failures of the whole job.")] = None,
    node_mtbf: Annotated[
        Text, typer.Option(help="Or that of one node; without a machine p is of nodes.")
    ] = None,
    checkpoint: Annotated[Text, typer.Option(help="Time to write a checkpoint.")] = None,
    state: Annotated[
        Text, typer.Option(help="Or its bytes, which the machine's disks write.")
    ] = None,
    restart: Annotated[
        Text, typer.Option(help="From a failure until the job computes again.")
    ] = None,
    spares: Annotated[
        int | None, typer.Option(min=0, help="Nodes that replace failed ones.")
    ] = None,
    repair: Annotated[
        Text, typer.Option(help="Until a failed node is a spare again: 2d or exp:2d.")
    ] = None,
    slow_share: Annotated[
        Text, typer.Option(help="Share of the time with a straggler, such as 5%.")
    ] = None,
    slowdown: Annotated[Text, typer.Option(help="How much longer work takes then: 1.3.")] = None,
    slow_episode: Annotated[
        Text, typer.Option(help="Mean time that a straggler stays; 1h if not given.")
    ] = None,
    interval: Annotated[
        Text, typer.Option(help="Computing between two checkpoints; the optimum if not given.")
    ] = None,
    horizon: Annotated[str, typer.Option(help="The time that quantiles are of.")] = "30 d",
    runs: Annotated[
        int, typer.Option(min=100, max=1_000_000, help="How many runs are simulated.")
    ] = 4000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Predict a job under failures: how often to write checkpoints, and what is then left of time.

    The interval by Young's rule, by Daly's two and exactly; goodput, the share of the time spent
    on work that lasts; when the work is done, and how much that varies.
    """
    from parcast_training.goodput.answer import answer
    from parcast_training.goodput.command_options import Options, read_question
    from parcast_training.goodput.report import answer_json, print_answer

    if machine is not None and on is not None:
        raise ParcastError(f"--on {on}: {machine} is the machine already; leave out --on")
    options = Options(
        workload=workload, machine=machine or on, p=p, solver=solver,
        settings=tuple(settings or ()), work=work, steps=steps,
        mtbf=mtbf, node_mtbf=node_mtbf, checkpoint=checkpoint, state=state, restart=restart,
        spares=spares, repair=repair, slowdown=slowdown, slow_share=slow_share,
        slow_episode=slow_episode, interval=interval, horizon=horizon,
    )  # fmt: skip
    result = answer(read_question(context.obj, options), runs, seed)
    if json:
        print_json(answer_json(result))
    else:
        print_answer(result)
