"""More room in the state of an allocation."""

from __future__ import annotations

from typing import Any

from parcast_network.sharing.compiled import new_state
from parcast_network.sharing.steps.layout import State


def with_flow_room(state: State, flows: int) -> State:
    """Return the state with room for so many flows; what runs goes on."""
    hops = len(state.route) // len(state.flow.cap)
    larger = new_state(state.link.capacity, state.link.limits, flows=flows, hops=hops)
    _fill(larger, state)
    return larger


def _fill(larger: Any, smaller: Any) -> None:
    for values, before in zip(larger, smaller, strict=True):
        if isinstance(before, tuple):
            _fill(values, before)
        else:
            values[: len(before)] = before
