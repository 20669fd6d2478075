"""Routing in simulation files, and the visits that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, number
from parcast_spmd.jmt.service import last

#: Where a class goes from a station: probabilities by name, None where it may not be.
Targets = Mapping[str, float] | None


def targets(strategy: Element, connected: Sequence[str], place: str) -> Targets:
    """Return where a routing strategy sends jobs.

    Raises
    ------
    FileError
        If it depends on the state, or its probabilities are not over connected stations or do
        not sum to 1.
    """
    kind = last(strategy.get("classPath"))
    if kind == "DisabledRoutingStrategy":
        return None
    if kind == "RandomStrategy":
        if not connected:
            raise FileError(f"{place}: no connection leads away; add one.")
        return dict.fromkeys(connected, 1 / len(connected))
    if kind != "EmpiricalStrategy":
        raise FileError(f"{place} is by {kind!r}; only random and given probabilities are taken.")
    found: dict[str, float] = {}
    for entry in strategy.iterfind("subParameter/subParameter"):
        values = {one.get("name"): (one.findtext("value") or "").strip() for one in entry}
        name = values.get("stationName", "")
        probability = number(values.get("probability"), f"{place}: probability of {name!r}")
        if probability and name not in connected:
            raise FileError(f"{place}: no connection leads to {name!r}; add it.")
        found[name] = found.get(name, 0.0) + probability
    total = sum(found.values())
    if abs(total - 1) > 1e-6:
        raise FileError(f"{place}: the probabilities sum to {total:.6g}, not to 1; mend them.")
    return {name: one / total for name, one in found.items() if one}


def visits(
    stations: Sequence[str], routes: Mapping[str, Targets], reference: str, place: str
) -> list[float]:
    """Return how often each station is visited between two visits at ``reference``.

    Raises
    ------
    FileError
        If a job may reach a station from which it does not come back, or that does not
        serve it.
    """
    reached, open_ends = [reference], [reference]
    while open_ends:
        here = routes.get(open_ends.pop())
        if here is None:
            raise FileError(f"{place}: jobs reach a station where their routing is disabled.")
        new = [name for name in here if name not in reached]
        reached += new
        open_ends += new
    others = reached[1:]
    index = {name: i for i, name in enumerate(others)}
    matrix = np.eye(len(others))
    start = np.zeros(len(others))
    for name in reached:
        for target, probability in (routes[name] or {}).items():
            if target in index and name == reference:
                start[index[target]] += probability
            elif target in index:
                matrix[index[target], index[name]] -= probability
    try:
        solved = np.linalg.solve(matrix, start)
    except np.linalg.LinAlgError:
        raise FileError(f"{place}: jobs do not come back to {reference!r}.") from None
    if not (np.isfinite(solved).all() and (solved >= 0).all() and (solved < 1e12).all()):
        raise FileError(f"{place}: jobs do not come back to {reference!r}.")
    found = {reference: 1.0, **dict(zip(others, solved.tolist(), strict=True))}
    return [found.get(name, 0.0) for name in stations]
