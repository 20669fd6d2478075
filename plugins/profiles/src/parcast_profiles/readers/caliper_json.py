"""What cali-query prints as JSON (``json-split``): columns, rows, and a tree of names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parcast.errors import FileError
from parcast_profiles.profile import Profile
from parcast_profiles.readers.caliper import Table, profile_of


def read(path: Path) -> Profile:
    """Return the profile in a JSON file of Caliper.

    Raises
    ------
    FileError
        If it is not of that form, or no time was measured.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8", errors="replace"))
        table = _table(data)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise FileError(
            f"{path}: this is no profile of Caliper in JSON, an object with 'data', 'columns', "
            "'column_metadata' and 'nodes' (cali-query -q 'format json-split')"
        ) from None
    return profile_of(table, str(path))


def _table(data: Any) -> Table:
    columns, about, nodes = data["columns"], data["column_metadata"], data["nodes"]
    trees = [name for name, entry in zip(columns, about, strict=True) if not entry["is_value"]]
    called = [name for name in trees if "callpath" in name]
    path_column = next((name for name in ("path", *called, *trees) if name in trees), None)
    paths, values = [], []
    for row in data["data"]:
        cells = dict(zip(columns, row, strict=True))
        by_name = {name: str(cell) for name, cell in cells.items() if cell is not None}
        node = cells.get(path_column) if path_column else None
        paths.append(_path(nodes, node))
        values.append(by_name)
    units = {
        name: str(entry["attribute.unit"])
        for name, entry in zip(columns, about, strict=True)
        if "attribute.unit" in entry
    }
    of_run = {
        name: str(value) for name, value in data.items() if not isinstance(value, list | dict)
    }
    return Table(paths=paths, values=values, globals=of_run, units=units)


def _path(nodes: Any, number: int | None) -> tuple[str, ...]:
    names: list[str] = []
    while number is not None:
        if len(names) > len(nodes) or number < 0:
            raise ValueError
        names.append(str(nodes[number]["label"]))
        number = nodes[number].get("parent")
    return tuple(reversed(names))
