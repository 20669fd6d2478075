"""Tasks for whoever is free, where the cost table has no word: shared media and loaded nodes."""

import pytest

import parcast_petri
from parcast import Registry
from parcast.program.reader import read_source
from parcast_petri.programs.dealing import NOTE
from parcast_petri.solvers import preparation

REGISTRY = Registry([parcast_petri])
MACHINE = {
    "name": "m",
    "processor": {"rate": 1},
    "network": {"startup": 1, "bandwidth": 1, "contention": "bus"},
    "nodes": {"count": 3},
}
FARM = '''"""Tasks of 10 s, 4 bytes each."""
def program(rank, size, tasks=3):
    for task in pool(range(tasks), bytes=4):
        compute(10)
'''


SHORT = FARM.replace("compute(10)", "compute(2 + 5 * (task % 3) + 3 * (task % 2))")
UNEVEN = 40

TOGETHER = '''"""Ranks 1 and 2 come to the pool at one time."""
def program(rank, size, tasks=1):
    if rank == 1:
        recv(3)
    if rank == 2:
        elapse(4)
    if rank == 3:
        send(1, 4)
    if 0 < rank < 3:
        for task in pool(range(tasks)):
            elapse(10)
'''


def solved(machine, tasks, p=2, sharing="ps_transfer", source=FARM):
    settings = {"tasks": tasks, "petri.mean.sharing": sharing}
    program = read_source(source, "farm.py", "farm")
    asked = {"p": p, "solvers": "petri.mean", "settings": settings, "elasticities": False}
    (row,) = REGISTRY.compare(program, machine, **asked).rows
    return row


@pytest.mark.parametrize(
    ("sharing", "ends"),
    [
        ("ps_transfer", [18, 22, 22]),  # asked at 1, 8 bytes of two at 2-10, work -20, no more -22
        ("fcfs", [18, 18, 22]),  # bytes at 1-5 and 5-9, arrived at 6 and 10
        ("fixed_sequential", [18, 18, 22]),  # the second finds two messages
        ("fixed_batch", [18, 22, 22]),  # both do
        ("none", [18, 18, 18]),  # what rank 0 takes passes no network
    ],
)
def test_answers_share_the_bus_as_messages_do(sharing, ends):
    row = solved(MACHINE, tasks=3, p=3, sharing=sharing)
    assert row.details["ends"] == ends
    assert row.parts.compute == 10


def test_a_loaded_node_takes_fewer_tasks():
    quick = {**MACHINE, "network": {**MACHINE["network"], "startup": 0, "contention": "none"}}
    loaded = {**quick, "background": {"nodes": [0.75, 0, 0], "demand": "exp:1s"}}
    row = solved(loaded, tasks=5)  # of 4 + 40 s on node 0, of 4 + 10 s on node 1
    assert row.details["ends"] == [44, 56]
    assert row.parts.compute == (40 + 4 * 10) / 2


def test_of_those_who_ask_at_one_time_the_lowest_rank_is_first():
    quick = {**MACHINE, "network": {**MACHINE["network"], "startup": 0}, "nodes": {"count": 4}}
    row = solved(quick, tasks=1, p=4, sharing="fcfs", source=TOGETHER)
    assert row.details["ends"] == [0, 14, 4, 0]


def test_too_many_tasks_for_a_net_are_refused():
    assert "1,000,002 operations" in solved(MACHINE, tasks=500_000).message


@pytest.mark.parametrize(
    ("contention", "sharing"), [("none", "fcfs"), ("endpoint", "fcfs"), ("fair", "max_min")]
)
def test_large_pools_are_dealt_before_the_net_is_built(contention, sharing, monkeypatch):
    """Who takes which task is the same, and it takes some transitions a task, of one process."""
    network = {"startup": 0.25, "bandwidth": 2, "contention": contention}
    machine = {**MACHINE, "network": network, "nodes": {"count": 8}}
    of_net = solved(machine, tasks=40, p=8, sharing=sharing)
    monkeypatch.setattr(preparation, "FEW_OPERATIONS", 0)
    dealt = solved(machine, tasks=40, p=8, sharing=sharing)
    assert of_net.time, of_net.message
    assert dealt.details["ends"] == pytest.approx(of_net.details["ends"], rel=1e-13)
    assert dealt.parts.values() == pytest.approx(of_net.parts.values(), rel=1e-13)
    assert not dealt.notes
    assert dealt.details["transitions"] < 8 * 40 + 8 * 16 < of_net.details["transitions"] / 4


def test_a_dealing_that_the_net_does_not_confirm_is_noted(monkeypatch):
    """Messages that share the bus come at other times than those of the plain run."""
    monkeypatch.setattr(preparation, "FEW_OPERATIONS", 0)
    of_net = solved(MACHINE, tasks=UNEVEN, p=3, source=SHORT)
    assert not of_net.notes  # the net that decides it itself is small enough
    monkeypatch.setattr(preparation, "MOST_OPERATIONS", 2 * UNEVEN + 10)
    dealt = solved(MACHINE, tasks=UNEVEN, p=3, source=SHORT)
    assert dealt.notes == (NOTE,)
    assert dealt.time == pytest.approx(of_net.time, rel=0.1)
