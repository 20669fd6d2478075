"""Memory traffic takes as long in phases, in programs and in both lowerings between them."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from parcast import Registry, Status
from parcast.testing import cases, seeds

REGISTRY = Registry()


def _case(drawn: random.Random) -> tuple[dict[str, Any], dict[str, Any], int]:
    nodes: dict[str, Any] = {"cores": drawn.choice([1, 2, 3, 4])}
    if drawn.random() < 0.8:
        nodes["memory_bandwidth"] = drawn.choice([1, 2.5, 40])
    if drawn.random() < 0.5:
        nodes["core_bandwidth"] = drawn.choice([1, 3, 20])
    if drawn.random() < 0.3:
        nodes["groups"] = [{"count": 8, "weight": drawn.choice([0.5, 1, 2])}]
        nodes["count"] = 16
    phase = {
        "cycles": drawn.randint(1, 5),
        "bursts": drawn.randint(1, 4),
        "parallel": drawn.choice(["0", "7", "60", "n*p"]),
        "serial": drawn.choice([0, 3]),
        "memory_bytes": drawn.choice(["0", "5", "90", "n*p", "n**2"]),
        "distribution": "constant",
    }
    workload = {"name": "w", "parameters": {"n": drawn.randint(1, 9)}, "phase": [phase]}
    machine = {"name": "m", "processor": {"rate": drawn.choice([1, 4])}, "nodes": nodes}
    return workload, machine, drawn.randint(1, 12)


def _time(workload: dict[str, Any], machine: dict[str, Any], p: int) -> Fraction:
    """Return the time of the slowest process, by the table of costs in exact numbers."""
    (phase,), n = workload["phase"], workload["parameters"]["n"]
    at = {"n": Fraction(n), "p": Fraction(p)}
    work = eval(phase["parallel"], {}, at) / p + phase["serial"]
    moved = eval(phase["memory_bytes"], {}, at) / Fraction(p)
    nodes, slowest = machine["nodes"], Fraction(0)
    for rank in range(p):
        node = rank // nodes["cores"]
        sharing = min(p - node * nodes["cores"], nodes["cores"])
        (group,) = nodes.get("groups", [{"count": 0, "weight": 1}])
        weight = Fraction(group["weight"]) if node < group["count"] else 1
        seconds = Fraction(work) / machine["processor"]["rate"] / weight
        if "memory_bandwidth" in nodes:
            seconds = max(seconds, moved * sharing / Fraction(nodes["memory_bandwidth"]))
        if "core_bandwidth" in nodes:
            seconds = max(seconds, moved / Fraction(nodes["core_bandwidth"]))
        slowest = max(slowest, seconds)
    return slowest * phase["cycles"] * phase["bursts"]


@pytest.mark.parametrize("seed", seeds(cases(25)))
def test_phases_with_memory_take_what_their_program_takes(seed: int) -> None:
    workload, machine, p = _case(random.Random(seed))
    exact = float(_time(workload, machine, p))
    results = REGISTRY.compare(
        workload, machine, p=p, solvers="spmd,emulator,perturb", elasticities=False
    )
    assert [row.status for row in results.rows] == [Status.OK] * 3
    assert [row.time for row in results.rows] == [pytest.approx(exact, rel=1e-9)] * 3
    moves = workload["phase"][0]["memory_bytes"] != "0"
    notes = [note for row in results.rows for note in row.notes if "_bandwidth" in note]
    nodes = machine["nodes"]
    if "core_bandwidth" in nodes:
        text, is_noted = "states no nodes.memory_bandwidth: each", nodes["cores"] > 1 and p > 1
    else:
        text, is_noted = "memory limits nothing", True
    if moves:
        assert len(notes) == (3 if is_noted and "memory_bandwidth" not in nodes else 0)
        assert all(text in note for note in notes)


def test_phases_that_state_no_traffic_say_so_where_the_machine_has_a_limit() -> None:
    workload: dict[str, Any] = {"name": "w", "phase": [{"parallel": 8}]}
    machine = {"name": "m", "processor": {"rate": 1}, "nodes": {"memory_bandwidth": 1}}
    note = "the workload states no memory_bytes, so the machine's nodes.memory_bandwidth limits"
    (row,) = REGISTRY.compare(workload, machine, p=2, solvers="spmd").rows
    assert any(one.startswith(note) for one in row.notes)
    workload["phase"][0]["memory_bytes"] = 1
    (row,) = REGISTRY.compare(workload, machine, p=2, solvers="spmd").rows
    assert not any("memory" in one for one in row.notes)


def test_memory_is_taken_by_processes_with_cores_of_their_own_only() -> None:
    nodes = {"count": 1, "oversubscribe": True, "memory_bandwidth": 1}
    machine = {"name": "m", "processor": {"rate": 1}, "nodes": nodes}
    workload = {"name": "w", "phase": [{"parallel": 8, "memory_bytes": 9}]}
    (row,) = REGISTRY.compare(workload, machine, p=2, solvers="spmd").rows
    assert row.status is Status.REFUSED
    assert "memory_bytes only on cores of their own" in row.message
