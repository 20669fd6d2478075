"""The paper's ring under five ways of sharing: 300 exact ends; loops as the paper draws them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from paper_ring import Ring
from petri_nets import play

import parcast_petri
from parcast import Registry
from parcast.program.reader import read_source
from parcast.testing import turn
from parcast_petri.programs.paper import paper_net

CASES = json.loads((Path(__file__).parent / "rings.json").read_text())


@pytest.mark.parametrize("case", turn(CASES, 2), ids=lambda case: case["name"])
def test_the_ring_ends_when_two_independent_programs_say(case):
    works = [[Fraction(one) for one in works] for works in case["works"]]
    transfer = Fraction(case["bytes"]) / Fraction(case["bandwidth"])
    for forwarding, of_sharing in case["ends"].items():
        ring = Ring(works, Fraction(case["startup"]), transfer, forwarding == "always_forward")
        for sharing, expected in of_sharing.items():
            for servers, (end, last) in zip((None, 1), expected, strict=True):
                ends, run = ring.run(sharing, servers)
                found = (str(max(ends)), str(run.time))
                assert found == (end, last), (forwarding, sharing, servers)
                assert run.firings == case["firings"][forwarding][sharing]


def test_floats_come_near_the_exact_ends():
    ring = Ring([(0.01, 0.5, 0.005, 0.5)] * 4, 0.003, 0.2)
    exact = Ring([tuple(map(Fraction, ring.works[0]))] * 4, Fraction(0.003), Fraction(0.2))
    found, _ = ring.ends("ps_transfer", form="compiled")
    expected, _ = exact.ends("ps_transfer")
    assert found == pytest.approx([float(one) for one in expected], rel=1e-12)


def test_a_loop_is_a_place_of_iterations_and_a_place_that_counts():
    net, _ = paper_net(Ring([(1, 1, 1, 1)] * 5, 1, 1).processes(), "none")
    (enter, *_) = [one for one in net.transitions if one.name == "T 0.1"]
    (leave, *_) = [one for one in net.transitions if one.name.startswith("exit")]
    assert enter.post == {"start 0.2": 4}
    assert leave.pre == {"count 0.2": 4, "mutex 0.2": 1}
    assert leave.delay is None
    run = play(net, "exact")
    assert run.fired["T 0.2.0"] == 4
    assert (run.fired["send 0.2.0"], run.fired["pass 0.2.0"]) == (3, 1)
    assert run.fired["exit 0.2"] == 1


PROGRAM = """
def program(rank, size, first=0.25, relay=0.125):
    speed = 1 + rank % 3
    elapse(first * speed)
    send((rank + 1) % size, 64)
    elapse(speed)
    for step in range(size - 1):
        recv((rank - 1) % size)
        elapse(relay * speed)
        if step < size - 2:
            send((rank + 1) % size, 64)
        elapse(speed)
"""


@pytest.mark.parametrize(
    "sharing", ["none", "fixed_batch", "fixed_sequential", "ps_all", "ps_transfer"]
)
@pytest.mark.parametrize("p", [2, 5, 8])
def test_nets_of_programs_share_the_medium_as_the_paper_does(sharing, p):
    registry = Registry([parcast_petri])
    network = {"startup": 0.0625, "bandwidth": 128, "contention": "bus"}
    machine = {"name": "bus", "processor": {"rate": 1}, "network": network}
    asked = {"p": p, "solvers": "petri.mean", "settings": {"petri.sharing": sharing}}
    (row,) = registry.compare(read_source(PROGRAM, "r.py", "r"), machine, **asked).rows
    speeds = [1 + rank % 3 for rank in range(p)]
    works = [(Fraction(s, 4), Fraction(s), Fraction(s, 8), Fraction(s)) for s in speeds]
    ends, _ = Ring(works, Fraction(1, 16), Fraction(1, 2)).ends(sharing)
    assert row.details["ends"] == pytest.approx([float(end) for end in ends], rel=1e-12)


def test_ports_share_equally_at_the_busier_end():
    registry = Registry([parcast_petri])
    network = {"startup": 1, "bandwidth": 8, "contention": "endpoint"}
    machine = {"name": "ports", "processor": {"rate": 1}, "network": network}
    text = """
def program(rank, size):
    if rank < 2:
        send(2, 8 * (1 + rank))
    if rank == 2:
        recv(0)
        recv(1)
"""
    (row,) = registry.compare(
        read_source(text, "ports.py", "ports"), machine, p=3, solvers="petri.mean"
    ).rows
    # both drain at half speed from 1 to 3, and the longer one alone for its other second
    assert row.details["ends"] == [0, 0, 4]
    asked = {"p": 3, "solvers": "petri.mean", "settings": {"petri.sharing": "fixed_batch"}}
    (row,) = registry.compare(read_source(text, "ports.py", "ports"), machine, **asked).rows
    assert "set petri.sharing to ps_transfer" in row.message
