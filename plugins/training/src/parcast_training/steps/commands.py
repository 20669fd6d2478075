"""``parcast training``: which layout of a job is fastest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import typer

from parcast.cli import output_option, print_json, print_table, print_text
from parcast.errors import InvalidPointError, ParcastError, UnsupportedError
from parcast.files import write_text
from parcast.model import Machine, Query

if TYPE_CHECKING:
    from parcast import Registry
    from parcast_training.steps.plan import Plan

training = typer.Typer(help="Steps of training language models.", no_args_is_help=True)

_HEAD = (
    "time",
    "tp",
    "pp",
    "dp",
    "ep",
    "micro",
    "pieces",
    "schedule",
    "zero",
    "recompute",
    "memory",
    "bubble",
    "exposed",
    "tokens/s",
    "MFU",
    "bottleneck",
)  # fmt: skip

#: Left out where the terminal is too narrow, the first before the others.
_OPTIONAL = ("exposed", "tokens/s", "ep", "bubble", "pieces", "bottleneck")


@training.callback()
def group() -> None:
    """Steps of training language models."""


@training.command()
def plan(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A training job: a file.")],
    machine: Annotated[str, typer.Argument(help="A machine with accelerators: a name or a file.")],
    *,
    gpus: Annotated[
        str, typer.Option(metavar="LIST", help="Accelerators to use: 64, or 64,128 or 16..1024*2.")
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="What keeps this value in all layouts, or a value of the machine.",
        ),
    ] = None,
    best: Annotated[int, typer.Option(min=1, help="How many layouts to print.")] = 10,
    output: Annotated[
        Path | None,
        output_option("Time against cost and memory, .html or .svg; or arguments for Megatron-LM."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Rank all layouts of a training job by the time of a step.

    Tensor, pipeline, data and expert parallel sizes, microbatches, schedules, sharding of the
    optimizer and recomputation vary; the rest is the job's. Those that need more memory than an
    accelerator has are left out.
    """
    from parcast.quantities import parse_numbers
    from parcast_training.steps.picture import check_picture

    registry = context.obj
    workload = registry.workload(model)
    on, fixed = _set_on(registry, registry.machine(machine), settings or [])
    if workload.kind != "training":
        raise UnsupportedError(
            f"{workload.name} is of the kind {workload.kind!r}; a plan is of a 'training' job"
        )
    if output is not None:
        check_picture(output)
    counts = parse_numbers("--gpus", gpus)
    plans = {p: _planned(workload, on, p, fixed, best) for p in counts}
    rows = [_row(choice, on, p) for p, result in plans.items() for choice in result.best]
    if json:
        answers = [_counts(workload, on, p, result, rows) for p, result in plans.items()]
        print_json(answers[0] if len(answers) == 1 else {"schema": 1, "plans": answers})
    else:
        _print_plans(plans, rows, workload.name, on)
    if output is not None:
        _write_plans(output, plans, workload.name, on)


def _print_plans(
    plans: dict[int, Plan], rows: list[dict[str, Any]], name: str, on: Machine
) -> None:
    """Print how many layouts there are of each number of accelerators, and the best of them."""
    from parcast_training.steps.solver import too_short
    from parcast_training.steps.unmodelled import configuration_notes

    for p, result in plans.items():
        print_text(
            f"{name} on {_accelerators(p)} of {on.name}: {result.possible:,} layouts can be, "
            f"{len(result.fitting):,} of them fit, {result.timed:,} were timed by their schedule"
        )
    print()
    print_table(_head(rows, len(plans)), [_cells(row, len(plans)) for row in rows], _OPTIONAL)
    assert on.accelerator is not None
    job = next(iter(plans.values())).best[0].job
    print_text("\n" + "\n".join((*configuration_notes(job), too_short(on.accelerator))))


def _write_plans(output: Path, plans: dict[int, Plan], name: str, on: Machine) -> None:
    """Write a picture of time against cost and memory, or arguments of the fastest layout."""
    from parcast_training.steps.megatron import arguments
    from parcast_training.steps.picture import write_picture
    from parcast_training.steps.plan import front

    if output.suffix.lower() in {".html", ".svg"}:
        fronts = {p: [_row(choice, on, p) for choice in front(plans[p].fitting)] for p in plans}
        write_picture(output, f"{name} on {on.name}", fronts)
    else:
        fastest = min((plan.best[0] for plan in plans.values()), key=lambda c: c.step.seconds)
        write_text(output, " \\\n".join(arguments(fastest.job)) + "\n")


def _set_on(
    registry: Registry, machine: Machine, settings: list[str]
) -> tuple[Machine, dict[str, str]]:
    """Return the machine with its values that are set, and what else is set, by name."""
    from parcast.comparison import set_values, split_assignment

    values = dict(map(split_assignment, settings))
    of_machine = {
        name: value for name, value in values.items()
        if "." in name and name.partition(".")[0] in registry.parts
    }  # fmt: skip
    fixed = {name: value for name, value in values.items() if name not in of_machine}
    return set_values(machine, registry, of_machine), fixed


