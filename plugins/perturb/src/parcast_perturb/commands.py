"""``parcast perturb run``, ``save``, ``latency`` and ``sweep``: what only this family can do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parcast.cli import output_option
from parcast_perturb.command_options import (
    AssumeAlike,
    CollectiveName,
    Collectives,
    Eager,
    Json,
    OfSteps,
    Overhead,
    Policy,
    PolicyOption,
    RecordedOn,
    RuleName,
    Rules,
    Seed,
    SweepField,
    Texts,
    TimedOn,
    TraceFile,
)

if TYPE_CHECKING:
    from parcast_perturb.forecast import Forecast
    from parcast_perturb.options import MachineOptions, PerturbationOptions
    from parcast_perturb.perturbation import Perturbation, Semantics
    from parcast_perturb.traced_run import TracedRun

Latency = Annotated[Texts, typer.Option(help="Added to every message: 100us, exp:25us.")]
PerByte = Annotated[Texts, typer.Option(help="Added for every byte, such as 1ns.")]
OsNoise = Annotated[
    Texts, typer.Option(help="Added to every call: exp:25us, FILE, fit:gamma:FILE, 0..3@5us.")
]
ComputeNoise = Annotated[
    Texts, typer.Option(help="Added to computation between calls, written as --os-noise.")
]
RemoveNoise = Annotated[
    bool, typer.Option("--remove-noise", help="Shorten gaps to the shortest of the same calls.")
]
InFile = Annotated[Path | None, typer.Option(help="JSON with perturbation and params, in ticks.")]
Replications = Annotated[
    int | None,
    typer.Option(min=1, max=100_000, help="How often noise is drawn: 1, or 100 of a machine's."),
]
Keep = Annotated[Path | None, typer.Option("--keep", help="A folder that stores every answer.")]


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (run, save, latency, sweep):
        app.command()(command)


def run(
    context: typer.Context,
    file: TraceFile,
    *,
    latency: Latency = None,
    per_byte: PerByte = None,
    os_noise: OsNoise = None,
    compute_noise: ComputeNoise = None,
    remove_noise: RemoveNoise = False,
    perturbation: InFile = None,
    assume_alike: AssumeAlike = False,
    steps: OfSteps = False,
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    policy: PolicyOption = Policy.auto,
    rules: Rules = RuleName.corrected,
    collectives: Collectives = CollectiveName.paper,
    replications: Replications = None,
    seed: Seed = 0,
    folder: Keep = None,
    as_json: Json = False,
) -> None:
    """Predict how a traced run's time changes, and where delays are made and absorbed."""
    import attrs

    from parcast_perturb.forecast import forecast
    from parcast_perturb.options import MachineOptions, PerturbationOptions
    from parcast_perturb.perturbation import Semantics

    options = PerturbationOptions(
        latency=latency or (), per_byte=per_byte or (), os_noise=os_noise or (),
        compute_noise=compute_noise or (), remove_noise=remove_noise,
    )  # fmt: skip
    background = MachineOptions(
        machine=machine, recorded=recorded, overhead=overhead, eager=eager, steps=steps
    )
    change, traced = _read(
        context, file, options, background, perturbation, assume_alike=assume_alike
    )
    semantics = Semantics(rules=rules.value, collectives=collectives.value)
    names = _policies(traced, policy, semantics, from_file=perturbation is not None)
    answer = forecast(
        traced.trace, traced.with_noise(change), traced.recorded, semantics, names,
        replications=replications or (100 if traced.noisy else 1), seed=seed, notes=traced.notes,
    )  # fmt: skip
    answer = attrs.evolve(answer, steps=traced.steps)
    _report(context, answer, folder, as_json)


def _read(
    context: typer.Context,
    file: Path,
    options: PerturbationOptions,
    background: MachineOptions,
    perturbation: Path | None,
    *,
    assume_alike: bool,
) -> tuple[Perturbation, TracedRun]:
    """Return what is added, by options or by a file, and the run with what is then known of it."""
    import attrs

    from parcast_perturb.options import perturbation_of
    from parcast_perturb.perturbation_file import read_perturbation
    from parcast_perturb.traced_run import read_run

    traced = read_run(context.obj, file, background, assume_alike=assume_alike)
    if perturbation is not None:
        change, recorded = read_perturbation(perturbation, options, background)
        return change, attrs.evolve(traced, recorded=recorded)
    change, notes = perturbation_of(traced.trace, options)
    return change, attrs.evolve(traced, notes=notes + traced.notes)


