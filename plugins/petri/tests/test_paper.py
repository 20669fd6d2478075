"""The paper's ring under five ways of sharing: 300 exact ends; loops as the paper draws them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from parcast_petri.paper import Ring, paper_net
from parcast_petri.token_game import play

CASES = json.loads((Path(__file__).parent / "rings.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_ring_ends_when_two_independent_programs_say(case):
    works = [[Fraction(one) for one in works] for works in case["works"]]
    transfer = Fraction(case["bytes"]) / Fraction(case["bandwidth"])
    for forwarding, of_sharing in case["ends"].items():
        ring = Ring(works, Fraction(case["startup"]), transfer, forwarding == "always_forward")
        for sharing, expected in of_sharing.items():
            for servers, (end, last) in zip((None, 1), expected, strict=True):
                ends, arrived = ring.ends(sharing, servers)
                found = (str(max(ends)), str(arrived))
                assert found == (end, last), (forwarding, sharing, servers)


def test_floats_come_near_the_exact_ends():
    ring = Ring([(0.01, 0.5, 0.005, 0.5)] * 4, 0.003, 0.2)
    exact = Ring([tuple(map(Fraction, ring.works[0]))] * 4, Fraction(0.003), Fraction(0.2))
    found, _ = ring.ends("ps_transfer", form="compiled")
    expected, _ = exact.ends("ps_transfer")
    assert found == pytest.approx([float(one) for one in expected], rel=1e-12)


def test_a_loop_is_a_place_of_iterations_and_a_place_that_counts():
    net, _ = paper_net(Ring([(1, 1, 1, 1)] * 5, 1, 1).processes(), "none")
    (enter, *_) = [one for one in net.transitions if one.name.startswith("enter")]
    (leave, *_) = [one for one in net.transitions if one.name.startswith("exit")]
    assert enter.post == {"iterations 0.2": 3}
    assert leave.pre == {"count 0.2": 3, "mutex 0.2": 1}
    assert leave.delay is None
    run = play(net, "exact")
    assert run.fired["T 0.2.0"] == 3
    assert run.fired["exit 0.2"] == 1
