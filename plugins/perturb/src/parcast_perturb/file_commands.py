"""``parcast perturb convert``, ``graph``, ``replay`` and ``stragglers``: from file to file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option
from parcast_perturb.command_options import (
    AssumeAlike,
    Eager,
    Json,
    Overhead,
    Seed,
    Texts,
    TimedOn,
    TraceFile,
)

if TYPE_CHECKING:
    from parcast_perturb.options import PerturbationOptions
    from parcast_perturb.traced_run import TracedRun

_PICTURE = ".perfetto.json"

Output = Annotated[Path, output_option("The new file.")]


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (convert, graph, replay, stragglers):
        app.command()(command)


def convert(
    context: typer.Context,
    file: TraceFile,
    *,
    output: Output,
    assume_alike: AssumeAlike = False,
    machine: TimedOn = None,
    latency: Annotated[Texts, typer.Option(help="Added to every message, in a picture.")] = None,
    per_byte: Annotated[Texts, typer.Option(help="Added for every byte, in a picture.")] = None,
    os_noise: Annotated[Texts, typer.Option(help="Added to every call, in a picture.")] = None,
    compute_noise: Annotated[Texts, typer.Option(help="Added between calls, in a picture.")] = None,
    overhead: Overhead = None,
    eager: Eager = None,
    seed: Seed = 0,
) -> None:
    """Write a trace as X.otf2, .goal, .tit or .trace, or as X.perfetto.json: before and after."""
    from parcast.errors import ParcastError
    from parcast.files import check_suffix
    from parcast_perturb.options import MachineOptions, PerturbationOptions
    from parcast_perturb.traced_run import read_run
    from parcast_traces.writers import SUFFIXES, write_trace

    check_suffix(output, "a trace", SUFFIXES)
    options = PerturbationOptions(
        latency=latency or (), per_byte=per_byte or (), os_noise=os_noise or (),
        compute_noise=compute_noise or (),
    )  # fmt: skip
    picture = output.name.lower().endswith(_PICTURE)
    if not picture and (options != PerturbationOptions() or (eager, overhead) != (None, None)):
        raise ParcastError(f"{output}: only a picture shows a perturbation (X{_PICTURE})")
    background = MachineOptions(machine=machine, overhead=overhead, eager=eager)
    traced = read_run(context.obj, file, background, assume_alike=assume_alike, times=picture)
    if picture:
        notes = traced.notes + _picture(traced, options, output, seed)
    else:
        notes = tuple(f"lost: {loss}" for loss in write_trace(traced.trace, output))
        notes += ("the machine's noise is not in it",) * traced.noisy
    for note in (*traced.trace.notes, *notes):
        typer.echo(f"note: {note}")


def _picture(
    traced: TracedRun, options: PerturbationOptions, output: Path, seed: int
) -> tuple[str, ...]:
    """Write a picture of a run before and after; return what is to be said of what is added."""
    from parcast.errors import UnsupportedError
    from parcast_perturb.forecast import policies
    from parcast_perturb.options import perturbation_of
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.propagation.running import propagate
    from parcast_perturb.traced_run import NO_TIMES
    from parcast_traces.writers.perfetto import write

    trace = traced.trace
    if not trace.timed:
        raise UnsupportedError(NO_TIMES.format(where=trace.where))
    change, notes = perturbation_of(trace, options)
    policy = policies(trace, traced.recorded, "auto", Semantics())[0]
    delays = propagate(
        trace, traced.with_noise(change), traced.recorded, policy, seed=seed, every_end=True
    )
    assert delays.ends is not None
    write(trace, delays.ends[:, 0], output)
    return notes


def graph(
    file: TraceFile,
    *,
    output: Output,
    assume_alike: AssumeAlike = False,
) -> None:
    """Draw the message graph of a small trace: X.svg, .png, .pdf, .dot or .graphml."""
    from parcast.files import check_file
    from parcast_perturb.formats import read_trace
    from parcast_perturb.graph import SUFFIXES, write

    check_file(output, "a graph", SUFFIXES)
    write(read_trace(file, assume_alike=assume_alike), output)


def replay(
    file: Annotated[Path, typer.Argument(metavar="SCHEDULE", help="A schedule in GOAL.")],
    *,
    latency: Annotated[str, typer.Option(help="L.")] = "2500ns",
    overhead: Annotated[str, typer.Option(help="o, of a message at either end.")] = "1500ns",
    gap: Annotated[str, typer.Option(help="g, between messages.")] = "1000ns",
    per_byte: Annotated[str, typer.Option(help="G.")] = "6ns",
    overhead_per_byte: Annotated[str, typer.Option(help="O.")] = "0ns",
    eager: Annotated[str, typer.Option(help="S: longer sends wait for their receiver.")] = "65535B",
    as_json: Json = False,
) -> None:
    """Replay a schedule under LogGOPSim's own model; its defaults are the simulator's."""
    from parcast.quantities import to_base
    from parcast_perturb.loggops import LogGOPS
    from parcast_perturb.loggops import replay as run
    from parcast_traces.readers.goal import schedule

    def ns(text: str) -> int:
        return round(to_base(text, "s") * 1e9)

    model = LogGOPS(
        latency=ns(latency), overhead=ns(overhead), gap=ns(gap), per_byte=ns(per_byte),
        overhead_per_byte=ns(overhead_per_byte), eager=round(to_base(eager, "B")),
    )  # fmt: skip
    ends = run(schedule(file), model)
    if as_json:
        answer = {"schema": 1, "schedule": str(file), "model": "loggops", "ends_ns": ends,
                 "makespan_ns": max(ends)}  # fmt: skip
        typer.echo(json.dumps(answer))
        return
    typer.echo(f"{file}: {len(ends)} ranks, LogGOPS, makespan {max(ends):,} ns")
    for rank, end in enumerate(ends[:16]):
        typer.echo(f"{rank:6}{end:20,} ns")
    if len(ends) > 16:
        typer.echo(f"   (16 of {len(ends)} ranks; --json has all)")


def stragglers(
    file: Annotated[Path, typer.Argument(metavar="TABLE", help="Operations: .parquet or .csv.")],
    *,
    as_json: Json = False,
) -> None:
    """Show how much stragglers slow a training job down, and which operations and ranks do it."""
    import attrs

    from parcast_training.slowdown import slowdown
    from parcast_training.table import read

    job = read(file)
    result = slowdown(job)
    if as_json:
        typer.echo(json.dumps({"schema": 1, "table": str(file), **attrs.asdict(result)}))
        return
    rows = [
        f"{file}: {job.ranks.size} ranks, {len(job.steps)} steps, {job.start.size:,} operations",
        f"a step takes         {result.recorded:.6g} s as recorded",
        f"                     {result.without_delays:.6g} s without delays of launches",
        f"                     {result.without_stragglers:.6g} s if all alike took as long",
        f"stragglers make it   {result.total:.4f} times as long",
        (
            f"the slowest ranks explain {result.slow_ranks:.1%} of it, the last stage "
            f"{result.last_stage:.1%}"
        ),
        "",
        "only these as recorded, all others alike:",
    ]
    groups = (("", result.by_type), ("stage ", result.by_stage), ("data rank ", result.by_part))
    for word, ratios in groups:
        order = sorted(ratios.items(), key=lambda item: -item[1])
        rows += [f"  {word + str(name):30}{ratio:.4f}" for name, ratio in order]
    typer.echo("\n".join(rows))
