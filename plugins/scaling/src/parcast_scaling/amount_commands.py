"""``parcast scaling`` of amounts: formulas of p, printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from parcast.cli import print_json, print_table, print_text
from parcast.errors import ParcastError, UnsupportedError
from parcast.files import check_file
from parcast.quantities import parse_numbers

if TYPE_CHECKING:
    from parcast_scaling.amounts import Amount, LeftOut, Scaling

#: Relative errors below this are rounding.
_EXACT = 1e-9


def find_formulas(
    context: typer.Context,
    runs: list[str],
    *,
    p: str | None,
    on: str | None,
    hold_out: str | None,
    json: bool,
    output: Path | None,
) -> int:
    """Print each amount as a formula of p, write a workload of them, and return the exit code."""
    from parcast_scaling.amounts import scaling as find

    if output is not None:
        check_file(output, "a workload", [".toml"])
    try:
        table, where = _table(context, runs, on)
    except UnsupportedError as error:
        typer.echo(f"parcast: {error}", err=True)
        return 1
    result = find(
        table,
        at=parse_numbers("-p", p) if p is not None else (),
        hold_out=parse_numbers("--hold-out", hold_out) if hold_out is not None else (),
        where=where,
    )
    if json:
        print_json(result.to_dict())
    else:
        _print_scaling(result)
    _warn_of_far(result)
    for amount in result.amounts:
        if amount.formula is None:
            typer.echo(f"parcast: {amount.column}: {amount.message}", err=True)
    if not result.complete:
        return 1
    if output is not None:
        result.write(output)
    return 0


def _table(context: typer.Context, runs: list[str], on: str | None) -> tuple[Any, str | None]:
    """Return the amounts that are given, or counted in runs, and the files of these."""
    from parcast_scaling.columns import TABLES
    from parcast_scaling.runs import amounts_of, check_recorded

    tables = [run for run in runs if run.lower().endswith(TABLES)]
    if tables and len(runs) == 1:
        if on is not None:
            raise ParcastError(f"--on {on}: {tables[0]} is a table of amounts; leave out --on")
        return tables[0], None
    if tables:
        raise ParcastError(f"{tables[0]} is a table of amounts; give it alone, or traces alone")
    if on is None:
        check_recorded(context.obj, runs)
        raise ParcastError(
            "name the machine that the traces ran on with --on; its processor.rate makes the "
            "seconds of their computation operations, which other machines take"
        )
    return amounts_of(context.obj, runs, on), ", ".join(runs)


def _print_scaling(result: Scaling) -> None:
    heads = _heads(result.amounts)
    last = max(result.p)
    print_table(
        ("", "formula of p", "held-out error", f"p={last} from the others", *heads),
        [_amount_row(amount, len(heads)) for amount in result.amounts],
    )
    for p in sorted({point.p for amount in result.amounts for point in amount.left_out}):
        print_text(f"\np={p} left out and predicted:")
        print_table(
            ("", "counted", "predicted", "error"),
            [
                _left_out_row(amount.column, point)
                for amount in result.amounts
                for point in amount.left_out
                if point.p == p
            ],
        )
    for amount in result.amounts:
        if amount.formula is not None and amount.message:
            print_text(f"\n{amount.column}: {amount.message}; another run would tell")
    for amount in result.amounts:
        if amount.rivals:
            print_text(f"\n{amount.column}: as good are {', '.join(amount.rivals)}")
    for amount in result.amounts:
        if amount.field is None and amount.formula is not None:
            print_text(
                f"\n{amount.column} is no amount of a phase: name it time if it is one; else "
                f'--set {amount.column}="{amount.formula}"'
            )


def _left_out_row(column: str, point: LeftOut) -> list[str]:
    error = "" if point.error is None else f"{100 * point.error:+.3g} %"
    exact = point.error is not None and abs(point.error) < _EXACT
    return [column, f"{point.measured:.6g}", f"{point.predicted:.6g}", "exact" if exact else error]


def _warn_of_far(result: Scaling) -> None:
    from parcast_scaling.amounts import FAR

    largest = max(result.p)
    far = [
        prediction.p
        for amount in result.amounts
        for prediction in amount.predictions
        if prediction.p > FAR * largest
    ]
    if far:
        typer.echo(
            f"parcast: warning: p={max(far)} is {max(far) / largest:.0f} times the largest "
            f"measured, {largest}; a formula found there need not hold so far out",
            err=True,
        )


def _heads(amounts: tuple[Amount, ...]) -> list[str]:
    several = {prediction.p for amount in amounts for prediction in amount.predictions}
    return [f"at p={p} (95 % of all as good)" for p in sorted(several)]


def _amount_row(amount: Amount, columns: int) -> list[str]:
    if amount.formula is None:
        return [amount.column, "none", "", "", *[""] * columns]
    errors = [
        "exact" if abs(error or 0) < _EXACT else f"{100 * (error or 0):{form}} %"
        for error, form in ((amount.held_out, ".3g"), (amount.largest_out, "+.3g"))
    ]
    cells = [f"{at.value:.4g} ({at.low:.4g} .. {at.high:.4g})" for at in amount.predictions]
    return [amount.column, amount.formula, *errors, *(cells or [""] * columns)]
