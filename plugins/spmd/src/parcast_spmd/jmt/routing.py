"""Routing in simulation files, and the visits that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, number
from parcast_spmd.jmt.service import last

#: Where a class goes from a station: probabilities by name, None where it may not be.
Targets = Mapping[str, float] | None


def targets(strategy: Element, connected: Sequence[str], position: str) -> Targets:
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
            raise FileError(f"{position}: no connection leads away; add one.")
        return dict.fromkeys(connected, 1 / len(connected))
    if kind != "EmpiricalStrategy":
        raise FileError(
            f"{position} is by {kind!r}; only random and given probabilities are taken."
        )
    probabilities: dict[str, float] = {}
    for entry in strategy.iterfind("subParameter/subParameter"):
        values = {
            parameter.get("name"): (parameter.findtext("value") or "").strip()
            for parameter in entry
        }
        name = values.get("stationName", "")
        probability = number(values.get("probability"), f"{position}: probability of {name!r}")
        if probability and name not in connected:
            raise FileError(f"{position}: no connection leads to {name!r}; add it.")
        probabilities[name] = probabilities.get(name, 0.0) + probability
    total = sum(probabilities.values())
    if abs(total - 1) > 1e-6:
        raise FileError(f"{position}: the probabilities sum to {total:.6g}, not to 1; mend them.")
    return {name: probability / total for name, probability in probabilities.items() if probability}


def visits(
    stations: Sequence[str], routes: Mapping[str, Targets], reference: str, position: str
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
        route = routes.get(open_ends.pop())
        if route is None:
            raise FileError(f"{position}: jobs reach a station where their routing is disabled.")
        new = [name for name in route if name not in reached]
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
        raise FileError(f"{position}: jobs do not come back to {reference!r}.") from None
    if not (np.isfinite(solved).all() and (solved >= 0).all() and (solved < 1e12).all()):
        raise FileError(f"{position}: jobs do not come back to {reference!r}.")
    ratios = {reference: 1.0, **dict(zip(others, solved.tolist(), strict=True))}
    return [ratios.get(name, 0.0) for name in stations]
