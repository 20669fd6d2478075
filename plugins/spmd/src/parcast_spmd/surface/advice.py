"""What a surface says to somebody who buys: how many processors, how many disks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from parcast import Row, Status
from parcast.errors import FormulaError, ParcastError, UnitError
from parcast.quantities import UNITS, Expr, evaluate, parse, parse_quantity, unit_factor


@attrs.frozen
class Budget:
    """What may be spent at most: on p and d by a formula, or on the run in money."""

    amount: float
    text: str
    cost: Expr | None = None  #: of p and d; None: the price of the run
    currency: str = ""

    def spent(self, row: Row) -> float | None:
        """Return what a row costs, or None where its machine states no price."""
        if self.cost is not None:
            return float(evaluate(self.cost, {"p": row.p, "d": row.d}))
        charge: Mapping[str, Any] = row.details.get("charge", {})
        if charge.get("price") is None:
            return None
        if charge.get("currency", self.currency) not in {self.currency, ""}:
            raise ParcastError(
                f"--budget {self.text!r}: machine {row.machine!r} states its price in "
                f"{charge['currency']}; give the budget in {charge['currency']}"
            )
        return float(charge["price"])


def parse_budget(text: str | None, cost: str | None) -> Budget | None:
    """Return the budget of ``64`` (by the formula ``cost``) or of ``10 EUR`` (for the run).

    Raises
    ------
    ParcastError
        If it is neither, is not above 0, or ``cost`` is no formula of p and d.
    """
    if text is None:
        if cost is not None:
            raise ParcastError("--cost says what --budget counts; give --budget as well")
        return None
    try:
        quantity = parse_quantity(text)
    except UnitError as error:
        raise ParcastError(f"--budget: {error}; write a number or a price such as 10 EUR") from None
    if quantity.value <= 0:
        raise ParcastError(f"--budget {text!r} must be above 0")
    if quantity.dimension == "money":
        if cost is not None:
            raise ParcastError("--cost weighs p and d; leave it out where --budget is a price")
        unit = next(unit for unit in UNITS if unit_factor(unit)[0] == "money" and unit in text)
        return Budget(quantity.value, text, None, unit)
    if quantity.dimension:
        raise ParcastError(f"--budget {text!r}: write a number or a price such as 10 EUR")
    formula = "p + d" if cost is None else cost
    return Budget(quantity.value, f"{formula} <= {text}", _formula(formula))


def _formula(text: str) -> Expr:
    """Return a formula of p and d and nothing else."""
    try:
        formula = parse(text)
        evaluate(formula, {"p": 1, "d": 1})
    except FormulaError as error:
        raise ParcastError(
            f"--cost {text!r} must be a formula of p and d, such as p + 4*d: {error}"
        ) from None
    return formula


def answered(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that have a time."""
    return [row for row in rows if row.status is Status.OK and row.time is not None]


def _time(row: Row) -> float:
    assert row.time is not None
    return row.time


def fastest(rows: Iterable[Row]) -> Row | None:
    """Return the row of least time; of equal ones that with the fewest p, then d."""
    return min(answered(rows), key=lambda row: (_time(row), row.p, row.d), default=None)


def fastest_within(rows: Sequence[Row], budget: Budget) -> tuple[Row | None, float]:
    """Return the fastest row that the budget allows and what it costs.

    Raises
    ------
    ParcastError
        If the budget is a price and the machine states none, or in another currency.
    """
    spent = [(row, budget.spent(row)) for row in answered(rows)]
    priced = [(row, amount) for row, amount in spent if amount is not None]
    if spent and not priced:
        raise ParcastError(
            f"--budget {budget.text!r}: machine {rows[0].machine!r} states no cost.price; set it "
            f'by --set cost.price="2 {budget.currency}/h" or give a number for --cost "p + d"'
        )
    allowed = {id(row): amount for row, amount in priced if amount <= budget.amount}
    best = fastest(row for row, _ in priced if id(row) in allowed)
    return best, allowed.get(id(best), 0.0)


@attrs.frozen
class Limits:
    """Where more processors stop paying, with ``d`` disks."""

    d: int
    least_time: int  #: p of the least time: beyond it dT/dp > 0
    beyond: bool  #: a larger p was asked
    pays: int | None  #: the p beyond which one more adds less than the threshold to the speedup


def limits(rows: Iterable[Row], threshold: float) -> Iterator[Limits]:
    """Yield for each d the p where time is least and the p up to which processors pay.

    The speedup that the last processors add is the slope of the least concave curve above
    s(p), so that one lucky p among unlucky ones counts for no more than it gives. The p beyond
    which that slope is below the threshold t is the one where s(p) - t p is largest.
    """
    by_disks: dict[int, list[Row]] = {}
    for row in answered(rows):
        by_disks.setdefault(row.d, []).append(row)
    for d, group in sorted(by_disks.items()):
        best = fastest(group)
        assert best is not None
        gains = [(row.speedup - threshold * row.p, row.p) for row in group if row.speedup]
        yield Limits(
            d=d,
            least_time=best.p,
            beyond=any(row.p > best.p for row in group),
            pays=max(gains, key=lambda pair: (pair[0], -pair[1]))[1] if gains else None,
        )


def enough_disks(rows: Iterable[Row]) -> dict[int, int]:
    """Return for each p the fewest disks whose time is within 1 % of the least at that p."""
    by_processes: dict[int, list[Row]] = {}
    for row in answered(rows):
        by_processes.setdefault(row.p, []).append(row)
    longest = {p: 1.01 * min(map(_time, group)) for p, group in by_processes.items()}
    return {
        p: min(row.d for row in group if _time(row) <= longest[p])
        for p, group in sorted(by_processes.items())
    }
