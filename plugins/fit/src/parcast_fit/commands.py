"""``parcast fit``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli.output import print_json, print_table, print_text
from parcast.comparison import split_assignment
from parcast.errors import FileError, SolveError, UnsupportedError

if TYPE_CHECKING:
    from parcast_fit.result import Estimate, Fit

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
        Path | None, typer.Option("-o", "--output", help="Write the calibrated .toml file.")
    ] = None,
) -> int:
    """Fit parameters of any solver to measured times or speedups.

    Says what the data determine, what not, and what to measure next. For formulas of p from
    traces or counts see 'parcast scaling'.
    """
    from parcast_fit.calibration import fit as calibrate

    check_output(output)
    try:
        found = calibrate(
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
        print_json(found.to_dict())
    else:
        _print_fit(found)
    if found.status != "ok":
        print(f"parcast: {found.message}; nothing is written", file=sys.stderr)
        return 1
    if output is not None:
        _write(found, output)
    return 0


def check_output(output: Path | None) -> None:
    """Say what is wrong with a file before anything is computed for it."""
    if output is None:
        return
    if output.suffix.lower() != ".toml":
        raise FileError(f"{output}: the file is TOML; name it {output.stem}.toml")
    if not output.parent.is_dir():
        raise FileError(f"{output} cannot be written: there is no folder {output.parent}")


def _write(found: Fit, output: Path) -> None:
    from parcast_fit.calibrated import unwritten

    for path in found.write(output):
        print(f"parcast: wrote {path}", file=sys.stderr)
    again = unwritten(found)
    if again:
        flags = " ".join(f"--set {one}" for one in again)
        print(f"parcast: to predict the same, give {flags} as well", file=sys.stderr)


def _print_fit(found: Fit) -> None:
    who, count = ", ".join(found.solvers), len(found.points)
    print_text(
        f"{found.workload.name} on {found.machine.name} by {who}: {count} {found.quantity}s, "
        f"{len(found.estimates)} free\n"
    )
    rows = [_row(one) for one in found.estimates]
    print_table(("", "estimate", "95 % interval", "start", ""), rows)
    errors, scale = found.errors, found.identifiability.scale
    print_text(
        f"\nerrors: RMS {percent(errors.rms)}, (1/N) sqrt(sum e^2) {percent(errors.paper)}, "
        f"largest {percent(errors.largest)}"
    )
    if found.repeatability is not None:
        print_text(f"repeated runs differ by {percent(found.repeatability)} (standard deviation)")
    _print_held_out(found)
    _print_identifiability(found)
    if scale:
        print_text(f"scale: {scale}")
    if found.suggestion is not None:
        one = found.suggestion
        print_text(
            f"measure next: p={one['p']}, d={one['d']}; {one['parameter']} is known worst, its "
            f"standard error would fall from {percent(one['before'])} to {percent(one['after'])}"
        )
    print()
    _print_points(found)


def _row(one: Estimate) -> list[str]:
    from parcast_fit.wording import show

    def number(value: float | None) -> str:
        return "unlimited" if value is None else show(value, one.dimension)

    words = {
        "determined": "",
        "at bound": f"stuck at its bound {number(one.used)}",
        "at most": f"only known to be at most {number(one.high)}",
        "at least": f"only known to be at least {number(one.low)}",
        "open": "the data set no limit",
        "undetermined": "in a null direction, see below",
    }
    estimate = number(one.used) if one.value is not None else "not determined"
    ends = f"{number(one.low)} .. {number(one.high)}"
    known = one.low is not None and one.state != "undetermined"
    return [one.name, estimate, ends if known else "", number(one.start), words[one.state]]


def _print_held_out(found: Fit) -> None:
    held = found.held_out
    if held.errors is None:
        print_text(f"p={held.p} left out: {held.message}")
        return
    message = f"; {held.message}" if held.message else ""
    print_text(
        f"p={held.p} left out and predicted: RMS {percent(held.errors.rms)}, largest "
        f"{percent(held.errors.largest)}{message}"
    )


def _print_identifiability(found: Fit) -> None:
    from parcast_fit.wording import show

    known = found.identifiability
    values = ", ".join(f"{value:.2g}" for value in known.singular_values)
    print_text(
        f"rank {known.rank} of {known.parameters} (singular values {values}; below "
        f"{known.threshold:.1g} is 0)"
    )
    for one in known.directions:
        print_text(f"not determined: {one.sentence}")
        if one.alternative is not None:
            units = {each.name: each.dimension for each in found.estimates}
            shown = [f"{n}={show(v, units[n], 6)}" for n, v in one.alternative.items()]
            members = [text for text in shown if text.partition("=")[0] in one.changes]
            print_text(f"  the same is predicted by {', '.join(members)}")
        print_text(f"  to tell: {one.remedy}")
    for each in known.combinations:
        near = "" if each.exact else " (near the fit)"
        ends = "" if each.low is None else f", 95 % {each.low:.4g} .. {each.high:.4g}"
        print_text(f"determined: {each.text} = {each.value:.4g}{ends}{near}, in base units")


def _print_points(found: Fit) -> None:
    from parcast.quantities import format_seconds

    shown = format_seconds if found.quantity == "time" else "{:.4g}".format
    names = list(found.points[0].at)
    known = any(one.binding for one in found.points)
    rows = [
        [*(str(one.at[name]) for name in names), shown(one.measured), shown(one.predicted),
         f"{100 * one.error:+.2f} %", *([one.binding or ""] if known else ())]
        for one in found.points
    ]  # fmt: skip
    print_table((*names, "measured", "fitted", "error", *(["binding"] if known else ())), rows)


def percent(part: float) -> str:
    """Return a part of one as a percentage of three digits."""
    return f"{100 * part:.3g} %"
