"""Scaling from several runs: each amount of a table as a formula of p."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import attrs
import numpy as np

from parcast.comparison import read_table
from parcast.errors import FileError, ParcastError, UnitError, shorten
from parcast.files import check_suffix, table_text, write_text
from parcast.quantities import parse_quantity
from parcast_scaling.terms import EXACT, NEEDED, Hypothesis, choose

#: Columns by the field of a phase that they are.
FIELDS = {
    "flops": "serial",
    "compute": "serial",
    "serial": "serial",
    "parallel": "parallel",
    "messages": "messages",
    "bytes": "bytes",
    "memory_bytes": "memory_bytes",
    "io_bytes": "io_bytes",
    "cycles": "cycles",
    "bursts": "bursts",
}

#: Between the field that a column is a part of and what part it is: ``messages of allreduce``.
_OF = " of "

#: Fields that are nothing at p = 1, whatever the file says.
_ALONE = {"messages", "bytes"}

#: Beyond so many times the largest p a formula is asked with a warning.
FAR = 16


@attrs.frozen(kw_only=True)
class PredictedAmount:
    """An amount where it was not measured."""

    p: int
    value: float
    low: float  #: of all rivals' 95 % intervals
    high: float


@attrs.frozen(kw_only=True)
class LeftOut:
    """An amount that was measured and left out, and what its formula says there."""

    p: int
    measured: float
    predicted: float

    @property
    def error(self) -> float | None:
        """Relative to what was measured; None where nothing was."""
        return self.predicted / self.measured - 1 if self.measured else None


@attrs.frozen(kw_only=True)
class Amount:
    """One column as a formula of p, or why there is none."""

    column: str
    field: str | None  #: of a phase
    points: int  #: distinct p
    formula: str | None
    message: str = ""
    held_out: float | None = None  #: RMS relative error of points predicted from the others
    largest_out: float | None = None  #: relative error of the largest p predicted from the others
    rivals: tuple[str, ...] = ()  #: other formulas that predict about as well
    predictions: tuple[PredictedAmount, ...] = ()
    left_out: tuple[LeftOut, ...] = ()  #: as asked


@attrs.frozen(kw_only=True)
class Scaling:
    """All columns of a table."""

    where: str
    p: tuple[int, ...]  #: those that were fitted
    amounts: tuple[Amount, ...]

    @property
    def source(self) -> str:
        """The files, as labels name them."""
        return ", ".join(Path(file).name for file in self.where.split(", "))

    @property
    def complete(self) -> bool:
        """Whether every column has a formula."""
        return all(amount.formula is not None for amount in self.amounts)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"schema": 1, "source": self.where, **attrs.asdict(self), "complete": self.complete}

    def write(self, path: str | Path) -> None:
        """Write a ``phases`` workload with a formula for each field of a phase, sums of columns.

        Raises
        ------
        FileError
            If a formula is missing, no column is a phase's, or the file cannot be written.
        """
        path = Path(path)
        check_suffix(path, "a workload", [".toml"])
        lacking = next((amount for amount in self.amounts if amount.formula is None), None)
        if lacking is not None:
            raise FileError(f"{path}: {lacking.column} has no formula, so nothing is written")
        fields = [amount for amount in self.amounts if amount.field is not None]
        if not fields:
            raise FileError(f"{path}: no column is one of a phase: {', '.join(FIELDS)}")
        write_text(path, table_text(self._workload(path.stem, fields)))

    def _workload(self, name: str, fields: list[Amount]) -> dict[str, Any]:
        span = f"{self.source}, p = {', '.join(map(str, self.p))}"
        phase, sources = {}, {}
        for key in dict.fromkeys(str(amount.field) for amount in fields):
            parts = [amount for amount in fields if amount.field == key]
            nonzero = [amount for amount in parts if amount.formula != "0"] or parts[:1]
            phase[key] = " + ".join(str(amount.formula) for amount in nonzero)
            sources[f"phase[0].{key}"] = f"fitted: {span}; {_errors(nonzero)}"
        return {
            "name": name,
            "summary": f"Amounts per process as formulas of p, from {span}",
            "phase": [{**phase, "distribution": "constant"}],
            "sources": sources,
        }


def scaling(
    table: Any, *, at: Iterable[int] = (), hold_out: Iterable[int] = (), where: str | None = None
) -> Scaling:
    """Return each column of a table as a formula of p.

    Parameters
    ----------
    table
        A .csv file, DataFrame or list of mappings with a column ``p`` and amounts per process:
        ``flops``, ``messages``, ``bytes``, ... (`FIELDS`), parts of one such as ``messages of
        allreduce``, or any other. Of repeated p the median counts.
    at
        Processes to predict the amounts at; 4 and 16 times the largest where none is given.
    hold_out
        Processes whose amounts are not fitted, but predicted.
    where
        The files, by commas, where it is none.

    Raises
    ------
    FileError
        If the table has no ``p``, nothing besides, or a value that is no amount.
    """
    table_name, columns = _columns(table)
    where = where or table_name
    held_out = set(hold_out)
    processes = sorted({p for values in columns.values() for p in values})
    if unknown := sorted(held_out - set(processes)):
        raise ParcastError(
            f"--hold-out {unknown[0]}: there is no run of it; of {where} the p are "
            f"{', '.join(map(str, processes))}"
        )
    processes = [p for p in processes if p not in held_out] or processes
    predicted_at = sorted(set(at)) or [4 * processes[-1], FAR * processes[-1]]
    if predicted_at[0] < 1:
        raise ParcastError(f"-p {predicted_at[0]}: write whole numbers from 1")
    amounts = tuple(
        _amount(name, values, predicted_at, held_out) for name, values in columns.items()
    )
    fields = [amount.field for amount in amounts if amount.field and _OF not in amount.column]
    if len(set(fields)) < len(fields):
        raise FileError(f"{where}: two columns are the same of a phase: {', '.join(fields)}")
    return Scaling(where=where, p=tuple(processes), amounts=amounts)


def _columns(table: Any) -> tuple[str, dict[str, dict[int, float]]]:
    """Return the median of each column at each p."""
    where, rows = read_table(table)
    if not rows:
        raise FileError(f"{where}: there are no runs in it")
    names = [str(name) for name in rows[0][1] if name != "p"]
    if "p" not in rows[0][1] or not names:
        columns = ", ".join(map(str, rows[0][1]))
        size = names[0] if names else "NAME"
        raise FileError(
            f"{where}: a column 'p' and at least one amount are needed, not {columns}; if one is a "
            f"time or a rate, name it: {where}#p={size},time=NAME, or rate=NAME"
        )
    values: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in names}
    for position, row in rows:
        if row.keys() != rows[0][1].keys():
            raise FileError(f"{position}: its columns differ from those of {rows[0][0]}")
        p = _number(position, "p", row["p"])
        if p != int(p) or p < 1:
            raise FileError(f"{position}: p = {row['p']!r} must be a whole number, 1 or more")
        for name in names:
            values[name][int(p)].append(_number(position, name, row[name]))
    return where, {
        name: {p: median(several) for p, several in sorted(by_p.items())}
        for name, by_p in values.items()
    }


def _number(position: str, name: str, value: Any) -> float:
    try:
        number = parse_quantity(value.item() if hasattr(value, "item") else value).value
    except UnitError as error:
        raise FileError(f"{position}: {name} = {shorten(repr(value))}: {error}") from None
    if number < 0:
        raise FileError(f"{position}: {name} = {number:g} must be 0 or more")
    return number


def _amount(
    column: str, values: dict[int, float], predicted_at: list[int], held_out: set[int]
) -> Amount:
    field = FIELDS.get(column.partition(_OF)[0])
    if field in _ALONE:
        values = {p: amount for p, amount in values.items() if p > 1}
    measured = {p: amount for p, amount in values.items() if p in held_out}
    values = {p: amount for p, amount in values.items() if p not in held_out}
    unfitted = Amount(column=column, field=field, points=len(values), formula=None)
    if len(values) < NEEDED[1]:
        beyond = " above 1" if field in _ALONE else ""
        return attrs.evolve(
            unfitted,
            message=f"{len(values)} values of p{beyond} are too few: c p^a needs {NEEDED[1]}, "
            f"two coefficients {NEEDED[2]}, three {NEEDED[3]}",
        )
    p, amounts = np.array(list(values), dtype=float), np.array(list(values.values()))
    if not amounts.any():
        left_out = tuple(LeftOut(p=n, measured=x, predicted=0.0) for n, x in measured.items())
        return attrs.evolve(unfitted, formula="0", held_out=0.0, largest_out=0.0, left_out=left_out)
    chosen, rivals = choose(p, amounts, max(*predicted_at, *measured, p.max()))
    if chosen is None:
        return attrs.evolve(unfitted, message="no formula stays at 0 or more as far as is asked")
    message = ""
    if len(values) < NEEDED[len(chosen.coefficients)]:
        message = f"two coefficients from {len(values)} values of p, taken as they are exact there"
    if chosen.held_out > 0.5:
        return attrs.evolve(
            unfitted,
            held_out=chosen.held_out,
            message=f"no formula predicts held-out points: the best is off by "
            f"{100 * chosen.held_out:.0f} %",
        )
    return attrs.evolve(
        unfitted,
        formula=chosen.text(),
        message=message,
        held_out=chosen.held_out,
        largest_out=chosen.largest_out,
        rivals=tuple(text for rival in rivals if (text := rival.text()) != chosen.text())[:5],
        predictions=tuple(_predict(chosen, rivals, n) for n in predicted_at),
        left_out=tuple(LeftOut(p=n, measured=x, predicted=chosen(n)) for n, x in measured.items()),
    )


def _errors(parts: list[Amount]) -> str:
    """Return how well parts of a field predict what was left out of their fit."""
    error = max(part.held_out or 0 for part in parts)
    remarks = [f"held-out error {100 * error:.2g} %" if error > EXACT else "exact"]
    remarks += dict.fromkeys(part.message for part in parts if part.message)
    for p in sorted({point.p for part in parts for point in part.left_out}):
        points = [point for part in parts for point in part.left_out if point.p == p]
        measured, predicted = (
            sum(point.measured for point in points),
            sum(point.predicted for point in points),
        )
        if measured:
            off = predicted / measured - 1
            error_there = f"with an error of {100 * off:+.3g} %" if abs(off) > EXACT else "exactly"
            remarks += [f"p = {p} left out and predicted {error_there}"]
    return "; ".join(remarks)


def _predict(chosen: Hypothesis, rivals: list[Hypothesis], p: int) -> PredictedAmount:
    ends = [rival.interval(p) for rival in rivals]
    return PredictedAmount(
        p=p, value=chosen(p), low=min(low for low, _ in ends), high=max(high for _, high in ends)
    )
