"""Fair shares: the compiled steps equal progressive filling in fractions, and are fair."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.plugins import is_cached
from parcast.testing import cases, seeds
from parcast_network.sharing import compiled, plain
from parcast_network.sharing.steps import running
from parcast_network.sharing.steps.settling import end, settle, start

CASES = cases(500)


def table(routes):
    """Return routes of any lengths as an array."""
    width = max(map(len, routes))
    return np.array([[*route, *[-1] * (width - len(route))] for route in routes])


def floats(values):
    return np.array([float(value) for value in values])


def random_flows(seed):
    """Return links and flows of small whole numbers, many of which start or end together."""
    draw = random.Random(seed)
    links, flows = draw.randint(1, 12), draw.randint(1, 20)
    longest = draw.randint(1, min(links, 5))
    capacity = [Fraction(draw.randint(1, 20)) for _ in range(links)]
    pick = draw.choice([draw.sample, lambda links, k: draw.choices(links, k=k)])  # or one twice
    routes = [pick(range(links), draw.randint(1, longest)) for _ in range(flows)]
    most = draw.choice([3, 24, 500])
    caps = [Fraction(draw.randint(1, most)) for _ in range(flows)]
    sizes = [Fraction(draw.randint(0, 30)) for _ in range(flows)]
    starts = [Fraction(draw.choice([0, 0, 1, draw.randint(0, 9)])) for _ in range(flows)]
    return capacity, routes, caps, sizes, starts


def random_weights(seed, routes):
    """Return what flows take of the links of their routes for each of their bytes."""
    draw = random.Random(-seed - 1)
    choices = draw.choice([[1], [1, Fraction(1, 20)], [1, 2, Fraction(1, 3)]])
    return [Fraction(draw.choice(choices)) for _ in range(max(map(len, routes)))]


def compare(seed):
    capacity, routes, caps, sizes, starts = random_flows(seed)
    weights = random_weights(seed, routes)
    draw = random.Random(seed)
    shares = [Fraction(draw.choice([1, 1, 3])) for _ in routes]
    exact = plain.finish_times(capacity, routes, caps, sizes, starts, weights, shares)
    times = compiled.finish_times(
        floats(capacity), table(routes), floats(caps), floats(sizes), floats(starts),
        weights=floats(weights), shares=floats(shares),
    )  # fmt: skip
    np.testing.assert_allclose(times, floats(exact), rtol=1e-12, atol=0, err_msg=str(seed))


@pytest.fixture
def loaded(monkeypatch):
    monkeypatch.setattr(compiled._RUN, "plain_steps", 0)
    monkeypatch.setattr(compiled._RUN, "loaded_steps", 0)


def test_compiled_equals_fractions(loaded):
    for seed in seeds(CASES):
        compare(seed)


def test_it_is_compiled_once_whoever_owns_the_arrays(loaded):
    read_only = np.array([4.0, 4.0])
    read_only.setflags(write=False)
    for values in (read_only, read_only.copy()):
        compiled.finish_times(values, [[0], [1]], values, values, values)
    assert len(compiled._RUN.compiled.signatures) == 1


@pytest.mark.parametrize("step", ["settle", "start", "end"])
def test_what_other_kernels_call_too_is_kept_for_them(loaded, step):
    compiled.finish_times([4.0], [[0]], 1.0, [1.0], [0.0])
    assert is_cached(f"settling.{step}", "parcast-network", compiled.SOURCES)


def test_plain_steps_equal_fractions(monkeypatch):
    monkeypatch.setattr(compiled._RUN, "form", lambda steps: running.run)
    for seed in seeds(100):
        compare(seed)


def test_one_message_alone_and_two_that_share():
    capacity, routes = [10.0, 4.0], [[0, -1], [0, 1]]
    ends = compiled.finish_times(capacity, routes, np.inf, [12.0, 8.0], [0.0, 0.0])
    assert ends.tolist() == [2.0, 2.0]  # 6 and 4 bytes a second
    assert compiled.finish_times([10.0], [[0]], 2.0, [8.0], [1.0]).tolist() == [5.0]
    assert compiled.finish_times([10.0], [[0]], 2.0, [0.0], [1.0]).tolist() == [1.0]
    several = compiled.finish_times(
        [10.0], [[0]] * 3, np.inf, [10.0] * 3, [0.0] * 3, shared=[False]
    )
    assert several.tolist() == [1.0] * 3


def random_run(seed):
    """Yield the state after each batch of random starts and ends, and the flows that run."""
    draw = random.Random(seed)
    links, flows = draw.randint(1, 30), 60
    capacity = np.array(
        [draw.choice([1.0, 2.0, 3.0, 10.0, draw.random() + 0.1]) for _ in range(links)]
    )
    state = compiled.new_state(capacity, flows=flows, hops=4)
    weights = np.array(draw.choice([[1.0] * 4, [1.0, 1.0, 0.05, 0.05]]))
    running_flows, free = {}, list(range(flows))
    now = 0.0
    for _ in range(40):
        now += draw.random()
        for _ in range(draw.randint(0, 3)):
            if running_flows and draw.random() < 0.5:
                flow = draw.choice(sorted(running_flows))
                end(state, flow)
                del running_flows[flow]
                free.append(flow)
            elif free:
                flow = free.pop()
                route = draw.sample(range(links), draw.randint(1, min(links, 4)))
                cap = draw.choice([np.inf, draw.random(), 1.0])
                share = draw.choice([1.0, 1.0, 3.0])
                running_flows[flow] = (route, cap, share)
                start(state, flow, now, np.array(route), weights, share, cap, 1e6)
        settle(state, now)
        yield capacity, weights, state, running_flows


@settings(max_examples=cases(30), deadline=None)
@given(st.integers(0, 10**9))
def test_each_flow_is_at_its_cap_or_has_a_full_link_on_which_none_is_faster(seed):
    for capacity, weights, state, flows in random_run(seed):
        load, fastest = np.zeros(len(capacity)), np.zeros(len(capacity))
        for flow, (route, _, share) in flows.items():
            level = state.flow.rate[flow]
            load[route] += level * share * weights[: len(route)]
            fastest[route] = np.maximum(fastest[route], level)
        assert (load <= capacity * (1 + 1e-12)).all()
        for flow, (route, cap, share) in flows.items():
            level = state.flow.rate[flow]
            full = [load[i] >= capacity[i] * (1 - 1e-12) for i in route]
            assert level * share >= cap * (1 - 1e-12) or any(
                full[k] and level >= fastest[i] * (1 - 1e-12) for k, i in enumerate(route)
            )


@settings(max_examples=cases(20), deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 9))
def test_a_network_of_k_times_the_capacity_is_k_times_as_fast(seed, k):
    capacity, routes, caps, sizes, _ = random_flows(seed)
    starts = [Fraction(0)] * len(sizes)
    slow = plain.finish_times(capacity, routes, caps, sizes, starts)
    fast = plain.finish_times(
        [k * c for c in capacity], routes, [k * c for c in caps], sizes, starts
    )
    assert [time * k for time in fast] == slow


@settings(max_examples=cases(20), deadline=None)
@given(st.integers(0, 10**9))
def test_a_link_is_never_over_its_capacity_and_all_bytes_arrive(seed):
    capacity, routes, caps, sizes, starts = random_flows(seed)
    ends = plain.finish_times(capacity, routes, caps, sizes, starts)
    for link, most in enumerate(capacity):
        on_it = [flow for flow, route in enumerate(routes) if link in route and sizes[flow]]
        if on_it:
            time = max(ends[flow] for flow in on_it) - min(starts[flow] for flow in on_it)
            assert sum(sizes[flow] for flow in on_it) <= most * time
    for flow, time in enumerate(ends):
        assert time - starts[flow] >= sizes[flow] / min(
            caps[flow], *map(capacity.__getitem__, routes[flow]), caps[flow]
        )


def test_a_ring_of_equal_messages_ends_together(loaded):
    count = 4096
    ranks = np.arange(count)
    routes = np.stack([2 * ranks, 2 * ((ranks + 1) % count) + 1], axis=1)
    ends = compiled.finish_times(
        np.full(2 * count, 3.0), routes, np.inf, np.full(count, 7.0), np.zeros(count)
    )
    assert set(ends.tolist()) == {7.0 / 3.0}
