"""``parcast emulator``: what only this family can do."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parcast.cli import output_option

if TYPE_CHECKING:
    from parcast import Query, Registry, Workload
    from parcast_emulator.coupling import Coupling
    from parcast_emulator.simulation import Outcome
    from parcast_emulator.spec import Spec

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Application emulators.")


class CallName(StrEnum):
    """Calls that may block."""

    reads = "reads"
    sends = "sends"
    computation = "computation"


class EngineName(StrEnum):
    """The engines that a user may name."""

    auto = "auto"
    feed_forward = "feed-forward"
    merge = "merge"
    tc = "tc"


Application = Annotated[str, typer.Argument(help="An emulated application: a name or a file.")]
Computer = Annotated[str, typer.Argument(metavar="MACHINE", help="A name or a file.")]
Processes = Annotated[int, typer.Option("-p", min=1, help="Number of nodes, a process on each.")]
Disks = Annotated[int | None, typer.Option("-d", min=1, help="Disks of each node.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="As for parcast predict.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the application's random numbers.")]


@app.callback()
def _group() -> None:
    """Emulators of data-intensive applications, and their simulator."""


@app.command()
def simulate(
    file: Annotated[Path, typer.Argument(help="A machine, its nodes and epochs, in JSON.")],
    *,
    engine: Annotated[
        EngineName, typer.Option(help="auto takes feed-forward where that applies.")
    ] = EngineName.auto,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run both engines and compare every bit.")
    ] = False,
    polling: Annotated[
        str, typer.Option(help="Time of one check for completion, such as 20us (tc).")
    ] = "0",
    blocking: Annotated[
        list[CallName] | None, typer.Option(help="Calls that a process waits for (tc).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every operation's times.")] = False,
) -> None:
    """Simulate explicit block lists: when every read, message and computation happens."""
    from parcast_emulator.results import operation_times
    from parcast_emulator.spec import read_spec

    coupling = _coupling(engine, polling, blocking or [])
    spec = read_spec(file)
    outcome = _outcome(spec, engine.value, coupling, verify=verify, record=as_json)
    if as_json:
        typer.echo(json.dumps(operation_times(spec.cluster, outcome), allow_nan=False))
    else:
        typer.echo("\n".join(_report(spec, outcome, verified=verify)))


@app.command("what-if")
def what_if(
    context: typer.Context,
    workload: Application,
    machine: Computer,
    *,
    p: Processes,
    d: Disks = None,
    settings: Settings = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Predict what more disks, faster parts or another layout would change, one at a time."""
    from attrs import asdict

    from parcast_emulator.progress import simulation_progress
    from parcast_emulator.what_if import variants as variants_of

    query = _query(context.obj, workload, machine, p, d, settings, seed)
    with simulation_progress() as progress:
        variants = list(variants_of(query, progress))
    if as_json:
        typer.echo(json.dumps([asdict(variant) for variant in variants], allow_nan=False))
        return
    width = max(len(variant.name) for variant in variants)
    typer.echo(f"{'':{width}}  {'time [s]':>10}  {'gain':>6}  bottleneck")
    for variant in variants:
        gain = variants[0].time / variant.time if variant.time else 1.0
        typer.echo(f"{variant.name:{width}}  {variant.time:10.5g}  {gain:6.2f}  {variant.binding}")


@app.command()
def timeline(
    context: typer.Context,
    workload: Application,
    machine: Computer,
    *,
    p: Processes,
    output: Annotated[
        Path,
        output_option("Where the JSON goes."),
    ],
    d: Disks = None,
    settings: Settings = None,
    seed: Seed = 0,
) -> None:
    """Write when every server does what, as a trace that ui.perfetto.dev shows."""
    from parcast.errors import UnsupportedError
    from parcast.files import check_file, write_text
    from parcast_emulator.hardware import cluster_of
    from parcast_emulator.progress import simulation_progress
    from parcast_emulator.simulation import simulate
    from parcast_emulator.timeline import few, timeline

    check_file(output, "a timeline", [".json"])
    query = _query(context.obj, workload, machine, p, d, settings, seed)
    cluster = cluster_of(query)
    if cluster.hardware.fair_bus or cluster.hardware.fair_ports:
        raise UnsupportedError("a timeline shows one thing after another, and shares are no spans")
    mirrored = query.workload.content.writing(query)
    if mirrored is None:
        raise UnsupportedError("a timeline is of reads or of writes; --set writes=0 or reads=0")
    with simulation_progress() as progress:
        epochs = few(query.workload.content.epochs(query, cluster))
        outcome = simulate(cluster, epochs, record=True, progress=progress)
    trace = timeline(cluster, outcome, mirrored=mirrored)
    write_text(output, json.dumps(trace, allow_nan=False))


