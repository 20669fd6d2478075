"""``parcast fit`` and ``parcast scaling``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parcast.cli.output import print_json, print_table, print_text
from parcast.errors import FileError, ParcastError, SolveError, UnsupportedError
from parcast.ranges import parse_numbers
from parcast.settings import split_assignment

if TYPE_CHECKING:
    from parcast_fit.amounts import Amount, Held, Scaling
    from parcast_fit.result import Estimate, Fit

#: Relative errors below this are rounding.
_EXACT = 1e-9

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

    _check_output(output)
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


def _check_output(output: Path | None) -> None:
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
        f"\nerrors: RMS {_percent(errors.rms)}, (1/N) sqrt(sum e^2) {_percent(errors.paper)}, "
        f"largest {_percent(errors.largest)}"
    )
    if found.repeatability is not None:
        print_text(f"repeated runs differ by {_percent(found.repeatability)} (standard deviation)")
    _print_held_out(found)
    _print_identifiability(found)
    if scale:
        print_text(f"scale: {scale}")
    if found.suggestion is not None:
        one = found.suggestion
        print_text(
            f"measure next: p={one['p']}, d={one['d']}; {one['parameter']} is known worst, its "
            f"standard error would fall from {_percent(one['before'])} to {_percent(one['after'])}"
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
        f"p={held.p} left out and predicted: RMS {_percent(held.errors.rms)}, largest "
        f"{_percent(held.errors.largest)}{message}"
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
    from parcast.units import format_seconds

    shown = format_seconds if found.quantity == "time" else "{:.4g}".format
    names = list(found.points[0].at)
    known = any(one.binding for one in found.points)
    rows = [
        [*(str(one.at[name]) for name in names), shown(one.measured), shown(one.predicted),
         f"{100 * one.error:+.2f} %", *([one.binding or ""] if known else ())]
        for one in found.points
    ]  # fmt: skip
    print_table((*names, "measured", "fitted", "error", *(["binding"] if known else ())), rows)


def _percent(part: float) -> str:
    return f"{100 * part:.3g} %"


def scaling(
    context: typer.Context,
    runs: Annotated[
        list[str],
        typer.Argument(help="Traces of one code at several p, or a .csv file of p and amounts."),
    ],
    p: Annotated[
        str | None,
        typer.Option("-p", help="Where to predict them; 4 and 16 times the largest if not given."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(help="The machine of the traces, whose rate makes seconds operations."),
    ] = None,
    hold_out: Annotated[
        str | None, typer.Option(metavar="LIST", help="p that are not fitted, but predicted.")
    ] = None,
    json: Json = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a workload of kind phases.")
    ] = None,
) -> int:
    """Find how amounts grow with p: computation, messages and bytes of a few runs as formulas.

    Columns flops, messages, bytes, io_bytes, parallel, cycles and bursts become those of a phase.
    """
    from parcast_fit.amounts import scaling as find

    _check_output(output)
    table, where = _table(context, runs, on)
    found = find(
        table,
        at=parse_numbers("-p", p) if p is not None else (),
        hold_out=parse_numbers("--hold-out", hold_out) if hold_out is not None else (),
        where=where,
    )
    if json:
        print_json(found.to_dict())
    else:
        _print_scaling(found)
    _warn_of_far(found)
    for one in found.amounts:
        if one.formula is None:
            print(f"parcast: {one.column}: {one.message}", file=sys.stderr)
    if not found.complete:
        return 1
    if output is not None:
        found.write(output)
    return 0


def _table(context: typer.Context, runs: list[str], on: str | None) -> tuple[Any, str | None]:
    """Return the amounts that are given, or counted in runs, and the files of these."""
    from parcast_fit.runs import amounts

    tables = [run for run in runs if run.lower().endswith((".csv", ".tsv"))]
    if tables and len(runs) == 1:
        if on is not None:
            raise ParcastError(f"--on {on}: {tables[0]} is a table of amounts; leave --on away")
        return tables[0], None
    if tables:
        raise ParcastError(f"{tables[0]} is a table of amounts; give it alone, or traces alone")
    if on is None:
        raise ParcastError(
            "name the machine that the traces ran on with --on; its processor.rate makes the "
            "seconds of their computation operations, which other machines take"
        )
    return amounts(context.obj, runs, on), ", ".join(runs)


def _print_scaling(found: Scaling) -> None:
    heads = _heads(found.amounts)
    last = max(found.p)
    print_table(
        ("", "formula of p", "held-out error", f"p={last} from the others", *heads),
        [_amount_row(one, len(heads)) for one in found.amounts],
    )
    for p in sorted({held.p for one in found.amounts for held in one.left_out}):
        print_text(f"\np={p} left out and predicted:")
        print_table(
            ("", "counted", "predicted", "error"),
            [_held_row(one.column, held) for one in found.amounts for held in one.left_out
             if held.p == p],
        )  # fmt: skip
    for one in found.amounts:
        if one.formula is not None and one.message:
            print_text(f"\n{one.column}: {one.message}; another run would tell")
    for one in found.amounts:
        if one.rivals:
            print_text(f"\n{one.column}: as good are {', '.join(one.rivals)}")
    for one in found.amounts:
        if one.field is None and one.formula is not None:
            print_text(f'\n{one.column} is none of a phase; --set {one.column}="{one.formula}"')


def _held_row(column: str, held: Held) -> list[str]:
    error = "" if held.error is None else f"{100 * held.error:+.3g} %"
    exact = held.error is not None and abs(held.error) < _EXACT
    return [column, f"{held.measured:.6g}", f"{held.predicted:.6g}", "exact" if exact else error]


def _warn_of_far(found: Scaling) -> None:
    from parcast_fit.amounts import FAR

    largest = max(found.p)
    far = [one.p for a in found.amounts for one in a.predictions if one.p > FAR * largest]
    if far:
        print(
            f"parcast: warning: p={max(far)} is {max(far) / largest:.0f} times the largest "
            f"measured, {largest}; a formula found there need not hold so far out",
            file=sys.stderr,
        )


def _heads(amounts: tuple[Amount, ...]) -> list[str]:
    several = {one.p for amount in amounts for one in amount.predictions}
    return [f"at p={p} (95 % of all as good)" for p in sorted(several)]


def _amount_row(one: Amount, places: int) -> list[str]:
    if one.formula is None:
        return [one.column, "none", "", "", *[""] * places]
    errors = [
        "exact" if abs(error or 0) < _EXACT else f"{100 * (error or 0):{form}} %"
        for error, form in ((one.held_out, ".3g"), (one.largest_out, "+.3g"))
    ]
    cells = [f"{at.value:.4g} ({at.low:.4g} .. {at.high:.4g})" for at in one.predictions]
    return [one.column, one.formula, *errors, *(cells or [""] * places)]
