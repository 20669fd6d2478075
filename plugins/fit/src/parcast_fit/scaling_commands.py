"""``parcast scaling``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parcast.cli.output import print_json, print_table, print_text
from parcast.errors import ParcastError, UnsupportedError
from parcast.quantities import parse_numbers
from parcast_fit.commands import Json, check_output

if TYPE_CHECKING:
    from parcast_fit.amounts import Amount, Held, Scaling

#: Relative errors below this are rounding.
_EXACT = 1e-9


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

    check_output(output)
    try:
        table, where = _table(context, runs, on)
    except UnsupportedError as error:
        typer.echo(f"parcast: {error}", err=True)
        return 1
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
            typer.echo(f"parcast: {one.column}: {one.message}", err=True)
    if not found.complete:
        return 1
    if output is not None:
        found.write(output)
    return 0


def _table(context: typer.Context, runs: list[str], on: str | None) -> tuple[Any, str | None]:
    """Return the amounts that are given, or counted in runs, and the files of these."""
    from parcast_fit.runs import amounts_of

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
    return amounts_of(context.obj, runs, on), ", ".join(runs)


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
        typer.echo(
            f"parcast: warning: p={max(far)} is {max(far) / largest:.0f} times the largest "
            f"measured, {largest}; a formula found there need not hold so far out",
            err=True,
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