def _planned(workload: Any, on: Machine, gpus: int, settings: dict[str, str], best: int) -> Plan:
    from parcast_training.steps.checkpoint import checkpoint_share
    from parcast_training.steps.plan import planned

    job, accelerator, hops, fixed = _asked(workload, on, gpus, settings)
    asked = attrs.evolve(workload, content=job, parameters={})
    share = checkpoint_share(Query(workload=asked, machine=on, p=gpus, d=on.storage.disks))
    result = planned(job, gpus, accelerator, hops, fixed=fixed, count=best, checkpoint=share)
    if not result.possible:
        raise ParcastError(
            f"no layout of {workload.name} on {_accelerators(gpus)} can be: "
            f"{_obstacle(job, gpus, accelerator, fixed)}"
        )
    if not result.best:
        raise ParcastError(
            f"no layout of {workload.name} on {_accelerators(gpus)} fits: {result.possible:,} can "
            f"be, and the least of them needs {result.least / 1e9:,.1f} GB, where an accelerator "
            f"has {accelerator.memory / 1e9:g} GB; ask with more --gpus"
        )
    return result


def _accelerators(count: int) -> str:
    return "1 accelerator" if count == 1 else f"{count} accelerators"


def _obstacle(job: Any, gpus: int, accelerator: Any, fixed: dict[str, Any]) -> str:
    """Return why not even a layout can be that is data parallel but for what is fixed."""
    from parcast_training.steps.nearest import layout_or_nearest
    from parcast_training.steps.plan import PLAIN

    try:
        layout_or_nearest(attrs.evolve(job, **{**PLAIN, **fixed}), gpus, accelerator.per_node)
    except InvalidPointError as error:
        return str(error)
    return "groups of what is fixed lie unevenly on its nodes; fix less"


def _counts(
    workload: Any, on: Machine, gpus: int, result: Plan, rows: list[dict[str, Any]]
) -> dict[str, Any]:
    counts = {
        "possible": result.possible, "fitting": len(result.fitting), "timed": result.timed,
    }  # fmt: skip
    of = [row for row in rows if row["gpus"] == gpus]
    return {"schema": 1, "workload": workload.name, "machine": on.name, "p": gpus,
            **counts, "layouts": of}  # fmt: skip


def _asked(workload: Any, on: Machine, gpus: int, settings: dict[str, str]) -> Any:
    from parcast_training.steps.asking import accelerator_of, check_placement, hops_of
    from parcast_training.steps.job_settings import fixed_values

    job, fixed = fixed_values(workload, settings)
    query = Query(workload=workload, machine=on, p=gpus)
    check_placement(query)
    return job, accelerator_of(query), hops_of(query), fixed


def _row(choice: Any, on: Machine, gpus: int) -> dict[str, Any]:
    from parcast_training.steps.solver import bottleneck, shares

    job, layout, seconds = choice.job, choice.layout, choice.step.seconds
    spent = shares(choice.step)
    nodes = -(-gpus // on.accelerator.per_node) if on.accelerator else gpus
    tokens = job.global_batch * job.sequence
    cost = on.cost
    peak = on.accelerator.rate(job.precision) * gpus if on.accelerator else 0.0
    row = {
        "gpus": gpus, "seconds": seconds,
        "tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "cp": layout.cp,
        "ep": job.ep, "micro_batch": job.micro_batch, "interleave": job.interleave,
        "schedule": job.schedule, "zero": job.zero, "recompute": job.recompute, "sp": job.sp,
        "memory_bytes": choice.memory.total,
        "bubble_seconds": spent["bubble"],
        "exposed_seconds": sum(s for name, s in spent.items() if name not in {"compute", "bubble"}),
        "tokens_per_second": tokens / seconds,
        "gpu_hours_per_million_tokens": gpus * seconds / 3600 / tokens * 1e6,
        "mfu": job.model_flops / seconds / peak,
        "bottleneck": bottleneck(choice.step),
    }  # fmt: skip
    if cost.price is not None:
        row["cost_per_million_tokens"] = cost.price * nodes * seconds / 3600 / tokens * 1e6
    if cost.power is not None:
        row["joules_per_token"] = cost.power * nodes * seconds / tokens
    return row


def _head(rows: list[dict[str, Any]], counts: int) -> tuple[str, ...]:
    titles = {"cost_per_million_tokens": "cost/M tokens", "joules_per_token": "J/token"}
    gpus = ("GPUs",) if counts > 1 else ()
    return (*gpus, *_HEAD, *(text for key, text in titles.items() if key in rows[0]))


def _percent(part: float) -> str:
    return f"{100 * part:.1f} %"


def _cells(row: dict[str, Any], counts: int) -> tuple[str, ...]:
    from parcast.quantities import format_seconds

    seconds = row["seconds"]
    cells = (
        format_seconds(seconds),
        *(str(row[key]) for key in ("tp", "pp", "dp", "ep", "micro_batch", "interleave")),
        row["schedule"], str(row["zero"]), row["recompute"],
        f"{row['memory_bytes'] / 1e9:.1f} GB",
        _percent(row["bubble_seconds"] / seconds), _percent(row["exposed_seconds"] / seconds),
        f"{row['tokens_per_second']:,.0f}", _percent(row["mfu"]), row["bottleneck"],
    )  # fmt: skip
    prices = [f"{row[k]:.4g}" for k in ("cost_per_million_tokens", "joules_per_token") if k in row]
    return (*((str(row["gpus"]),) if counts > 1 else ()), *cells, *prices)
