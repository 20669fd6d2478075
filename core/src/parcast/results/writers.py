"""The formats of results that need no library: .json, .jsonl, .extrap.jsonl and .csv."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from parcast.cells import defused
from parcast.quantities.units import is_number
from parcast.results.columns import axes, distinct, flat, kinds, short
from parcast.results.packing import Column, packs
from parcast.results.results import Results
from parcast.results.row import SCHEMA, plain


def write_json(results: Results, path: Path) -> None:
    """Write one object with rows and provenance, a row a line."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"schema": {SCHEMA},\n "rows": [')
        for index, row in enumerate(results.rows):
            file.write((",\n  " if index else "\n  ") + _json(row.to_dict()))
        file.write(f'],\n "provenance": {_json(plain(results.provenance))}}}\n')


def _json(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def write_jsonl(results: Results, path: Path) -> None:
    """Write one row a line."""
    with path.open("w", encoding="utf-8") as file:
        for row in results.rows:
            file.write(_json(row.to_dict()) + "\n")


def write_csv(results: Results, path: Path) -> None:
    """Write one row a line; nested values get dotted columns, lists are joined by ``; ``.

    Text that a spreadsheet would run has an apostrophe before it (see `parcast.cells`).
    """
    names = list(kinds(results.rows))
    with path.open("w", encoding="utf-8", newline="") as file:
        _write_csv(file, [list(map(defused, names))])
        for pack in packs(results.rows):
            columns = pack.flat()
            cells = [_defused(columns.get(name), pack.count) for name in names]
            _write_csv(file, zip(*cells, strict=True))


def _defused(column: Column | None, count: int) -> list[Any]:
    if column is None:
        return [None] * count
    if "same" in column:
        return [defused(column["same"])] * count
    values: list[Any] = column["each"]
    return list(map(defused, values)) if str in set(map(type, values)) else values


def _write_csv(file: IO[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows, all quoted where a cell has a carriage return by itself.

    The library does not quote it, and takes it for the end of a row when it reads.
    """
    whole = io.StringIO()
    rows = list(rows)
    csv.writer(whole, lineterminator="\n").writerows(rows)
    if "\r" in (text := whole.getvalue()):
        csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    else:
        file.write(text)


def write_extrap(results: Results, path: Path) -> None:
    """Write one point a line for Extra-P: the time of each solver over p and what else varies.

    Points without a time are left out. What follows from p, as the size does when it scales
    with p, is no parameter; what has no numbers, such as the workload, is part of the call path.

    Source: Extra-P, docs/file-formats.md, "JSON Lines format".
    """
    names, rows = flat(results.rows)
    rows = [row for row in rows if row["status"] == "ok" and row["time"] is not None]
    varying = [name for name in axes(names, rows) if len(distinct(rows, [name])) > 1]
    varying = [name for name in varying if name != "seed"]  # other seeds are repetitions
    numbers = [name for name in varying if all(is_number(row.get(name)) for row in rows)]
    params = list(dict.fromkeys(["p", *numbers]))
    path_names = [name for name in varying if name not in {*params, "solver"}]
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            callpath = [f"{short(name)}={row.get(name)}" for name in path_names]
            point = {
                "params": {short(name): row[name] for name in params},
                "callpath": "->".join([*callpath, row["solver"]]),
                "metric": "time",
                "value": row["time"],
            }
            file.write(_json(point) + "\n")