@app.command()
def workflow(
    context: typer.Context,
    workload: Application,
    *,
    output: Annotated[
        Path,
        output_option("Where it goes: .svg, .png, .pdf or .dot."),
    ],
) -> None:
    """Draw what happens to one block of an application, and what waits for what."""
    from parcast.files import GRAPHS, check_file, write_graph
    from parcast_emulator.workflow import dot

    check_file(output, "a graph", GRAPHS)
    content = _application(context.obj, workload).content
    write_graph(dot(content.emulator.workflow), output)


def _application(registry: Registry, workload: str) -> Workload:
    from parcast.errors import FileError

    application = registry.workload(workload)
    if application.kind != "emulator":
        raise FileError(
            f"{workload} is a workload of kind {application.kind!r}; only those of kind 'emulator' "
            "have blocks and a work-flow graph"
        )
    return application


def _query(
    registry: Registry, workload: str, machine: str, p: int, d: int | None,
    settings: list[str] | None, seed: int,
) -> Query:  # fmt: skip
    """Return the query of a command about one application at one point, checked."""
    from parcast.comparison import Scenario, split_assignment
    from parcast.comparison import Settings as Sorted

    application = _application(registry, workload)
    assignments = Sorted.sort(dict(map(split_assignment, settings or ())), registry, [application])
    line = Scenario(
        workload=application, machine=registry.machine(machine), settings=assignments, seed=seed
    )
    query = line.query(registry, p, line.disks(d, p)[0])
    query.workload.content.check(query)
    return query


def _coupling(engine: EngineName, polling: str, blocking: list[CallName]) -> Coupling | None:
    """Return how processes call, where the engine has processes."""
    from parcast.errors import UnsupportedError
    from parcast.files import structure
    from parcast_emulator.coupling import Coupling

    blocking_calls = dict.fromkeys((call.value for call in blocking), "blocking")
    coupling = structure({"polling": polling, **blocking_calls}, Coupling, "option", "")
    if engine is EngineName.tc:
        return coupling
    if coupling != Coupling():
        raise UnsupportedError(
            f"--polling and --blocking are about processes, which the engine {engine.value} has "
            "not; add --engine tc"
        )
    return None


def _outcome(
    spec: Spec, engine: Any, coupling: Coupling | None, *, verify: bool, record: bool
) -> Outcome:
    from parcast.errors import UnsupportedError
    from parcast_emulator import simulation
    from parcast_emulator.progress import simulation_progress

    if not verify:
        with simulation_progress() as progress:
            return simulation.simulate(
                spec.cluster,
                spec.epochs,
                engine=engine,
                coupling=coupling,
                own_epochs=spec.own_epochs,
                record=record,
                progress=progress,
            )
    if spec.own_epochs:
        raise UnsupportedError("--verify: epochs of each node's own run on the merge engine only")
    return simulation.verify(spec.cluster, lambda: spec.epochs)


def _report(spec: Spec, outcome: Outcome, *, verified: bool) -> list[str]:
    """Return the lines for a reader: the time, what was busy, and by which engine."""
    from parcast_emulator.results import binding, resources

    lines = [f"time        {outcome.time:.6g} s, not below {outcome.lower:.6g} s"]
    if len(outcome.epoch_ends) > 1:
        lines.append(f"epochs      {', '.join(f'{end:.6g}' for end in outcome.epoch_ends)} s")
    by_class = resources(spec.cluster, outcome)
    lines += ["", f"{'':10}{'busy':>8}{'hottest':>9}{'hot/mean':>10}{'queueing [s]':>14}"]
    lines += [
        f"{word:10}{used['utilization']:8.1%}{used['hottest']:9.1%}"
        f"{used['hot_to_mean']:10.2f}{used['queueing']:14.6g}"
        for word, used in by_class.items()
    ]
    why = f" ({outcome.reason})" if outcome.reason else ""
    same = "; the merge engine gives the same bits" if verified else ""
    lines += ["", f"bottleneck  {binding(spec.cluster, outcome)}"]
    return [*lines, f"engine      {outcome.engine}{why}{same}"]
