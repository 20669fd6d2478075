"""The formats of results that need no library: .json, .jsonl, .extrap.jsonl and .csv."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from parcast.columns import axes, distinct, flat, is_number, short
from parcast.results import Results


def write_json(results: Results, path: Path) -> None:
    """Write one object with rows and provenance."""
    text = json.dumps(results.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_jsonl(results: Results, path: Path) -> None:
    """Write one row a line."""
    with path.open("w", encoding="utf-8") as file:
        for row in results.rows:
            file.write(json.dumps(row.to_dict(), allow_nan=False, ensure_ascii=False) + "\n")


def write_csv(results: Results, path: Path) -> None:
    """Write one row a line; nested values get dotted columns, lists are joined by ``; ``."""
    columns, rows = flat(results)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, columns, restval="", extrasaction="ignore", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)


def write_extrap(results: Results, path: Path) -> None:
    """Write one point a line for Extra-P: the time of each solver over p and what else varies.

    Points without a time are left out. What follows from p, as the size does when it scales
    with p, is no parameter; what has no numbers, such as the workload, is part of the call path.

    Source: Extra-P, docs/file-formats.md, "JSON Lines format".
    """
    names, rows = flat(results)
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
            file.write(json.dumps(point, allow_nan=False, ensure_ascii=False) + "\n")
