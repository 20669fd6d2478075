"""Measured times: read from the forms people have them in, and set beside predictions."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import attrs

from parcast.errors import FileError, UnitError, UnknownNameError, did_you_mean, shorten
from parcast.files import read_text
from parcast.results import Row
from parcast.units import parse_quantity, to_base
from parcast.workload import Workload

#: Columns that are texts, and columns that are whole numbers from 1.
_TEXTS, _COUNTS = ("workload", "machine"), ("p", "d")

#: A row as it was read: where, and what its columns hold.
_Raw = tuple[str, Mapping[str, Any]]


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
        return list(dict.fromkeys(one.at[column] for one in self.items if column in one.at))


def read_measured(
    source: Any, *, speedups: bool = False, repetitions: bool = False
) -> Measurements:
    """Return the measured times of a file, a DataFrame or a list of mappings.

    Parameters
    ----------
    source
        A .csv file (comma, semicolon or tab), Extra-P's .json or .jsonl, anything with pandas'
        ``to_dict``, or mappings. Columns are ``p``, ``time`` (seconds, or text with a
        unit) and any of ``d``, ``workload``, ``machine`` and workload parameters. Extra-P's
        repeated values become their median.
    speedups
        Whether there may be a column ``speedup`` in place of ``time``.
    repetitions
        Whether a point may stand more than once: runs of it, which differ in their time or in a
        column ``run``. The same time twice is a line copied by mistake.

    Raises
    ------
    FileError
        If a column is missing, a value is no number, or a point stands twice; the place is named.
    """
    if isinstance(source, Measurements):
        return source
    where, raw = read_table(source)
    if not raw:
        raise FileError(f"{where}: there are no measured times in it")
    quantity = _quantity(where, list(raw[0][1]), speedups=speedups)
    columns = tuple(name for name in raw[0][1] if name != quantity)
    seen: dict[Any, Measurement] = {}
    for place, row in raw:
        if row.keys() != raw[0][1].keys():
            raise FileError(f"{place}: its columns differ from those of {raw[0][0]}")
        one = _measurement(place, row, quantity)
        key = (_key(one.at, columns), one.value if repetitions else None)
        if key in seen:
            raise FileError(_twice(one, seen[key], columns, quantity, repetitions=repetitions))
        seen[key] = one
    return Measurements(where, columns, tuple(seen.values()), quantity)


def _quantity(where: str, heads: Sequence[str], *, speedups: bool) -> str:
    """Return the name of the column that holds what was measured."""
    found = ", ".join(map(str, heads))
    if speedups and {"time", "speedup"} <= set(heads):
        raise FileError(f"{where}: there are both times and speedups; keep one of the columns")
    quantity = "speedup" if speedups and "speedup" in heads else "time"
    for name in ("p", quantity):
        if name not in heads:
            either = " or 'speedup'" if speedups and name == "time" else ""
            raise FileError(f"{where}: there is no column {name!r}{either}, only {found}")
    return quantity


def _twice(
    one: Measurement,
    first: Measurement,
    columns: Sequence[str],
    quantity: str,
    *,
    repetitions: bool,
) -> str:
    at = ", ".join(f"{name}={one.at[name]}" for name in columns)
    if repetitions:
        return (
            f"{one.place}: {at} with {quantity}={one.value:g} stands in {first.place} too; remove "
            "the copy, or number the runs in a column 'run'"
        )
    return (
        f"{one.place}: {at} stands in {first.place} too; give one time for each point, "
        "such as the median"
    )


def read_table(source: Any) -> tuple[str, list[_Raw]]:
    """Return where a table stands, and each of its rows with its place, as it was written.

    Raises
    ------
    FileError
        If ``source`` is none of what `read_measured` takes.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        text, suffix = read_text(path), path.suffix.lower()
        readers = {".csv": _csv, ".tsv": _csv, ".txt": _csv, ".json": _json, ".jsonl": _jsonl}
        if suffix not in readers:
            raise FileError(f"{path}: measured times are read from {', '.join(readers)} files")
        return str(path), list(readers[suffix](text, str(path)))
    if hasattr(source, "to_dict"):
        source = source.to_dict(orient="records")
    if not isinstance(source, Iterable):
        raise FileError(f"measured={source!r} is no file, DataFrame or list of mappings")
    rows = list(source)
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise FileError(f"measured[{index}] = {shorten(repr(row))} is no mapping of columns")
    return "measured", [(f"measured[{index}]", row) for index, row in enumerate(rows)]


def _csv(text: str, where: str) -> Iterator[_Raw]:
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [(n, line) for n, line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return
    delimiter = max(",;\t", key=lines[0][1].count)
    table = csv.reader(io.StringIO("\n".join(line for _, line in lines)), delimiter=delimiter)
    heads = [head.strip() for head in next(table)]
    if len(set(heads)) < len(heads):
        raise FileError(f"{where}:{lines[0][0]}: a column stands twice; keep one of each")
    for (number, _), cells in zip(lines[1:], table, strict=False):
        if len(cells) != len(heads):
            raise FileError(
                f"{where}:{number}: {len(cells)} values for {len(heads)} columns; give one for each"
            )
        yield f"{where}:{number}", dict(zip(heads, map(str.strip, cells), strict=True))


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where}: not valid JSON: {error}") from None


