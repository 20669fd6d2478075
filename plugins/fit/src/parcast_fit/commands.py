"""``parcast fit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option, print_json, print_table, print_text
from parcast.comparison import split_assignment
from parcast.errors import SolveError, UnsupportedError
from parcast.files import check_file

if TYPE_CHECKING:
    from parcast_fit.estimates import Estimate
    from parcast_fit.result import Fit

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def fit(
    context: typer.Context,
    workload: Annotated[str, typer.Argument(help="A name or a file.")],
    machine: Annotated[str, typer.Argument(help="A name or a file.")],
    measured: Annotated[Path, typer.Argument(help="A .csv file with p, time or speedup, d, ...")],
    free: Annotated[
        str, typer.Option(help="What to fit: workload parameters, machine values, by commas.")
    ],
    solver: Annotated[
        str | None, typer.Option("-s", "--solver", help="The solver or family to fit.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="As in compare; for a free name, where to start."
        ),
    ] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW..HIGH", help="Bounds of a free name; either end may lack."),
    ] = None,
    mapping: Annotated[str, typer.Option(help="How processes go to nodes: block or cyclic.")] = (
        "block"
    ),
    interval: Annotated[str, typer.Option(help="95 % intervals: profile or bootstrap.")] = (
        "profile"
    ),
    seed: Annotated[int, typer.Option(help="Of the bootstrap and of solvers that draw.", min=0)] = (
        0
    ),
    json: Json = False,
    output: Annotated[
        Path | None,
        output_option("Write the calibrated .toml file."),
    ] = None,
) -> int:
    """Fit parameters of any solver to measured times or speedups.

    Says what the data determine, what not, and what to measure next. For formulas of p from
    traces or counts see 'parcast scaling'.
    """
    from parcast_fit.calibration import fit as calibrate

    if output is not None:
        check_file(output, "a calibrated machine or workload", [".toml"])
    try:
        result = calibrate(
            context.obj,
            workload,
            machine,
            measured,
            free=free,
            solver=solver,
            settings=dict(map(split_assignment, settings or ())),
            bounds=dict(map(split_assignment, bound or ())),
            mapping=mapping,
            interval=interval,
            seed=seed,
        )
    except (SolveError, UnsupportedError) as error:
        print(f"parcast: {error}", file=sys.stderr)
        return 1
    if json:
        print_json(result.to_dict())
    else:
        _print_fit(result)
    if result.status != "ok":
        print(f"parcast: {result.message}; nothing is written", file=sys.stderr)
        return 1
    if output is not None:
        _write(result, output)
    return 0


def _write(result: Fit, output: Path) -> None:
    for path in result.write(output):
        print(f"parcast: wrote {path}", file=sys.stderr)
    again = result.calibrated.unwritten()
    if again:
        flags = " ".join(f"--set {setting}" for setting in again)
        print(f"parcast: to predict the same, give {flags} as well", file=sys.stderr)


def _print_fit(result: Fit) -> None:
    who, count = ", ".join(result.solvers), len(result.points)
    print_text(
        f"{result.workload.name} on {result.machine.name} by {who}: {count} {result.quantity}s, "
        f"{len(result.estimates)} free\n"
    )
    rows = [_row(estimate) for estimate in result.estimates]
    print_table(("", "estimate", "95 % interval", "start", ""), rows)
    errors, scale = result.errors, result.identifiability.scale
    print_text(
        f"\nerrors: RMS {percent(errors.rms)}, (1/N) sqrt(sum e^2) {percent(errors.paper)}, "
        f"largest {percent(errors.largest)}"
    )
    if result.repeatability is not None:
        print_text(f"repeated runs differ by {percent(result.repeatability)} (standard deviation)")
    _print_held_out(result)
    _print_identifiability(result)
    if scale:
        print_text(f"scale: {scale}")
    if result.suggestion is not None:
        point = result.suggestion
        print_text(
            f"measure next: p={point['p']}, d={point['d']}; {point['parameter']} is known worst, "
            f"its standard error would fall from {percent(point['before'])} to "
            f"{percent(point['after'])}"
        )
    print()
    _print_points(result)


def _row(estimate: Estimate) -> list[str]:
    from parcast_fit.wording import show

    def number(value: float | None) -> str:
        return "unlimited" if value is None else show(value, estimate.dimension)

    words = {
        "determined": "",
        "at bound": f"stuck at its bound {number(estimate.used)}",
        "at most": f"only known to be at most {number(estimate.high)}",
        "at least": f"only known to be at least {number(estimate.low)}",
        "open": "the data set no limit",
        "undetermined": "in a null direction, see below",
    }
    text = number(estimate.used) if estimate.value is not None else "not determined"
    ends = f"{number(estimate.low)} .. {number(estimate.high)}"
    has_interval = estimate.low is not None and estimate.state != "undetermined"
    return [
        estimate.name,
        text,
        ends if has_interval else "",
        number(estimate.start),
        words[estimate.state],
    ]


def _print_held_out(result: Fit) -> None:
    held_out = result.held_out
    if held_out.errors is None:
        print_text(f"p={held_out.p} left out: {held_out.message}")
        return
    message = f"; {held_out.message}" if held_out.message else ""
    print_text(
        f"p={held_out.p} left out and predicted: RMS {percent(held_out.errors.rms)}, largest "
        f"{percent(held_out.errors.largest)}{message}"
    )


def _print_identifiability(result: Fit) -> None:
    from parcast_fit.wording import show

    identifiability = result.identifiability
    values = ", ".join(f"{value:.2g}" for value in identifiability.singular_values)
    print_text(
        f"rank {identifiability.rank} of {identifiability.parameters} (singular values {values}; "
        f"below {identifiability.threshold:.1g} is 0)"
    )
    for direction in identifiability.directions:
        print_text(f"not determined: {direction.sentence}")
        if direction.alternative is not None:
            units = {estimate.name: estimate.dimension for estimate in result.estimates}
            texts = [f"{n}={show(v, units[n], 6)}" for n, v in direction.alternative.items()]
            members = [text for text in texts if text.partition("=")[0] in direction.changes]
            print_text(f"  the same is predicted by {', '.join(members)}")
        print_text(f"  to tell: {direction.remedy}")
    for combination in identifiability.combinations:
        near = "" if combination.exact else " (near the fit)"
        ends = (
            ""
            if combination.low is None
            else f", 95 % {combination.low:.4g} .. {combination.high:.4g}"
        )
        print_text(
            f"determined: {combination.text} = {combination.value:.4g}{ends}{near}, in base units"
        )


def _print_points(result: Fit) -> None:
    from parcast.quantities import format_seconds

    format_value = format_seconds if result.quantity == "time" else "{:.4g}".format
    names = list(result.points[0].at)
    has_binding = any(point.binding for point in result.points)
    rows = [
        [*(str(point.at[name]) for name in names),
         format_value(point.measured), format_value(point.predicted),
         f"{100 * point.error:+z.2f} %", *([point.binding or ""] if has_binding else ())]
        for point in result.points
    ]  # fmt: skip
    print_table(
        (*names, "measured", "fitted", "error", *(["binding"] if has_binding else ())), rows
    )


def percent(part: float) -> str:
    """Return a part of one as a percentage of three digits."""
    return f"{100 * part:.3g} %"
