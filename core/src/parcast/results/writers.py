"""The formats of results that need no library: .json, .jsonl, .extrap.jsonl and .csv."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from parcast.quantities.units import is_number
from parcast.results.columns import axes, distinct, flat, kinds, short
from parcast.results.packing import packs, values
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
    """Write one row a line; nested values get dotted columns, lists are joined by ``; ``."""
    names = list(kinds(results.rows))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for pack in packs(results.rows):
            columns = pack.flat()
            held = [values(columns.get(name, {"same": None}), pack.count) for name in names]
            writer.writerows(zip(*held, strict=True))


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
