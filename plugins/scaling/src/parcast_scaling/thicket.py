"""Ensembles of profiles that Thicket wrote as JSON: a run of each profile."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import attrs

from parcast.errors import FileError, shorten
from parcast_scaling.times import Run

#: Keys of the metadata that count processes, by preference.
_SIZES = ("mpi.world.size", "jobsize", "numprocs", "num_procs")

#: A profile's number, of a tree's node by its number.
_Seconds = Mapping[tuple[str, str], float]


@attrs.frozen
class _Column:
    """A column of seconds, as Caliper's configurations and Hatchet's readers name them."""

    name: str
    whole: bool  #: with all that a region calls
    together: bool  #: of all processes
    words: str


_COLUMNS = (
    _Column("Max time/rank", True, False, "the longest process"),
    _Column("Avg time/rank", True, False, "a mean process"),
    _Column("Avg time/rank (exc)", False, False, "a mean process"),
    _Column("time (inc)", True, False, "a mean process"),
    _Column("time", False, False, "a mean process"),
    _Column("Total time", True, True, "all processes together"),
    _Column("sum#inclusive#sum#time.duration", True, True, "all processes together"),
    _Column("sum#sum#time.duration", False, True, "all processes together"),
)


def is_thicket(text: str) -> bool:
    """Tell whether a text is what ``Thicket.to_json()`` writes."""
    return text.lstrip()[:1] == "{" and '"graph"' in text and '"dataframe"' in text


def read_thicket(
    text: str, where: str, names: Mapping[str, str]
) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    """Return a run of each profile, and what was taken for its time.

    Parameters
    ----------
    text, where
        The JSON, and its file.
    names
        Keys of the metadata to take for ``p`` and ``n``, where they are named.

    Raises
    ------
    FileError
        If it is not of that form, a profile has no number of processes, or no time.
    """
    try:
        data = json.loads(text)
        (graph,) = data["graph"]
        metadata = {str(row["profile"]): row for row in data["metadata"]}
        rows = [(str(row["profile"]), str(row["node"]), row) for row in data["dataframe"]]
        children = {str(key): tuple(map(str, node["children"])) for key, node in graph.items()}
        roots = tuple(str(key) for key, node in graph.items() if not node["parents"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(
            f"{where}: it is not what Thicket's to_json() writes: graph, dataframe and metadata, "
            "with a node and a profile in each row"
        ) from None
    column = _column(rows, where)
    seconds = _seconds(rows, column.name, where)
    runs = []
    for profile, facts in metadata.items():
        place = f"{where}: profile {profile}"
        p = _fact(facts, "p", (names["p"],) if "p" in names else _SIZES, place)
        n = _fact(facts, "n", (names["n"],), place) if "n" in names else 1.0
        if column.whole:
            total = _topmost(profile, roots, children, seconds)
        else:
            total = math.fsum(value for (of, _), value in seconds.items() if of == profile)
        if total <= 0:
            raise FileError(f"{place}: column {column.name!r} has no time above 0; leave it out")
        runs.append(Run(p, total / p if column.together else total, n, place))
    return tuple(runs), (f"times are column {column.name!r}, taken as seconds of {column.words}",)


def _column(rows: list[tuple[str, str, Any]], where: str) -> _Column:
    present = {name for _, _, row in rows for name in row}
    for column in _COLUMNS:
        if column.name in present:
            return column
    names = ", ".join(repr(column.name) for column in _COLUMNS)
    raise FileError(
        f"{where}: it has no column of time, of {names}; it has "
        f"{shorten(', '.join(sorted(present)))}"
    )


def _seconds(rows: list[tuple[str, str, Any]], column: str, where: str) -> _Seconds:
    """Return the seconds of each node in each profile, where there are any."""
    seconds: dict[tuple[str, str], float] = {}
    for profile, node, row in rows:
        value = row.get(column)
        if (profile, node) in seconds:
            raise FileError(
                f"{where}: node {node} of profile {profile} stands twice; aggregate ranks and "
                "iterations into one row each"
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            continue  # a region that this profile has not
        if not 0 <= value < math.inf:
            raise FileError(
                f"{where}: {column} = {value:g} of profile {profile}, node {node}, must be a "
                "finite number, 0 or more"
            )
        seconds[profile, node] = float(value)
    return seconds


def _topmost(
    profile: str, roots: tuple[str, ...], children: Mapping[str, tuple[str, ...]], seconds: _Seconds
) -> float:
    """Return the sum of the outermost regions that have a time: they hold all others."""
    total, ahead, seen = 0.0, list(roots), set[str]()
    while ahead:
        node = ahead.pop()
        if node in seen:
            continue
        seen.add(node)
        if (profile, node) in seconds:
            total += seconds[profile, node]
        else:
            ahead += children.get(node, ())
    return total


def _fact(facts: Mapping[str, Any], axis: str, names: tuple[str, ...], place: str) -> float:
    """Return a number of the metadata: a whole one where it counts processes."""
    name = next((name for name in names if name in facts), None)
    if name is None:
        known = shorten(", ".join(map(str, facts)))
        raise FileError(
            f"{place}: its metadata have no {' or '.join(names)}, only {known}; say which is "
            f"{axis}: {place.partition(': ')[0]}#{axis}=NAME"
        )
    try:
        value = float(facts[name])
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < math.inf or (axis == "p" and value % 1):
        number = "a whole number, 1 or more" if axis == "p" else "a number above 0"
        raise FileError(f"{place}: {name} = {shorten(repr(facts[name]))} must be {number}")
    return value
