"""An allocation that gets more room goes on as if it had had it from the beginning."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from parcast_network.sharing.compiled import finish_times, new_state
from parcast_network.sharing.growing import with_room
from parcast_network.sharing.steps.settling import end, ended, settle, start


@pytest.mark.parametrize("seed", range(40))
def test_room_for_more_flows_and_longer_routes_changes_no_time(seed):
    random = Random(seed)
    capacity = [random.choice([1.0, 2.0, 4.0, np.inf]) for _ in range(6)]
    short = [random.sample(range(6), random.randint(1, 2)) for _ in range(8)]
    long = [random.sample(range(6), random.randint(1, 5)) for _ in range(8)]
    caps = [random.choice([0.5, 1.0, 3.0]) for _ in range(16)]
    sizes = [random.choice([1.0, 5.0, 8.0]) for _ in range(16)]
    weights = np.array([random.choice([0.25, 1.0]) for _ in range(5)])
    shares = [random.choice([1.0, 3.0]) for _ in range(16)]
    state, times = new_state(capacity, flows=8, hops=2), np.zeros(16)
    for flow, route in enumerate(short):
        start(state, flow, 0.0, route, weights, shares[flow], caps[flow], sizes[flow])
    settle(state, 0.0)
    state = with_room(state, flows=16, hops=5)
    for flow, route in enumerate(long, 8):
        start(state, flow, 0.0, route, weights, shares[flow], caps[flow], sizes[flow])
    now = settle(state, 0.0)
    while now < np.inf:
        flow = ended(state, now)
        times[flow] = now
        end(state, flow)
        now = settle(state, now)
    routes = np.array([[*route, *[-1] * (5 - len(route))] for route in short + long])
    ends = finish_times(capacity, routes, caps, sizes, np.zeros(16), weights=weights, shares=shares)
    assert times == pytest.approx(ends)
