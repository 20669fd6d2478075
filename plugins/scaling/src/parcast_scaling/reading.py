"""Files of measured times: tables, Extra-P's forms, and the accounting of Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from parcast.comparison import read_table
from parcast.errors import FileError, UnitError, did_you_mean, shorten
from parcast.files import read_text
from parcast.quantities import parse_quantity, to_base
from parcast_scaling.accounting import is_accounting, read_accounting
from parcast_scaling.times import Run

#: Names of the column of sizes and of the column of times.
SIZES = ("p", "processes", "ranks", "nodes")
TIMES = ("time", "seconds")

#: Amounts per process that the machine needs time for, beside times.
AMOUNTS = ("flops", "messages", "bytes")

#: Columns that number or describe runs and tell no points apart.
IGNORED = ("run", "repeat", "comment")


@attrs.frozen(kw_only=True)
class Times:
    """The measured runs of a file."""

    where: str
    runs: tuple[Run, ...]
    counts: str = "p"  #: what the sizes are a number of
    amounts: tuple[Mapping[str, float], ...] = ()  #: of each run, where it states any
    remarks: tuple[str, ...] = ()
    varies: bool = False  #: whether runs have a column n


def read_times(file: str) -> Times | None:
    """Return the times in a file; None where it is a table without a column of times.

    Raises
    ------
    FileError
        If a value is none, or a column tells runs apart that are not of one series.
    """
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".tsv", ".txt", ".json", ".jsonl"}:
        return None
    if suffix not in {".json", ".jsonl"}:
        text = read_text(path)
        if is_accounting(text):
            runs, counts, remarks = read_accounting(text, file)
            return Times(where=file, runs=runs, counts=counts, remarks=remarks)
        if text.lstrip().startswith("PARAMETER"):
            return _series(file, read_extrap_text(text, file))
    where, rows = read_table(file, repetitions=True)
    if not rows or not any(name in rows[0][1] for name in TIMES):
        return None
    return _series(where, rows)


def _series(where: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Times:
    heads = [str(name) for name in rows[0][1]]
    size = next((name for name in SIZES if name in heads), None)
    if size is None:
        hint = did_you_mean("p", heads)
        raise FileError(
            f"{where}: there is no column 'p' (or {', '.join(SIZES[1:])}), only "
            f"{shorten(', '.join(heads))}{hint}"
        )
    time = next(name for name in TIMES if name in heads)
    _check_alone(where, rows, [size, time, "n", *AMOUNTS, *IGNORED])
    runs = tuple(_run(place, row, size, time) for place, row in rows)
    present = [name for name in AMOUNTS if name in heads]
    amounts = tuple({name: _number(place, name, row) for name in present} for place, row in rows)
    return Times(
        where=where,
        runs=runs,
        counts=size,
        amounts=amounts if present else (),
        varies="n" in heads,
    )


def _check_alone(
    where: str, rows: Sequence[tuple[str, Mapping[str, Any]]], meant: Sequence[str]
) -> None:
    """Refuse a table of several series: what tells them apart is not in the curve."""
    for name in rows[0][1]:
        values = {str(row.get(name)) for _, row in rows}
        if name not in meant and len(values) > 1:
            raise FileError(
                f"{where}: column {name!r} has {len(values)} values; keep the runs of one of them, "
                "or call it n if it is the work"
            )


def _run(place: str, row: Mapping[str, Any], size: str, time: str) -> Run:
    p = _number(place, size, row)
    if p < 1 or p % 1:
        raise FileError(f"{place}: {size} = {row[size]!r} must be a whole number, 1 or more")
    seconds = _number(place, time, row, "s")
    n = _number(place, "n", row) if "n" in row else 1.0
    for name, value in ((time, seconds), ("n", n)):
        if value <= 0:
            raise FileError(
                f"{place}: {name} = {value:g} must be above 0; leave out runs that failed"
            )
    return Run(p, seconds, n, place)


def _number(place: str, name: str, row: Mapping[str, Any], unit: str = "") -> float:
    value = row[name]
    try:
        plain = value.item() if hasattr(value, "item") else value
        return to_base(plain, unit) if unit else parse_quantity(plain).value
    except (UnitError, ValueError) as error:
        reason = shorten(error, 200)
        raise FileError(f"{place}: {name} = {shorten(repr(value))}: {reason}") from None


def read_extrap_text(text: str, where: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the rows of Extra-P's text form: PARAMETER, POINTS, and a line of DATA for each.

    Raises
    ------
    FileError
        If lines of data and points differ in number, or there are several metrics or regions.
    """
    names: list[str] = []
    points: list[list[float]] = []
    data: list[tuple[int, list[float]]] = []
    series: set[tuple[str, str]] = set()
    labels = {"REGION": "", "METRIC": ""}
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        if word == "PARAMETER":
            names += rest.split()
        elif word == "POINTS":
            points += _points(rest, len(names), f"{where}:{number}")
        elif word in labels:
            labels[word] = rest
        elif word == "DATA":
            series.add((labels["REGION"], labels["METRIC"]))
            data.append((number, _floats(rest, f"{where}:{number}")))
        else:
            raise FileError(
                f"{where}:{number}: {shorten(word)!r} is none of PARAMETER, POINTS, REGION, "
                "METRIC and DATA"
            )
    if len(series) > 1:
        several = ", ".join("/".join(filter(None, names)) for names in sorted(series))
        raise FileError(f"{where}: there are {len(series)} series ({several}); keep one of them")
    if len(data) != len(points):
        raise FileError(
            f"{where}: {len(data)} lines of DATA for {len(points)} POINTS; give one for each"
        )
    renamed = ["p" if name == names[0] and "p" not in names else name for name in names]
    return [
        (f"{where}:{number}", {**dict(zip(renamed, point, strict=True)), "time": value})
        for point, (number, values) in zip(points, data, strict=True)
        for value in values
    ]


def _points(text: str, count: int, place: str) -> list[list[float]]:
    """Return points written ``4 8 16`` or ``( 4 10 ) ( 8 10 )``."""
    if "(" not in text:
        return [[value] for value in _floats(text, place)]
    points = [_floats(group.replace("(", " "), place) for group in text.split(")") if group.strip()]
    if any(len(point) != count for point in points):
        raise FileError(f"{place}: a point has not {count} values, one for each PARAMETER")
    return points


def _floats(text: str, place: str) -> list[float]:
    try:
        return [float(word) for word in text.split()]
    except ValueError as error:
        raise FileError(f"{place}: {error}") from None
