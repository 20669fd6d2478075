"""Processes of unequal speed and shared processors, held to the simulation of whole runs."""

from __future__ import annotations

from typing import Any

import pytest

import parcast_spmd
from parcast import Registry, Status

PHASE = {"cycles": 300, "bursts": 2, "parallel": 24.0, "messages": 1, "bytes": 1.0}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry([parcast_spmd])


def machine(layout: str = "bus", **nodes: Any) -> dict[str, Any]:
    return {
        "name": "m",
        "processor": {"rate": 1.0},
        "nodes": nodes,
        "network": {"startup": 0.1, "bandwidth": 4.0, "contention": "bus"},
        "storage": {"layout": layout, "bandwidth": 4.0, "startup": 0.2},
    }


FAST = {"groups": [{"count": 3, "weight": 2.0}, {"count": 5, "weight": 0.8}]}
SHARED = {"count": 4, "oversubscribe": True}


@pytest.mark.parametrize("layout", ["bus", "cluster"])
@pytest.mark.parametrize("nodes", [FAST, SHARED], ids=["unequal", "shared"])
def test_exact_networks_are_near_the_simulation_of_whole_runs(
    registry: Registry, layout: str, nodes: dict[str, Any]
) -> None:
    phase = {**PHASE, "io": "async", "io_bytes": 8.0}
    asked = {"p": 8, "d": 2 if layout == "cluster" else 1}
    given = machine(layout, **nodes)
    found = registry.predict({"phase": [phase]}, given, "spmd", **asked)
    played = registry.predict({"phase": [phase]}, given, "spmd.sim", **asked)
    assert played.status is Status.OK
    # steady state leaves out the wait for the last of equal processes at the end
    assert 0.9 < found.time / played.time < 1.01
    for name in ("compute", "communication", "io"):
        assert getattr(found.parts, name) == pytest.approx(getattr(played.parts, name), rel=0.06)
    assert any("end at different times" in note for note in found.notes)


def test_equal_weights_are_equal_processes(registry: Registry) -> None:
    phase = {**PHASE, "io": "async", "io_bytes": 8.0}
    same = {"groups": [{"count": 4, "weight": 2.0}, {"count": 4, "weight": 2.0000001}]}
    twice = {**machine(), "processor": {"rate": 2.0}}
    found = registry.predict({"phase": [phase]}, machine(**same), "spmd.bus", p=8)
    equal = registry.predict({"phase": [phase]}, twice, "spmd.bus", p=8)
    assert found.time == pytest.approx(equal.time, rel=1e-6)


def test_the_slowest_sets_the_pace_where_nothing_is_shared(registry: Registry) -> None:
    phase = {"cycles": 10, "parallel": 24.0, "distribution": "constant"}
    for io in ("sync", "async"):
        given = {"phase": [{**phase, "io": io}]}
        found = registry.predict(given, machine(**FAST), "spmd", p=8)
        assert found.time == pytest.approx(10 * 3.0 / 0.8, rel=1e-9)
        assert found.parts.compute == pytest.approx(10 * (3 * 1.5 + 5 * 3.75) / 8, rel=1e-9)


def test_synchronous_phases_of_unequal_processes_are_played(registry: Registry) -> None:
    given = {"phase": [{**PHASE, "distribution": "erlang:3,1"}]}
    found = registry.predict(given, machine(**FAST), "spmd", p=8)
    played = registry.predict(given, machine(**FAST), "spmd.sim", p=8)
    assert found.details["phases"][0]["method"] == "fixed-cycles"
    assert found.ci[0] <= played.ci[1]
    assert played.ci[0] <= found.ci[1]


def test_shared_processors_take_turns(registry: Registry) -> None:
    given = {"phase": [{"parallel": 24.0, "distribution": "constant"}]}
    found = registry.predict(given, machine(**SHARED), "spmd", p=8)
    assert found.time == pytest.approx(6.0, rel=1e-9)  # two of 3 s on each node
    assert found.parts.compute == pytest.approx(4.5, rel=1e-9)
    assert found.parts.synchronization == pytest.approx(1.5, rel=1e-9)


@pytest.mark.parametrize(
    ("phase", "nodes", "settings", "reason"),
    [
        ({}, FAST, {"spmd.sio.method": "eq16"}, "takes equal processes with a processor each"),
        ({}, FAST, {"spmd.sio.method": "ctmc"}, "takes equal processes with a processor each"),
        ({"io": "async", "group": 2}, FAST, {}, "groups of c=2 among processes of unequal speed"),
        ({"group": 2}, SHARED, {}, "only on cores of their own"),
        (
            {"io": "async"},
            {"count": 2, "cores": 2, "oversubscribe": True},
            {},
            "nodes of 2 cores, which is no product-form queue here; use spmd.sim",
        ),
    ],
)
def test_what_has_no_network_is_refused(
    registry: Registry, phase: dict[str, Any], nodes: dict[str, Any], settings: Any, reason: str
) -> None:
    workload = {"phase": [{**PHASE, **phase}]}
    (row,) = registry.compare(
        workload, machine(**nodes), p=8, d=1, solvers="spmd", settings=settings
    ).rows
    assert row.status is Status.REFUSED
    assert reason in row.message


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"spmd.sim.bursts": "geometric"}, "use spmd.sim.bursts=fixed"),
        ({"spmd.sim.span": "steady"}, "use spmd.sim.span=whole"),
    ],
)
def test_the_paper_s_models_of_unequal_processes_are_refused(
    registry: Registry, settings: Any, reason: str
) -> None:
    workload = {"phase": [{**PHASE, "io": "async"}]}
    (row,) = registry.compare(
        workload, machine(**FAST), p=8, d=1, solvers="spmd.sim", settings=settings
    ).rows
    assert row.status is Status.REFUSED
    assert reason in row.message
