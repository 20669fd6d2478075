"""What a run costs: its nodes, for its time, at the price and the power that the machine states."""

from __future__ import annotations

import re
from typing import Any

from parcast.model.query import Query

_CURRENCY = re.compile(r"([A-Z]{3})/h")


def charge(query: Query, seconds: float) -> dict[str, Any] | None:
    """Return nodes, node-hours and, where the machine states them, price and energy of a run.

    Whole nodes are charged, from the first process to the last. The price is in the currency
    of the machine's file, energy in joules. None where the machine states neither.
    """
    if not query.machine.is_charged:
        return None
    cost = query.machine.cost
    used = _used(query)
    hours = used * seconds / 3600
    bill: dict[str, Any] = {"nodes": used, "node_hours": hours}
    if cost.price is not None:
        bill |= {"price": hours * cost.price, "currency": _currency(query)}
    power = _power(query, used)
    if power is not None:
        bill["energy"] = power * seconds
    return bill


def _used(query: Query) -> int:
    """Return how many nodes have a process."""
    nodes, p = query.machine.nodes, query.p
    if isinstance(query.mapping, tuple):
        return len(set(query.mapping))
    if query.mapping == "cyclic":
        return min(p, nodes.number or -(-p // nodes.cores))
    return min(-(-p // nodes.cores), nodes.number or p)


def _power(query: Query, used: int) -> float | None:
    """Return the watts of the nodes in use, or None where one's are not stated."""
    cost, groups = query.machine.cost, query.machine.nodes.groups
    total, first, counted = 0.0, 0, 0
    for group in groups:
        inside = _between(query, used, first, first + group.count)
        power = cost.power if group.power is None else group.power
        if inside and power is None:
            return None
        total += inside * (power or 0.0)
        first, counted = first + group.count, counted + inside
    if counted < used and cost.power is None:
        return None
    return total + (used - counted) * (cost.power or 0.0)


def _between(query: Query, used: int, first: int, end: int) -> int:
    """Return how many of the nodes ``first`` to before ``end`` are in use."""
    if isinstance(query.mapping, tuple):
        return sum(first <= node < end for node in set(query.mapping))
    return max(0, min(end, used) - first)


def _currency(query: Query) -> str:
    table = query.machine.data.get("cost", {})
    match = _CURRENCY.search(str(table.get("price", "")))
    return match[1] if match else ""
