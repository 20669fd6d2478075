"""The text of measurements: tables, and Extra-P's forms of a series of times."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from parcast.cells import meant
from parcast.errors import FileError, shorten
from parcast.quantities.units import is_number

#: A row as it was read: where, and what its columns hold.
Raw = tuple[str, Mapping[str, Any]]


def read_csv(text: str, where: str) -> Iterator[Raw]:
    """Read a table by commas, semicolons or tabs, with the names of the columns first."""
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [(n, line) for n, line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return
    delimiter = max(",;\t", key=lines[0][1].count)
    table = csv.reader((line + "\n" for _, line in lines), delimiter=delimiter)
    heads: list[str] = []
    try:
        for cells in table:
            values = [meant(cell.strip()) for cell in cells]
            position = f"{where}:{lines[table.line_num - 1][0]}"
            if heads:
                yield position, _by_name(heads, values, position)
            elif len(set(values)) < len(values):
                raise FileError(f"{position}: a column stands twice; keep one of each")
            heads = heads or values
    except csv.Error as error:
        raise FileError(f"{where}:{lines[table.line_num - 1][0]}: {error}") from None


def _by_name(heads: Sequence[str], values: Sequence[str], position: str) -> dict[str, str]:
    if len(values) != len(heads):
        raise FileError(
            f"{position}: {len(values)} values for {len(heads)} columns; give one for each"
        )
    return dict(zip(heads, values, strict=True))


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where}: not valid JSON: {error}") from None


def read_extrap(text: str, where: str, *, repetitions: bool = False) -> Iterator[Raw]:
    """Read Extra-P's JSON: times by call path, metric and point; of repetitions the median."""
    data = _parsed(text, where)
    try:
        names = [str(name) for name in data["parameters"]]
        paths = {
            (path, metric): points
            for path, metrics in data["measurements"].items()
            for metric, points in metrics.items()
        }
        points = paths[_chosen(list(paths), where)]
        for index, entry in enumerate(points):
            point = entry["point"] if isinstance(entry["point"], list) else [entry["point"]]
            position = f"{where}: point {index + 1}"
            params = dict(zip(names, point, strict=True))
            for row in _timed(params, entry["values"], position, repetitions=repetitions):
                yield position, row
    except (KeyError, TypeError, AttributeError, ValueError):
        raise FileError(
            f"{where}: this is not Extra-P's JSON, an object with 'parameters' and 'measurements' "
            "by call path and metric"
        ) from None


def read_extrap_lines(text: str, where: str, *, repetitions: bool = False) -> Iterator[Raw]:
    """Read Extra-P's JSON lines: a value with its parameters each; of repetitions the median."""
    series: dict[tuple[str, str], dict[str, tuple[str, Mapping[str, Any], list[Any]]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        position, entry = f"{where}:{number}", _parsed(line, f"{where}:{number}")
        params = entry.get("params") if isinstance(entry, dict) else None
        if not isinstance(params, dict) or not _is_finite(entry.get("value")):
            raise FileError(f'{position}: a line is {{"params": {{"p": 4}}, "value": 1.0}}')
        name = (str(entry.get("callpath", "")), str(entry.get("metric", "")))
        points = series.setdefault(name, {})
        key = json.dumps(params, sort_keys=True)
        points.setdefault(key, (position, params, []))[2].append(entry["value"])
    for position, params, values in series[_chosen(list(series), where)].values():
        for row in _timed(params, values, position, repetitions=repetitions):
            yield position, row


def _timed(
    params: Mapping[str, Any], values: Any, position: str, *, repetitions: bool
) -> list[dict[str, Any]]:
    """Return a row of the parameters and the median of the times, or one of each time."""
    several = values if isinstance(values, list) else [values]
    if not several or not all(map(_is_finite, several)):
        raise FileError(f"{position}: values = {shorten(values)} must be numbers")
    if "time" in params:
        raise FileError(f"{position}: a parameter is called 'time', as what is measured; rename it")
    times = several if repetitions else [median(several)]
    return [{**params, "time": float(time)} for time in times]


def _is_finite(value: Any) -> bool:
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:  # an integer above all floats
        return False


def _chosen(names: Sequence[tuple[str, str]], where: str) -> tuple[str, str]:
    """Return the call path and metric to read: the only one, or the time of the whole."""
    if not names:
        raise FileError(f"{where}: there are no measured times in it")
    timed = [name for name in names if name[1].lower() in {"time", "runtime", "walltime"}]
    main = [name for name in timed if name[0].lower() in {"", "main", "program"}]
    for choice in (names, timed, main):
        if len(choice) == 1:
            return choice[0]
    listed = ", ".join(f"{path or '?'}/{metric or '?'}" for path, metric in names[:6])
    raise FileError(
        f"{where}: several series are measured ({listed}); keep one, or call it main with the "
        "metric time"
    )
