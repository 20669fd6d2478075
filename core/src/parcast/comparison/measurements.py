"""Measured times, read from the forms people have them in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from parcast.comparison.grid import MOST
from parcast.errors import FileError, UnitError, did_you_mean, shorten
from parcast.files.extrap import Raw, is_extrap, read_extrap
from parcast.files.series import read_csv
from parcast.files.tables import read_text
from parcast.quantities.formulas import parse_quantity
from parcast.quantities.units import Quantity, check_dimension, is_number

#: Columns that are texts, and columns that are whole numbers from 1.
TEXTS, COUNTS = ("workload", "machine"), ("p", "d")

#: What columns are called, so that ``p=ranks`` is no value.
_NAMED = ("p", "n", "time", "rate", "speedup")

_SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".md", ".org", ".json", ".jsonl")


@attrs.frozen
class Measurement:
    """One measured time, in seconds, or speedup, and the point where it was measured."""

    value: float
    at: Mapping[str, Any] = attrs.field(hash=False)
    place: str = ""  #: the line or item it was read from


@attrs.frozen
class Measurements:
    """Measured times or speedups at points that all have the same columns, each once.

    Only where repetitions were asked for may a point stand more than once.
    """

    where: str
    columns: tuple[str, ...]  #: p, and any of d, workload, machine and parameters
    items: tuple[Measurement, ...] = attrs.field(repr=False)
    quantity: str = "time"  #: or speedup

    def values(self, column: str) -> list[Any]:
        """Return the distinct values of a column, in order; empty without it."""
        return list(
            dict.fromkeys(
                measurement.at[column] for measurement in self.items if column in measurement.at
            )
        )


def read_measured(
    source: Any, *, speedups: bool = False, repetitions: bool = False
) -> Measurements:
    """Return the measured times of a file, a DataFrame or a list of mappings.

    Parameters
    ----------
    source
        A .csv file (comma, semicolon or tab), Extra-P's .txt, .json or .jsonl, anything with
        pandas' ``to_dict``, or mappings. ``FILE#main/time,p=x`` names one of several series, and
        the column that is p. Columns are ``p``, ``time`` (seconds, or text with a
        unit) and any of ``d``, ``workload``, ``machine``, workload parameters and machine values
        that are set. Of a time such as ``"10 +- 1 s"`` the 10 s are taken; no other value may
        be uncertain. Extra-P's repeated values become their median.
    speedups
        Whether there may be a column ``speedup`` in place of ``time``.
    repetitions
        Whether a point may stand more than once: runs of it, which differ in their time or in a
        column ``run``. The same time twice is a line copied by mistake.

    Raises
    ------
    FileError
        If a column is missing, a value is not one number, or a point stands twice; the
        place is named.
    """
    if isinstance(source, Measurements):
        return source
    where, raw = read_table(source)
    if not raw:
        raise FileError(f"{where}: there are no measured times in it")
    quantity = _quantity(where, list(raw[0][1]), speedups=speedups)
    columns = tuple(name for name in raw[0][1] if name != quantity)
    seen: dict[Any, Measurement] = {}
    for position, row in raw:
        if row.keys() != raw[0][1].keys():
            raise FileError(f"{position}: its columns differ from those of {raw[0][0]}")
        measurement = _measurement(position, row, quantity)
        key = (point_key(measurement.at, columns), measurement.value if repetitions else None)
        if key in seen:
            raise FileError(
                _twice(measurement, seen[key], columns, quantity, repetitions=repetitions)
            )
        seen[key] = measurement
    return Measurements(where, columns, tuple(seen.values()), quantity)


def _quantity(where: str, heads: Sequence[str], *, speedups: bool) -> str:
    """Return the name of the column that holds what was measured."""
    names = shorten(", ".join(map(str, heads)))
    if speedups and {"time", "speedup"} <= set(heads):
        raise FileError(f"{where}: there are both times and speedups; keep one of the columns")
    quantity = "speedup" if speedups and "speedup" in heads else "time"
    for name in ("p", quantity):
        if name not in heads:
            either = " or 'speedup'" if speedups and name == "time" else ""
            hint = did_you_mean(name, map(str, heads)).replace(" Did", ". Did")
            raise FileError(f"{where}: there is no column {name!r}{either}, only {names}{hint}")
    return quantity


def _twice(
    second: Measurement,
    first: Measurement,
    columns: Sequence[str],
    quantity: str,
    *,
    repetitions: bool,
) -> str:
    at = ", ".join(f"{name}={second.at[name]}" for name in columns)
    if repetitions:
        return (
            f"{second.place}: {at} with {quantity}={second.value:g} stands in {first.place} too; "
            "remove the copy, or number the runs in a column 'run'"
        )
    return (
        f"{second.place}: {at} stands in {first.place} too; give one time for each point, "
        "such as the median"
    )


def read_table(source: Any, *, repetitions: bool = False) -> tuple[str, list[Raw]]:
    """Return where a table stands, and each of its rows with its place, as it was written.

    Of Extra-P's repeated values it is the median, or with ``repetitions`` a row of each.

    Raises
    ------
    FileError
        If ``source`` is none of what `read_measured` takes.
    """
    if isinstance(source, str | Path):
        path, series, renamed = _file_and_part(source)
        text, suffix = read_text(path), path.suffix.lower()
        if suffix not in _SUFFIXES:
            raise FileError(f"{path}: measured times are read from {', '.join(_SUFFIXES)} files")
        if is_extrap(text, suffix):
            raw = list(
                read_extrap(
                    text,
                    str(path),
                    lines=suffix == ".jsonl",
                    series=series,
                    named="p" in renamed.values(),
                    repetitions=repetitions,
                )
            )
        elif series:
            raise FileError(f"{source}: {path} is a table of one series; leave out {series!r}")
        else:
            raw = list(read_csv(text, str(path)))
        kept, renamed = _kept(str(path), raw, renamed)
        return str(path), [(place, _renamed(place, row, renamed)) for place, row in kept]
    if hasattr(source, "to_dict"):
        source = source.to_dict(orient="records")
    if not isinstance(source, Iterable):
        raise FileError(f"{shorten(repr(source))} is no file, DataFrame or list of mappings")
    rows = list(source)
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise FileError(f"measured[{index}] = {shorten(repr(row))} is no mapping of columns")
    return "the table given", [(f"measured[{index}]", row) for index, row in enumerate(rows)]


def _file_and_part(source: str | Path) -> tuple[Path, str, dict[str, str]]:
    """Return a file, which of its series is meant, and what its columns are to be called.

    ``times.txt#main/time,p=x`` is the time of main, and p is what the file calls x; where there is
    a column ``code``, ``code=lu`` keeps the rows whose code is lu.
    """
    path, (name, _, part) = Path(source), str(source).rpartition("#")
    if not name or path.exists():
        return path, "", {}
    words = [word.strip() for word in part.split(",") if word.strip()]
    pairs = [word.partition("=") for word in words if "=" in word]
    series = [word for word in words if "=" not in word]
    if len(series) > 1:
        raise FileError(f"{source}: {', '.join(series)} are several series; name one")
    return Path(name), "".join(series), {old.strip(): new.strip() for new, _, old in pairs}


def _kept(
    where: str, rows: Sequence[Raw], names: Mapping[str, str]
) -> tuple[Sequence[Raw], dict[str, str]]:
    """Return the rows that have the values that columns are to have, and the other names.

    Raises
    ------
    FileError
        If no row has such a value.
    """
    columns = rows[0][1] if rows else {}
    values = {new: old for old, new in names.items() if old not in columns}
    wanted = {new: old for new, old in values.items() if new in columns and new not in _NAMED}
    for column, value in wanted.items():
        present = list(dict.fromkeys(str(row.get(column)) for _, row in rows))
        rows = [(place, row) for place, row in rows if str(row.get(column)) == value]
        if not rows:
            raise FileError(
                f"{where}: {column}={value}: column {column!r} has {shorten(', '.join(present))}"
            )
    renamed = {old: new for old, new in names.items() if new not in wanted}
    return [
        (place, {name: cell for name, cell in row.items() if name not in wanted})
        for place, row in rows
    ], renamed


def _renamed(place: str, row: Mapping[str, Any], names: Mapping[str, str]) -> Mapping[str, Any]:
    """Return a row with columns as they are to be called."""
    for old, new in names.items():
        if old not in row:
            columns = shorten(", ".join(map(str, row)))
            raise FileError(f"{place}: {new}={old}: there is no column {old!r}, only {columns}")
        if new in row and new != old:
            raise FileError(f"{place}: {new}={old}: there is a column {new!r} already")
    return {names.get(name, name): value for name, value in row.items()} if names else row


def _measurement(position: str, row: Mapping[str, Any], quantity: str) -> Measurement:
    amount, at = 0.0, {}
    for name, value in row.items():
        try:
            if name == quantity:
                amount = _measured(value, "s" if quantity == "time" else "1")
            else:
                at[name] = _value(name, value)
        except (UnitError, ValueError) as error:
            reason = shorten(error, 200)
            raise FileError(f"{position}: {name} = {shorten(repr(value))}: {reason}") from None
    if amount <= 0:
        raise FileError(f"{position}: {quantity} = {amount:g} must be above 0")
    return Measurement(amount, at, position)


def _measured(value: Any, dimension: str) -> float:
    """Return what was measured; a spread that is stated with it is left out."""
    quantity = _one(value, dimension)
    check_dimension(quantity.dimension, dimension, value)
    return quantity.value


def _one(value: Any, dimension: str = "") -> Quantity:
    """Return a number that is neither an interval nor a law."""
    quantity = parse_quantity(_number(value), dimension)
    if quantity.law != "normal" or ":" in str(value):
        raise ValueError("it must be one number, no interval or law; give what was measured")
    return quantity


def _number(value: Any) -> Any:
    """Return a plain number where there is one, or the text of a quantity."""
    if hasattr(value, "item"):  # numpy's numbers
        value = value.item()
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _value(name: str, value: Any) -> Any:
    if name in TEXTS:
        return str(value)
    if name not in COUNTS:
        quantity = _one(value)
        if quantity.spread:
            raise ValueError("it tells points apart and must be exact; leave out the +-")
        return quantity.value
    number = _number(value)
    if not is_number(number) or not 1 <= number <= MOST or number % 1:
        raise ValueError("it must be a whole number from 1 to 10**15")
    return int(number)


def point_key(at: Mapping[str, Any], columns: Iterable[str]) -> tuple[Any, ...]:
    """Return a point by its columns; numbers that differ by rounding alone are the same."""
    return tuple(_rounded(at.get(name)) for name in columns)


def _rounded(value: Any) -> Any:
    try:
        return float(f"{value:.12g}") if isinstance(value, int | float) else value
    except OverflowError:  # an integer above all floats
        return value
