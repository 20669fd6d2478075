"""What messages take up on the way back: their acknowledgements, SimGrid's cross traffic."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from parcast import Query, Registry
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.testing import by_sweep, cases, seeds
from parcast_network.sharing.plain import rates

BACK = Fraction(1, 20)
CAPACITY = Fraction(5, 4)


def rates_with_cross_traffic(pairs, nodes):
    """Return fair rates where each flow takes `BACK` of its rate of the links back."""
    uses = [{("out", a): 1, ("in", b): 1, ("in", a): BACK, ("out", b): BACK} for a, b in pairs]
    left = {(way, node): CAPACITY for way in ("out", "in") for node in range(nodes)}
    growing, level = dict(enumerate(uses)), Fraction(0)
    fair = {}
    while growing:
        load = dict.fromkeys(left, Fraction(0))
        for use in growing.values():
            for link, weight in use.items():
                load[link] += weight
        step = min(left[link] / load[link] for link in load if load[link])
        level += step
        for link in left:
            left[link] -= step * load[link]
        for flow, use in list(growing.items()):
            if any(left[link] == 0 for link in use):
                fair[flow] = level
                del growing[flow]
    return fair


def rates_with_acknowledgements(pairs, nodes):
    """Return fair rates of routes whose last two links are those of the way back."""
    routes = {flow: [2 * a, 2 * b + 1, 2 * b, 2 * a + 1] for flow, (a, b) in enumerate(pairs)}
    return rates([CAPACITY] * 2 * nodes, routes, [2 * CAPACITY] * len(pairs), [1, 1, BACK, BACK])


def test_weights_of_links_are_what_goes_back():
    for seed in seeds(cases(100)):
        draw = random.Random(seed)
        nodes = draw.randint(2, 9)
        pairs = [draw.sample(range(nodes), 2) for _ in range(draw.randint(1, 24))]
        assert rates_with_acknowledgements(pairs, nodes) == rates_with_cross_traffic(pairs, nodes)


def test_a_machine_states_it():
    registry = Registry()
    machine = registry.machine(
        {
            "name": "star",
            "processor": {"rate": 1e9},
            "network": {
                "startup": 1e-5,
                "bandwidth": 1.25e9,
                "contention": "fair",
                "acknowledgements": 0.05,
            },
        }
    )
    for body, time in (
        ("sendrecv(rank ^ 1, 1.25e8, rank ^ 1)", 1e-5 + 0.105),
        ("if rank == 0:\n        send(1, 1.25e8)\n    if rank == 1:\n        recv(0)", 1e-5 + 0.1),
    ):
        source = f"def program(rank, size):\n    {body}\n"
        query = Query(workload=read_source(source, "a.py", "a"), machine=machine, p=4)
        outcome = by_sweep(
            matched_program(query).unrolled, Costs.of(query, ("messages",), WHOLE_NETWORK)
        )
        assert max(outcome.ends) == pytest.approx(time, rel=1e-12)
