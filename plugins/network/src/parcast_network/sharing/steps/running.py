"""Flows that start at times known beforehand, until the last of them ends."""

from __future__ import annotations

from typing import Any

from parcast_network.sharing.steps.layout import NONE
from parcast_network.sharing.steps.settling import end, ended, next_end, settle, start


def run(state: Any, same: float, order: Any, routes: Any, weights: Any, shares: Any, caps: Any,
        sizes: Any, starts: Any, ends: Any) -> None:  # fmt: skip
    """Write when each flow ends into ``ends``; ``order`` are the flows in the order of starts."""
    following = 0
    while True:
        now = next_end(state)
        if following < len(order):
            now = min(now, starts[order[following]])
        elif state.counters[0] == 0:
            return
        until = now * (1.0 + same)
        flow = ended(state, until)
        while flow != NONE:
            ends[flow] = state.flow.end[flow]
            end(state, flow)
            flow = ended(state, until)
        while following < len(order) and starts[order[following]] <= until:
            flow = order[following]
            if sizes[flow] > 0.0:
                start(
                    state, flow, now, routes[flow], weights, shares[flow], caps[flow], sizes[flow]
                )
            else:
                ends[flow] = starts[flow]
            following += 1
        settle(state, now)