def _policies(
    traced: TracedRun, policy: Policy, semantics: Semantics, *, from_file: bool
) -> list[str]:
    from parcast_perturb.forecast import policies

    if from_file and policy is Policy.auto:  # a file of ticks says clocks are one
        return ["upper", "lower", *["clocked"] * (traced.recorded.latency is not None)]
    return policies(traced.trace, traced.recorded, policy.value, semantics)


def _report(context: typer.Context, forecast: Forecast, folder: Path | None, as_json: bool) -> None:
    """Print an answer, and store it where a folder for it is named."""
    from parcast_perturb.history import store_experiment
    from parcast_perturb.report import forecast_json, forecast_lines

    if folder is not None:
        store_experiment(folder, _question(context), forecast_json(forecast))
    if as_json:
        typer.echo(json.dumps(forecast_json(forecast), allow_nan=False))
    else:
        typer.echo("\n".join(forecast_lines(forecast)))


def _question(context: typer.Context) -> dict[str, Any]:
    """Return the trace, and the options that differ from their defaults."""
    changed = {
        option.opts[-1].removeprefix("--"): context.params[option.name]
        for option in context.command.params
        if option.name is not None and context.params[option.name] != option.default
    }
    hidden = {"keep", "json", "file"}
    plain = {name: _plain(value) for name, value in changed.items() if name not in hidden}
    return {"trace": str(context.params["file"]), **plain}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return value if isinstance(value, (bool, int)) else str(value)


def save(
    file: TraceFile,
    *,
    output: Annotated[Path, output_option("The new file: NAME.trace.")],
    assume_alike: AssumeAlike = False,
) -> None:
    """Write a trace as columns, which load at once and need little memory."""
    from parcast.files import check_file
    from parcast_perturb.formats import read_trace
    from parcast_traces.readers.columnar import write

    check_file(output, "a trace in columns", [".trace"])
    write(read_trace(file, assume_alike=assume_alike), output)


def latency(
    context: typer.Context,
    file: TraceFile,
    *,
    most: Annotated[
        str | None, typer.Option(help="The largest added latency; by default 10 % of the run.")
    ] = None,
    assume_alike: AssumeAlike = False,
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    as_json: Json = False,
) -> None:
    """Show how much latency a run tolerates, and where the makespan's slope changes."""
    from parcast_perturb.curve import latency_curve
    from parcast_perturb.forecast import policies
    from parcast_perturb.options import MachineOptions, ticks
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.report import curve_json, curve_lines
    from parcast_perturb.span import makespans
    from parcast_perturb.traced_run import read_run

    background = MachineOptions(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    traced = read_run(context.obj, file, background, assume_alike=assume_alike).without_noise()
    trace = traced.trace
    policy = policies(trace, traced.recorded, "auto", Semantics())[0]
    largest = ticks(trace, most) if most is not None else 0.1 * float(makespans(trace)[0])
    curve = latency_curve(trace, traced.recorded, policy, largest)
    if as_json:
        typer.echo(json.dumps(curve_json(trace, curve, policy), allow_nan=False))
    else:
        notes = (*trace.notes, *traced.notes)
        typer.echo("\n".join(curve_lines(trace, curve, policy, notes)))


def sweep(
    context: typer.Context,
    file: TraceFile,
    *,
    of: Annotated[SweepField, typer.Option(help="What is added.")] = SweepField.latency,
    to: Annotated[str, typer.Option(help="The largest addition.")],
    steps: Annotated[int, typer.Option(min=1, max=10_000, help="How many steps from 0.")] = 7,
    assume_alike: AssumeAlike = False,
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    as_json: Json = False,
) -> None:
    """Add more and more of one thing, all steps in one pass over the trace."""
    from parcast_perturb.forecast import forecast, policies
    from parcast_perturb.options import MachineOptions, swept, ticks
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.report import sweep_json, sweep_lines
    from parcast_perturb.traced_run import read_run

    background = MachineOptions(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    traced = read_run(context.obj, file, background, assume_alike=assume_alike).without_noise()
    values = [ticks(traced.trace, to) * step / steps for step in range(steps + 1)]
    answer = forecast(
        traced.trace, swept(of.value, values), traced.recorded, Semantics(),
        policies(traced.trace, traced.recorded, "auto", Semantics()),
        replications=len(values), notes=traced.notes,
    )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(sweep_json(answer, of.value, values), allow_nan=False))
    else:
        typer.echo("\n".join(sweep_lines(answer, of.value, values)))
