"""More room in the state of an allocation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast_network.sharing.compiled import new_state
from parcast_network.sharing.steps.layout import NONE, SHIFT, State


def with_room(state: State, *, flows: int, hops: int = 1) -> State:
    """Return the state with room for so many flows and for routes so long; what runs goes on."""
    shift = int(state.counters[SHIFT])
    larger = new_state(
        state.link.capacity, state.link.limits, flows=flows, hops=max(hops, 1 << shift)
    )
    wider = int(larger.counters[SHIFT])

    def moved(places: NDArray[np.int64]) -> Any:
        flow, hop = places >> shift, places & ((1 << shift) - 1)
        return np.where(places == NONE, NONE, (flow << wider) + hop)

    _fill(larger, state)
    larger.counters[SHIFT] = wider
    larger.link.first[:] = moved(state.link.first)
    for values, before in (
        (larger.route, state.route),
        (larger.weight, state.weight),
        (larger.after, moved(state.after)),
        (larger.before, moved(state.before)),
    ):
        values.reshape(-1, 1 << wider)[: len(state.flow.cap), : 1 << shift] = before.reshape(
            -1, 1 << shift
        )
    return larger


def _fill(larger: Any, smaller: Any) -> None:
    for values, before in zip(larger, smaller, strict=True):
        if isinstance(before, tuple):
            _fill(values, before)
        else:
            values[: len(before)] = before
