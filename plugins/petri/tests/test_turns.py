"""Turns on a core, and memory shared anew: independent plain simulations, and hand-made cases."""

from __future__ import annotations

from collections import deque
from fractions import Fraction

import pytest

import parcast_petri
from parcast import Registry
from parcast.errors import ParcastError
from parcast.program.reader import read_source
from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.machine.turns import Turns
from parcast_petri.slowdown import Slowdown

REGISTRY = Registry([parcast_petri])


def in_turns(demand, quantum, switch, every, job, others=0):
    """Return when a process ends beside jobs that come at even times, turn by turn."""
    line = deque([*[("other", None)] * others, ("process", demand)])  # others were there before
    now, coming = Fraction(0), every
    while True:
        if not line:
            now, coming = coming, coming + every
            line.append(("job", job))
        who, left = line.popleft()
        work = quantum if left is None else min(left, quantum)
        now += switch + work
        while coming < now:  # who comes meanwhile stands before who goes on
            line.append(("job", job))
            coming += every
        if left is not None and left == work:
            if who == "process":
                return now
        else:
            line.append((who, None if left is None else left - work))
        if coming == now:
            line.append(("job", job))
            coming += every


def ended(demand, turns, every, job, own=1) -> float:
    load = Load(1, job / every, (Law("const", (job,)),), (1.0,), Law("const", (1.0,)), "rr", turns)
    return float(Slowdown(load=load, demand=demand, own=own, begin="idle", runs=10)._runs().max())


@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("switch", [0, 1 / 64])
@pytest.mark.parametrize("quantum", [1 / 4, 25 / 64, 8])
def test_a_process_ends_when_a_plain_simulation_says(quantum, switch, others):
    every, job, demand = 2.03125, 0.78125, 5.015625
    found = ended(demand, Turns(quantum, switch), every, job, own=1 + others)
    exact = in_turns(*map(Fraction, (demand, quantum, switch, every, job)), others)
    assert found == pytest.approx(float(exact), rel=1e-12)


def test_short_turns_are_equal_shares():
    every, job = 2.03125, 0.78125
    ps = Load(1, job / every, (Law("const", (job,)),), (1.0,), Law("const", (1.0,)))
    shared = float(Slowdown(load=ps, demand=5.0, begin="idle", runs=10)._runs().max())
    apart = [abs(ended(5.0, Turns(q), every, job) - shared) for q in (0.5, 0.05, 0.005)]
    assert apart[2] < 0.02
    assert apart[2] < apart[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rr", "is not a number"),
        ("rr:0s", "quantum must be above 0"),
        ("rr:1ms,-1ms", "switch 0 or more"),
        ("rr:1,2,3", "must be ps, priority or rr:QUANTUM"),
        ("fair", "must be ps, priority or rr:QUANTUM"),
    ],
)
def test_turns_without_a_meaning_are_refused(text, message):
    with pytest.raises(ParcastError, match=message):
        Turns.read(text)


MEMORY = """def program(rank, size):
    if rank == 0:
        compute(4, bytes=16)
    if rank == 1:
        elapse(1)
        compute(1, bytes=8)
    if rank == 2:
        compute(8)
"""


@pytest.mark.parametrize(
    ("memory", "ends"),
    [
        # alone the bytes take 4 s and 2 s. They move alone till 1, and from then at half speed:
        # those of rank 1 till 5, where rank 0 has 1 s left
        ("ps", [6, 5, 8]),
        ("fixed", [12, 7, 8]),  # as if all three moved bytes at all times
    ],
)
def test_memory_is_shared_among_those_who_move_bytes(memory, ends):
    machine = {
        "name": "m",
        "processor": {"rate": 1},
        "nodes": {"count": 1, "cores": 3, "memory_bandwidth": 4},
    }
    asked = {"p": 3, "solvers": "petri.mean", "settings": {"petri.memory": memory}}
    (row,) = REGISTRY.compare(read_source(MEMORY, "m.py", "m"), machine, **asked).rows
    assert row.details["ends"] == ends
    assert any("petri.memory=ps" in note for note in row.notes) == (memory == "ps")
    del asked["settings"]  # the default is the table of costs
    (row,) = REGISTRY.compare(read_source(MEMORY, "m.py", "m"), machine, **asked).rows
    assert row.details["ends"] == [12, 7, 8]


def test_a_loaded_node_shares_its_memory_too():
    machine = {
        "name": "m",
        "processor": {"rate": 1},
        "nodes": {"count": 1, "cores": 3, "memory_bandwidth": 4},
        "background": {"utilization": 0.01, "demand": "const:1ms"},
    }
    asked = {"p": 3, "solvers": ["petri.mean", "petri.sampled", "petri.explicit"]}
    asked["settings"] = {"petri.memory": "ps"}
    rows = REGISTRY.compare(read_source(MEMORY, "m.py", "m"), machine, **asked).rows
    for row in (rows[0], rows[2]):
        assert row.time == pytest.approx(8, rel=0.02)
    assert "cores" in rows[1].message
