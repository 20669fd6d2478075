"""Tables of kernel measurements in CSV: columns by name, cells with or without units."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from parcast.errors import FileError, UnitError, did_you_mean
from parcast.files import read_text
from parcast.quantities import to_base

#: What each column is, and the unit of a plain number in it.
COLUMNS: Mapping[str, str] = {
    "bytes": "B",
    "seconds": "s",
    "round_trip": "s",
    "bandwidth": "B/s",
    "p": "1",
}


def read_table(path: Path, choices: Sequence[Sequence[str]]) -> dict[str, list[float]]:
    """Return the columns of a table, in base units.

    Parameters
    ----------
    path
        A .csv file with commas, semicolons or tabs, its first line the columns' names.
    choices
        The sets of columns that it may have.

    Raises
    ------
    FileError
        If it has none of these sets, a number is missing, wrong or not above 0, or it has no
        lines; the line is named.
    """
    lines = [line for line in read_text(path).splitlines() if line.strip()[:1] not in {"", "#"}]
    delimiter = max(",;\t", key=lines[0].count) if lines else ","
    rows = list(csv.reader(lines, delimiter=delimiter))
    head = [name.strip().lower() for name in rows[0]] if rows else []
    names = next((names for names in choices if set(names) <= set(head)), None)
    if names is None or len(set(head)) < len(head):
        wanted = " or ".join(", ".join(names) for names in choices)
        hint = "".join(did_you_mean(name, COLUMNS) for name in head if name not in COLUMNS)
        raise FileError(f"{path}: the first line must name the columns {wanted}.{hint}")
    if len(rows) < 2:
        raise FileError(f"{path} has no measurement below its first line.")
    return {
        name: [
            _cell(row, head.index(name), name, f"{path}: measurement {index}")
            for index, row in enumerate(rows[1:], start=1)
        ]
        for name in names
    }


def _cell(row: Sequence[str], index: int, name: str, position: str) -> float:
    text = row[index].strip() if index < len(row) else ""
    try:
        value = to_base(text, COLUMNS[name])
    except UnitError as error:
        raise FileError(f"{position}: {name}: {error}; write a number.") from None
    least_allowed = value >= 0 if name == "bytes" else value > 0
    if not (math.isfinite(value) and least_allowed):
        raise FileError(f"{position}: {name} is {text}; it must be above 0.")
    return value
