"""The formats of results that need no library: .json, .jsonl and .csv."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from parcast.html import flatten
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
    rows = []
    for row in results.rows:
        flat = dict(flatten(row.to_dict()))
        rows.append({key: _cell(value) for key, value in flat.items()})
    names = list(dict.fromkeys(key for row in rows for key in row))
    columns = [name for name in names if not any(one.startswith(f"{name}.") for one in names)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, columns, restval="", extrasaction="ignore", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(rows)


def _cell(value: object) -> object:
    return "; ".join(map(str, value)) if isinstance(value, list) else value
