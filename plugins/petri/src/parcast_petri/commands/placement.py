"""``parcast petri place``, ``blame`` and ``uncertainty``: answers from many preparation."""

from __future__ import annotations

import json
from typing import Annotated

import attrs
import typer

Program = Annotated[str, typer.Argument(help="A program: a name or a file.")]
Machine = Annotated[str, typer.Argument(help="A machine with nodes: a name or a file.")]
Processes = Annotated[int, typer.Option("-p", min=1, help="Processes.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE: a parameter, or an option of petri.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Seed = Annotated[int, typer.Option(help="Of the random numbers; all allocations use the same.")]
Runs = Annotated[int, typer.Option(min=10, help="Runs by petri.explicit of each allocation.")]


def place(
    context: typer.Context,
    program: Program,
    machine: Machine,
    *,
    p: Processes,
    quantile: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Minimize this quantile, such as 0.95; default: the mean."),
    ] = None,
    runs: Runs = 200,
    seed: Seed = 0,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """Find which node each process should run on: least mean time, or least quantile."""
    import time

    from parcast_petri.commands.arguments import query_of
    from parcast_petri.placement import PlacementSearch

    began = time.perf_counter()
    query = attrs.evolve(query_of(context.obj, program, machine, p, settings or []), seed=seed)
    search = PlacementSearch(query, quantile, runs)
    allocation = search.best()
    seconds = (time.perf_counter() - began) / len(search.tried)
    exhaustive = bool(search.candidates)
    if as_json:
        answer = {"mapping": allocation.mapping, "time": allocation.value, "quantile": quantile,
                  "tried": len(search.tried), "exhaustive": exhaustive}  # fmt: skip
        typer.echo(json.dumps(answer))
        return
    statistic = "mean" if quantile is None else f"{quantile:.0%} quantile"
    method = "all different ones" if exhaustive else "a search, which may miss the best"
    typer.echo(
        f"nodes {', '.join(map(str, allocation.mapping))}: {statistic} {allocation.value:.6g} s"
    )
    typer.echo(f"{len(search.tried)} allocations tried ({method}), {seconds * 1e3:.2g} ms each")


def blame(
    context: typer.Context,
    program: Program,
    machine: Machine,
    *,
    p: Processes,
    runs: Runs = 1000,
    seed: Seed = 0,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """Predict how much sooner the program would end without the load of each node."""
    from parcast_petri.commands.arguments import query_of
    from parcast_petri.placement import blame as blamed

    query = attrs.evolve(query_of(context.obj, program, machine, p, settings or []), seed=seed)
    costs = blamed(query, runs)
    if as_json:
        nodes = [{"node": node, "seconds": cost.mean, "ci": cost.ci} for node, cost in costs]
        typer.echo(json.dumps({"nodes": nodes}))
        return
    for node, cost in costs:
        typer.echo(
            f"node {node}: its load costs {cost.mean:.4g} s "
            f"(95% interval {cost.ci[0]:.4g} .. {cost.ci[1]:.4g})"
        )
    if not costs:
        typer.echo("no node that the program uses is loaded")


def uncertainty(
    context: typer.Context,
    program: Program,
    machine: Machine,
    *,
    p: Processes,
    runs: Runs = 200,
    seed: Seed = 0,
    settings: Settings = None,
    as_json: Json = False,
) -> None:
    """Predict with every option of the model: how far apart the times are is its uncertainty."""
    from parcast.errors import UnsupportedError
    from parcast_petri.commands.arguments import query_of
    from parcast_petri.uncertainty import variants

    query = attrs.evolve(query_of(context.obj, program, machine, p, settings or []), seed=seed)
    rows = list(variants(query, runs))
    times = [row.time for row in rows if row.time is not None]
    if not times:
        raise UnsupportedError(rows[0].reason)
    reference = next((row.time for row in rows if row.asked), None)
    if as_json:
        objects = [attrs.asdict(row) for row in rows]
        typer.echo(json.dumps({"time": reference, "least": min(times), "most": max(times),
                               "answers": objects}))  # fmt: skip
        return
    for row in rows:
        mark = "*" if row.asked else " "
        outcome = f"{row.time:.6g} s" if row.time is not None else f"no answer: {row.reason}"
        typer.echo(f"{mark} {row.option:8}{row.word:18}{outcome}")
    spread = (max(times) - min(times)) / (reference or min(times))
    typer.echo(f"between {min(times):.6g} and {max(times):.6g} s: {spread:.1%} apart")


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (place, blame, uncertainty):
        app.command()(command)
