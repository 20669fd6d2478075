"""``parcast perturb``: what only this family can do."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parcast.cli import output_option

if TYPE_CHECKING:
    from parcast_perturb.prediction import Forecast

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Perturbations of recorded runs."
)


#: How the slack of an edge is known.
Policy = StrEnum("Policy", ["auto", "interval", "upper", "lower", "clocked"])


#: What can be swept.
Swept = StrEnum("Swept", ["latency", "per_byte", "noise", "compute"])


class RuleName(StrEnum):
    """The corrected rules, the paper's first equation, or its second one for waits."""

    corrected = "corrected"
    paper = "paper"
    equation_2 = "equation-2"


class CollectiveName(StrEnum):
    """What the stages of a collective cost."""

    paper = "paper"
    butterfly = "butterfly"


TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace of a run.")]
Texts = list[str] | None
RecordedOn = Annotated[
    str | None, typer.Option("--recorded-on", help="The machine that was traced.")
]
Overhead = Annotated[str | None, typer.Option(help="What a call cost there.")]
Eager = Annotated[
    str | None,
    typer.Option(help="Longer sends wait for their receiver: 64KiB, CALL=64KiB, or estimated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]

Latency = Annotated[Texts, typer.Option(help="Added to every message: 100us, exp:25us.")]
PerByte = Annotated[Texts, typer.Option(help="Added for every byte, such as 1ns.")]
OsNoise = Annotated[
    Texts, typer.Option(help="Added to every call: exp:25us, FILE, fit:gamma:FILE, 0..3@5us.")
]
ComputeNoise = Annotated[Texts, typer.Option(help="Added between calls, as above.")]
RemoveNoise = Annotated[
    bool, typer.Option("--remove-noise", help="Make gaps as short as the shortest alike.")
]
InFile = Annotated[Path | None, typer.Option(help="JSON with perturbation and params, in ticks.")]
TimedOn = Annotated[
    str | None,
    typer.Option("--machine", help="Time a trace that has no times on this machine first."),
]
Replications = Annotated[
    int | None,
    typer.Option(min=1, max=100_000, help="How many draws: 1, or 100 of a machine's noise."),
]
Seed = Annotated[int, typer.Option(min=0, help="Of the draws.")]
Keep = Annotated[Path | None, typer.Option("--keep", help="A folder that keeps every answer.")]


@app.callback()
def _group() -> None:
    """What noise, latency and bandwidth would do to a recorded run."""


@app.command()
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
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    policy: Annotated[Policy, typer.Option(help="How slack is known.")] = Policy.auto,
    rules: Annotated[RuleName, typer.Option(help="Which rules.")] = RuleName.corrected,
    collectives: Annotated[
        CollectiveName, typer.Option(help="How stages add up.")
    ] = CollectiveName.paper,
    replications: Replications = None,
    seed: Seed = 0,
    folder: Keep = None,
    as_json: Json = False,
) -> None:
    """Say how a traced run's time changes, and where the change went."""
    from parcast_perturb.asking import Known, Wanted, from_file, perturbation_of
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.prediction import forecast, policies
    from parcast_perturb.subject import subject

    wanted = Wanted(
        latency=latency or (), per_byte=per_byte or (), os_noise=os_noise or (),
        compute_noise=compute_noise or (), remove_noise=remove_noise,
    )  # fmt: skip
    options = Known(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    asked_of = subject(context.obj, file, options)
    trace, known, notes = asked_of.trace, asked_of.known, asked_of.notes
    if perturbation is None:
        added, told = perturbation_of(trace, wanted)
    else:
        (added, known), told = from_file(perturbation, wanted, options), ()
    semantics = Semantics(rules=rules.value, collectives=collectives.value)
    asked = policies(trace, known, policy.value, semantics)
    if perturbation is not None and policy is Policy.auto:  # a file of ticks says clocks are one
        asked = ["upper", "lower", *(["clocked"] if known.latency is not None else [])]
    found = forecast(
        trace, asked_of.with_noise(added), known, semantics, asked,
        replications=replications or (100 if asked_of.noisy else 1), seed=seed, notes=told + notes,
    )  # fmt: skip
    _tell(context, found, folder, as_json)


def _tell(context: typer.Context, found: Forecast, folder: Path | None, as_json: bool) -> None:
    """Print an answer, and keep it where a folder for it is named."""
    from parcast_perturb.history import keep
    from parcast_perturb.prediction import as_json as whole
    from parcast_perturb.report import lines

    if folder is not None:
        keep(folder, _given(context), whole(found))
    typer.echo(json.dumps(whole(found), allow_nan=False) if as_json else "\n".join(lines(found)))


def _given(context: typer.Context) -> dict[str, Any]:
    """Return the options that were given, and the trace."""
    said = {
        option.opts[-1].removeprefix("--"): context.params[option.name]
        for option in context.command.params
        if option.name is not None and context.params[option.name] != option.default
    }
    hidden = {"keep", "json", "file"}
    asked = {name: value for name, value in said.items() if name not in hidden}
    plain = {name: _plain(value) for name, value in asked.items()}
    return {"trace": str(context.params["file"]), **plain}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [str(one) for one in value]
    return value if isinstance(value, (bool, int)) else str(value)


@app.command()
def save(
    file: TraceFile,
    *,
    output: Annotated[
        Path,
        output_option("Where it goes: NAME.trace."),
    ],
) -> None:
    """Write a trace as columns, which are read at once and need little memory."""
    from parcast.errors import FileError
    from parcast_perturb.formats import read_trace
    from parcast_traces.readers.columnar import write

    if output.suffix != ".trace":
        raise FileError(f"{output}: end the name in .trace")
    write(read_trace(file), output)


@app.command()
def latency(
    context: typer.Context,
    file: TraceFile,
    *,
    most: Annotated[
        str | None, typer.Option(help="The most that is added; 10 % of the run.")
    ] = None,
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    as_json: Json = False,
) -> None:
    """Say how much latency a run tolerates, and where the makespan's slope changes."""
    from parcast_perturb.asking import Known, ticks
    from parcast_perturb.curve import latency_curve
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.prediction import policies
    from parcast_perturb.report import curve_json, curve_lines
    from parcast_perturb.span import makespans
    from parcast_perturb.subject import subject

    options = Known(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    asked_of = subject(context.obj, file, options).quiet()
    trace, known = asked_of.trace, asked_of.known
    policy = policies(trace, known, "auto", Semantics())[0]
    top = ticks(trace, most) if most is not None else 0.1 * float(makespans(trace)[0])
    found = latency_curve(trace, known, policy, top)
    if as_json:
        typer.echo(json.dumps(curve_json(trace, found, policy), allow_nan=False))
    else:
        typer.echo("\n".join(curve_lines(trace, found, policy, asked_of.notes)))


@app.command()
def sweep(
    context: typer.Context,
    file: TraceFile,
    *,
    of: Annotated[Swept, typer.Option(help="What is added.")] = Swept.latency,
    to: Annotated[str, typer.Option(help="The most that is added.")],
    steps: Annotated[int, typer.Option(min=1, max=10_000, help="How many steps from 0.")] = 7,
    recorded: RecordedOn = None,
    machine: TimedOn = None,
    overhead: Overhead = None,
    eager: Eager = None,
    as_json: Json = False,
) -> None:
    """Add more and more of one thing, all steps in one pass over the trace."""
    from parcast_perturb.asking import Known, swept, ticks
    from parcast_perturb.perturbation import Semantics
    from parcast_perturb.prediction import forecast, policies
    from parcast_perturb.report import sweep_json, sweep_lines
    from parcast_perturb.subject import subject

    options = Known(machine=machine, recorded=recorded, overhead=overhead, eager=eager)
    asked_of = subject(context.obj, file, options).quiet()
    trace, known = asked_of.trace, asked_of.known
    values = [ticks(trace, to) * step / steps for step in range(steps + 1)]
    asked = policies(trace, known, "auto", Semantics())
    found = forecast(
        trace, swept(of.value, values), known, Semantics(), asked, replications=len(values),
        notes=asked_of.notes,
    )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(sweep_json(found, of.value, values), allow_nan=False))
    else:
        typer.echo("\n".join(sweep_lines(found, of.value, values)))
