"""What Hatchet and Thicket write as JSON: literal trees of calls, and tables over a graph."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parcast.errors import FileError
from parcast_profiles.profile import Profile, joined
from parcast_profiles.tree import Path as CallPath
from parcast_profiles.tree import exclusive, overlap_note, regions_of

#: Columns of time in seconds, of what a region took by itself, and with all it called.
_OWN = ("time", "sum#sum#time.duration", "sum#time.duration")
_WHOLE = ("time (inc)", "sum#inclusive#sum#time.duration", "inclusive#sum#time.duration")
_MOST_DEPTH = 5_000
_RANKS = ("jobsize", "mpi.world.size", "numprocs")

_ONE = "ranks are not told apart: taken as one process"


def read(path: Path) -> Profile:
    """Return the profile in a literal tree of Hatchet, or in a Thicket of one profile.

    Raises
    ------
    FileError
        If it is not of that form, has several profiles, or no time.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8", errors="replace"))
        if isinstance(data, dict):
            tool, rows, ranks = "Thicket", _thicket(data, path), _ranks(data)
        else:
            tool, rows, ranks = "Hatchet", list(_literal(data, path)), 1
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(
            f"{path}: this is no JSON of Hatchet (json.dump of GraphFrame.to_literal()) or of "
            "Thicket (to_json())"
        ) from None
    times = {name for _, metrics in rows for name in metrics}
    own = next((name for name in _OWN if name in times), None)
    whole = next((name for name in _WHOLE if name in times), None)
    column = own or whole
    if column is None:
        known = ", ".join((*_OWN, *_WHOLE))
        raise FileError(f"{path}: it has no column of time: none of {known}")
    measured = [(names, _seconds(metrics.get(column))) for names, metrics in rows]
    least = min((seconds for _, seconds in measured), default=0.0)
    if least < 0:
        raise FileError(f"{path}: a region took {least:g} s; times are 0 or more")
    regions, below = regions_of(measured if own else exclusive(measured))
    total = math.fsum(region.seconds for region in regions)
    notes = [f"{column!r} is taken as seconds", *([_ONE] if ranks == 1 else [])]
    return Profile(
        where=str(path),
        tool=tool,
        processes=ranks,
        regions=joined(regions, str(path)),
        notes=(*notes, *overlap_note(below, total)),
        about={"measured": column},
    )


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return 0.0  # a region that this profile has not
    return float(value)


def _literal(roots: Any, path: Path) -> Iterator[tuple[CallPath, dict[str, Any]]]:
    """Yield the paths and metrics of a tree."""
    ahead: list[tuple[Any, CallPath]] = [(root, ()) for root in reversed(roots)]
    while ahead:
        node, outer = ahead.pop()
        names = (*outer, str(node["frame"].get("name") or node["name"]))
        if len(names) > _MOST_DEPTH:
            raise FileError(f"{path}: it is nested over {_MOST_DEPTH:,} deep")
        yield names, dict(node["metrics"])
        ahead += [(child, names) for child in reversed(node.get("children", ()))]


def _thicket(data: dict[str, Any], path: Path) -> list[tuple[CallPath, dict[str, Any]]]:
    """Return the paths and metrics of the only profile of an ensemble."""
    profiles = data.get("profile") or sorted({row.get("profile") for row in data["dataframe"]})
    if len(profiles) > 1:
        files = [str(file) for file in data.get("profile_mapping", {}).values()]
        hint = f", or read one of its files, such as {files[0]}" if files else ""
        raise FileError(
            f"{path}: it is an ensemble of {len(profiles):,} profiles; keep one with Thicket's "
            f"filter_profile{hint}"
        )
    (graph,) = data["graph"]
    names: dict[str, CallPath] = {}
    ahead: list[tuple[str, CallPath]] = [
        (number, ()) for number, node in graph.items() if not node["parents"]
    ]
    while ahead:
        number, outer = ahead.pop()
        if number in names:
            continue  # reached another way: its time counts once
        names[number] = (*outer, str(graph[number]["data"]["name"]))
        if len(names[number]) > _MOST_DEPTH:
            raise FileError(f"{path}: it is nested over {_MOST_DEPTH:,} deep")
        ahead += [(str(child), names[number]) for child in graph[number]["children"]]
    return [(names[str(row["node"])], row) for row in data["dataframe"]]


def _ranks(data: dict[str, Any]) -> int:
    """Return how many processes an ensemble's metadata state, 1 where they do not."""
    for row in data.get("metadata") or ():
        for name in _RANKS:
            text = str(row.get(name, ""))
            if text.isdecimal() and 0 < int(text) < 1 << 31:
                return int(text)
    return 1


def refuse_database(path: Path) -> Profile:
    """Refuse a database of HPCToolkit 4, with what to do.

    Raises
    ------
    FileError
        Always.
    """
    raise FileError(
        f"{path}: this is a database of HPCToolkit 4, which is not read; load its folder with "
        "Hatchet (GraphFrame.from_hpctoolkit), and read json.dump(frame.to_literal())"
    )
