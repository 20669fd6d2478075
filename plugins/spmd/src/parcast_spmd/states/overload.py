"""Stations that are offered more work than they can do, whatever stands in the way of it."""

from __future__ import annotations

import numpy as np

from parcast_spmd.mixed.network import NoSteadyStateError
from parcast_spmd.mixed.times import Phases
from parcast_spmd.states.model import Route, Spot, StatesModel

#: Nodes times classes whose flows are solved
_MOST_SPOTS = 3000


def check_load(model: StatesModel) -> None:
    """Refuse a network of open classes that has no steady state, where that is plain to see.

    Jobs that are blocked or wait come nevertheless; only where some are lost, or where routes look
    at states or tokens are made, the flows are not known beforehand.

    Raises
    ------
    NoSteadyStateError
        If a station is offered as much work as its servers can do, or more.
    """
    rates: dict[Spot, float] = {}
    for k, node in enumerate(model.nodes):
        if node.service and "lost" in node.service.full:
            return
        for r, times in enumerate(node.arrivals):
            if times is not None:
                rates[k, r] = 1 / _mean(times)
    if model.modes or not rates or any(True in region.lost for region in model.regions):
        return
    flows = _flows(model, rates)
    for k, node in enumerate(model.nodes):
        if flows is None or node.service is None or node.service.kind == "delay":
            continue
        load = sum(flows.get((k, r), 0.0) * mean for r, mean in enumerate(node.service.means))
        if load >= node.service.servers:
            raise NoSteadyStateError(
                f"Station {node.name!r} is offered {load:.6g} seconds of work each second and does "
                f"{node.service.servers}; it has no steady state: give it more servers or fewer "
                "arrivals."
            )


def _mean(times: Phases) -> float:
    """Return the mean of a time of phases."""
    after = np.array(times.after)
    visits = np.linalg.solve(np.eye(len(after)) - after.T, np.array(times.start))
    return float(visits @ (1 / np.array(times.rates)))


def _flows(model: StatesModel, rates: dict[Spot, float]) -> dict[Spot, float] | None:
    """Return visits a second by node and class, None where routes look at states."""
    spots, ahead = dict.fromkeys(rates), list(rates)
    while ahead:
        k, r = ahead.pop()
        route = model.nodes[k].routes[r] if model.nodes[k].routes else None
        if model.nodes[k].kind == "sink":
            continue
        if not isinstance(route, Route) or route.kind != "chance" or len(spots) > _MOST_SPOTS:
            return None
        ahead += [spot for spot in route.ways if spot not in spots]
        spots.update(dict.fromkeys(route.ways))
    index = {spot: i for i, spot in enumerate(spots)}
    matrix, entry = np.eye(len(index)), np.zeros(len(index))
    for spot, i in index.items():
        entry[i] = rates.get(spot, 0.0)
        route = model.nodes[spot[0]].routes[spot[1]] if model.nodes[spot[0]].routes else None
        for to, weight in route.ways.items() if isinstance(route, Route) else ():
            matrix[index[to], i] -= weight
    try:
        solved = np.linalg.solve(matrix, entry)
    except np.linalg.LinAlgError:
        return None
    return dict(zip(spots, solved.tolist(), strict=True)) if (solved >= 0).all() else None
