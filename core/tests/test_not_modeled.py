"""What a machine states and a solver does not obey is noted, whatever the solver is."""

from __future__ import annotations

import attrs
import pytest

from parcast import Registry
from parcast.comparison.not_modeled import FEATURES
from parcast.plugins.entries import COST_FEATURES

MEMORY = "the machine's nodes.memory_bandwidth (the memory that processes of a node share) is not"
EAGER = "the machine's network.eager_limit (messages that wait for their receives) is not"


@pytest.mark.parametrize(
    ("phase", "p", "notes"),
    [
        ({"parallel": 1, "memory_bytes": 1}, 1, [MEMORY]),
        ({"parallel": 1, "memory_bytes": 1, "messages": 1}, 2, [EAGER, MEMORY]),
        ({"parallel": 1}, 2, ["the workload states no memory_bytes, so the machine's nodes.mem"]),
        ({"io_bytes": 1}, 2, []),
    ],
)
def test_a_third_party_gets_its_notes_by_the_same_mechanism(make_registry, phase, p, notes):
    machine = {
        "name": "m", "processor": {"rate": 1}, "nodes": {"memory_bandwidth": 1},
        "network": {"startup": 1, "bandwidth": 1, "eager_limit": 1},
    }  # fmt: skip
    registry: Registry = make_registry("works")
    asked = {"name": "w", "phase": [phase]}
    found = registry.predict(asked, machine, "works", p=p).notes
    found = [one for one in found if one != "worked"]
    assert len(found) == len(notes)
    assert all(one.startswith(note) for one, note in zip(sorted(found), sorted(notes), strict=True))
    entry = attrs.evolve(registry.solvers["works.one"], follows=COST_FEATURES)
    registry.solvers["works.one"] = entry
    found = registry.predict(asked, machine, "works", p=p).notes
    assert not any("is not modeled" in one for one in found)


@pytest.mark.parametrize(
    ("phase", "nodes", "told"),
    [
        ({"parallel": 1, "memory_bytes": 1}, {}, True),
        ({"parallel": 1, "memory_bytes": 1}, {"core_bandwidth": 1}, False),
        ({"parallel": 1, "memory_bytes": 1}, {"memory_bandwidth": 1}, False),
        ({"parallel": 1}, {}, False),
    ],
)
def test_memory_that_the_machine_does_not_state_limits_nothing_and_rows_say_so(
    make_registry, phase, nodes, told
):
    machine = {"name": "m", "processor": {"rate": 1}, "nodes": nodes}
    registry: Registry = make_registry("works")
    notes = registry.predict({"name": "w", "phase": [phase]}, machine, "works", p=1).notes
    assert any("memory limits nothing" in note for note in notes) is told


@pytest.mark.parametrize(("p", "cores", "told"), [(2, 2, True), (1, 2, False), (2, 1, False)])
def test_memory_that_is_stated_of_a_core_alone_is_not_shared_and_rows_say_so(
    make_registry, p, cores, told
):
    nodes = {"cores": cores, "core_bandwidth": 1}
    machine = {"name": "m", "processor": {"rate": 1}, "nodes": nodes}
    work = {"name": "w", "phase": [{"parallel": 1, "memory_bytes": 1}]}
    notes = make_registry("works").predict(work, machine, "works", p=p).notes
    assert any("states no nodes.memory_bandwidth: each" in note for note in notes) is told


@pytest.mark.parametrize(("on", "told"), [("", True), (', on="gpu"', False)])
def test_the_memory_of_accelerators_is_their_own(make_registry, tmp_path, on, told):
    path = tmp_path / "w.py"
    path.write_text(f"def program(rank, size):\n    compute(1, bytes=8{on})\n")
    machine = {
        "name": "m", "processor": {"rate": 1},
        "accelerator": {
            "name": "a", "per_node": 1, "memory": 1, "memory_bandwidth": 1, "rates": {"fp64": 1},
        },
    }  # fmt: skip
    rows = make_registry("works").compare(path, machine, p=1).rows
    assert any("memory limits nothing" in note for row in rows for note in row.notes) is told


def test_what_solvers_may_follow_is_listed_once():
    assert set(COST_FEATURES) <= {one.name for one in FEATURES}