def _json(text: str, where: str) -> Iterator[_Raw]:
    """Read Extra-P's JSON: times by call path, metric and point."""
    data = _parsed(text, where)
    try:
        names = [str(name) for name in data["parameters"]]
        paths = {
            (path, metric): points
            for path, metrics in data["measurements"].items()
            for metric, points in metrics.items()
        }
        points = paths[_chosen(list(paths), where)]
        for index, one in enumerate(points):
            point = one["point"] if isinstance(one["point"], list) else [one["point"]]
            place = f"{where}: point {index + 1}"
            yield place, {**dict(zip(names, point, strict=True)), "time": _middle(one, place)}
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FileError(
            f"{where}: this is not Extra-P's JSON, an object with 'parameters' and 'measurements' "
            "by call path and metric"
        ) from None


def _middle(one: Mapping[str, Any], place: str) -> float:
    values = one["values"] if isinstance(one["values"], list) else [one["values"]]
    if not values or not all(isinstance(value, int | float) for value in values):
        raise FileError(f"{place}: values = {shorten(values)} must be numbers")
    return float(median(values))


def _jsonl(text: str, where: str) -> Iterator[_Raw]:
    """Read Extra-P's JSON lines: a value with its parameters each."""
    series: dict[tuple[str, str], dict[str, tuple[str, Mapping[str, Any], list[float]]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        place, one = f"{where}:{number}", _parsed(line, f"{where}:{number}")
        params = one.get("params") if isinstance(one, dict) else None
        if not isinstance(params, dict) or not isinstance(one.get("value"), int | float):
            raise FileError(f'{place}: a line is {{"params": {{"p": 4}}, "value": 1.0}}')
        name = (str(one.get("callpath", "")), str(one.get("metric", "")))
        points = series.setdefault(name, {})
        key = json.dumps(params, sort_keys=True)
        points.setdefault(key, (place, params, []))[2].append(float(one["value"]))
    if series:
        for place, params, values in series[_chosen(list(series), where)].values():
            yield place, {**params, "time": median(values)}


def _chosen(names: Sequence[tuple[str, str]], where: str) -> tuple[str, str]:
    """Return the call path and metric to read: the only one, or the time of the whole."""
    timed = [one for one in names if one[1].lower() in {"time", "runtime", "walltime"}]
    main = [one for one in timed if one[0].lower() in {"", "main", "program"}]
    for found in (names, timed, main):
        if len(found) == 1:
            return found[0]
    listed = ", ".join(f"{path or '?'}/{metric or '?'}" for path, metric in names[:6])
    raise FileError(
        f"{where}: several series are measured ({listed}); keep one, or call it main with the "
        "metric time"
    )


def _measurement(place: str, row: Mapping[str, Any], quantity: str) -> Measurement:
    at: dict[str, Any] = {}
    for name, value in row.items():
        try:
            if name == quantity:
                found = to_base(_number(value), "s" if quantity == "time" else "1")
            else:
                at[name] = _value(name, value)
        except (UnitError, ValueError) as error:
            raise FileError(f"{place}: {name} = {shorten(repr(value))}: {error}") from None
    if not (math.isfinite(found) and found > 0):
        raise FileError(f"{place}: {quantity} = {found:g} must be above 0")
    return Measurement(found, at, place)


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
    if name in _TEXTS:
        return str(value)
    number = _number(value)
    if name not in _COUNTS:
        return parse_quantity(number).value
    whole = isinstance(number, int | float) and not isinstance(number, bool) and number >= 1
    if not whole or number != int(number):
        raise ValueError("it must be a whole number, 1 or more")
    return int(number)


def _key(at: Mapping[str, Any], columns: Iterable[str]) -> tuple[Any, ...]:
    """Return a point by its columns; numbers that differ by rounding alone are the same."""
    values = [at.get(name) for name in columns]
    return tuple(float(f"{v:.12g}") if isinstance(v, int | float) else v for v in values)


def join(
    rows: Sequence[Row], measured: Measurements, workloads: Sequence[Workload]
) -> tuple[tuple[Row, ...], list[str]]:
    """Return the rows with their measured times and errors, and the places no row belongs to.

    The error is relative, positive where the prediction is longer. A column that the measured
    times lack must not distinguish rows.

    Raises
    ------
    UnknownNameError
        If a column is no parameter of any workload, or one is missing to tell rows apart.
    """
    parameters = {one.name: one.parameters for one in workloads}
    _check_columns(rows, measured, parameters)
    index = {_key(one.at, measured.columns): one for one in measured.items}
    used: set[str] = set()
    joined = []
    for row in rows:
        plain = {"p": row.p, "d": row.d, "workload": row.workload, "machine": row.machine}
        at = {**parameters.get(row.workload, {}), **row.params, **plain}
        found = index.get(_key(at, measured.columns))
        if found is None:
            joined.append(row)
            continue
        used.add(found.place)
        error = None if row.time is None else row.time / found.value - 1
        joined.append(attrs.evolve(row, measured=found.value, error=error))
    return tuple(joined), [one.place for one in measured.items if one.place not in used]


def _check_columns(
    rows: Sequence[Row], measured: Measurements, parameters: Mapping[str, Mapping[str, Any]]
) -> None:
    known = {*_TEXTS, *_COUNTS, *(name for row in rows for name in row.params)}
    known |= {name for own in parameters.values() for name in own}
    for name in measured.columns:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UnknownNameError(
                f"{measured.where}: column {name!r} is no parameter of the workload; rename or "
                f"remove it.{hint}"
            )
    for name in ("workload", "machine", "d"):
        several = {getattr(row, name) for row in rows}
        if name not in measured.columns and len(several) > 1:
            raise UnknownNameError(
                f"{measured.where}: there is no column {name!r}, but {len(several)} are asked "
                "about; add it"
            )
