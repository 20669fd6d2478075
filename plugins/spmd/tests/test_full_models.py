"""The three models end to end: files in, predictions out, against exact reference cases.

``full_models.json`` holds values of 20 digits computed in arbitrary precision; its networks
follow the paper, with population P = p / c and nothing sent at p = 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import parcast
import parcast_spmd
from parcast import Registry, Status

CASES = json.loads((Path(__file__).parent / "full_models.json").read_text())
SOLVERS = {"SIO": "spmd.sio", "BUS-AIO": "spmd.bus", "CLU-AIO": "spmd.clu"}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry([parcast_spmd])


def workload(case: dict[str, Any], **changes: object) -> dict[str, Any]:
    parameters = case["parameters"]
    phase = {
        "bursts": float(case["n_io"]),
        "parallel": float(parameters["S_cpu_par"]),
        "serial": float(parameters["S_cpu_ser"]),
        "messages": 1,
        "bytes": float(case["g_p"]),
        "group": case["c"],
        "io": "sync" if case["model"] == "SIO" else "async",
        "io_bytes": float(parameters["S_io_R"]),
        **changes,
    }
    return {"phase": [phase]}


def machine(case: dict[str, Any]) -> dict[str, Any]:
    parameters = case["parameters"]
    return {
        "processor": {"rate": 1},
        "network": {
            "startup": float(parameters["S_com_0"]),
            "bandwidth": 1 / float(parameters["S_com_R"]),
            "contention_level": float(parameters["w"]),
        },
        "storage": {
            "layout": "cluster" if case["model"] == "CLU-AIO" else "bus",
            "startup": float(parameters["S_io_0"]),
            "bandwidth": 1,
        },
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_full_model_equals_its_reference(registry: Registry, case: dict[str, Any]) -> None:
    asked = {"p": case["p"], "d": case["d"]}
    row = registry.compare(
        workload(case), machine(case), solvers="spmd", **asked, elasticities=False
    ).rows[0]
    reference = {key: float(value) for key, value in case["reference"].items()}
    assert row.status is Status.OK, row.message
    assert row.solver == SOLVERS[case["model"]]
    assert row.parts is not None
    (details,) = row.details["phases"]
    assert row.time == pytest.approx(reference["T_cycle"], rel=1e-9)
    assert row.speedup == pytest.approx(reference["speedup"], rel=1e-9)
    assert row.parts.io == pytest.approx(reference["T_io"], rel=1e-9)
    assert row.time - row.parts.io == pytest.approx(reference["T_cpu_plus_com"], rel=1e-9)
    assert details["delay"] == pytest.approx(reference["z"], rel=1e-12)
    assert details["network_service"] == pytest.approx(reference["x_com_queue"], rel=1e-12)
    assert details["io_service"] == pytest.approx(reference["io_service"], rel=1e-12)
    assert details["groups"] == reference["P"]
    assert max(details["utilization"].values()) <= 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_many_at_once_equal_one_by_one(registry: Registry, case: dict[str, Any]) -> None:
    work, mach = workload(case), machine(case)
    step = case["c"] * case["d"]
    several = registry.compare(
        work, mach, p=[step, 2 * step, 4 * step], d=case["d"], elasticities=False
    )
    for row in several.rows:
        alone = registry.predict(work, mach, row.solver, p=row.p, d=row.d)
        assert alone.time == row.time
        assert alone.parts == row.parts


def test_one_disk_in_one_cluster_is_the_shared_bus(registry: Registry) -> None:
    case = next(case for case in CASES if case["id"] == "F11")
    clustered = machine(case)
    shared = {**clustered, "storage": {**clustered["storage"], "layout": "bus"}}
    for p in (1, 2, 7, 64):
        times = [
            registry.predict(workload(case), one, "spmd", p=p, d=1).time
            for one in (clustered, shared)
        ]
        assert times[0] == pytest.approx(times[1], rel=1e-11)


def test_a_phase_is_repeated_and_phases_add_up(registry: Registry) -> None:
    case = CASES[0]
    one = workload(case)["phase"][0]
    twice = {"phase": [one, {**one, "cycles": 3}]}
    single = registry.predict({"phase": [one]}, machine(case), "spmd", p=4, d=3)
    both = registry.predict(twice, machine(case), "spmd", p=4, d=3)
    assert single.time is not None
    assert both.time == pytest.approx(4 * single.time, rel=1e-12)


def test_phases_of_several_kinds_go_each_to_its_model(registry: Registry) -> None:
    case = next(case for case in CASES if case["id"] == "F11")
    one = workload(case)["phase"][0]
    mixed = {"phase": [one, {**one, "io": "sync"}]}
    row = registry.compare(mixed, machine(case), p=64, d=1, elasticities=False).rows[0]
    assert row.solver == "spmd.mixed"
    assert [phase["model"] for phase in row.details["phases"]] == ["clu", "sio"]


def test_a_solver_named_for_another_model_says_what_it_takes(registry: Registry) -> None:
    row = registry.compare(workload(CASES[0]), machine(CASES[0]), p=4, solvers="spmd.bus").rows[0]
    assert row.status is Status.REFUSED
    assert row.message == (
        "takes phases with asynchronous I/O and storage.layout 'bus'; this one has synchronous I/O"
    )


def test_an_open_contention_level_is_answered_with_its_range(registry: Registry) -> None:
    case = next(case for case in CASES if case["id"] == "F02")
    work, mach = workload(case), machine(case)
    times = []
    for level in (0.5, 0.0, 1.0):
        mach["network"]["contention_level"] = level
        times.append(registry.predict(work, mach, "spmd", p=64, d=4).time)
    del mach["network"]["contention_level"]
    row = registry.compare(work, mach, p=64, d=4, elasticities=False).rows[0]
    assert [row.time, row.lower, row.upper] == times
    assert "the machine states no contention level w" in row.notes[-1]


@pytest.mark.parametrize(
    ("network", "level"),
    [
        ({"contention_level": 0.3, "saturation": 5, "contention": "bus"}, 1.0),
        ({"contention_level": 0.3, "saturation": 5, "contention": "none"}, 0.0),
        ({"contention_level": 0.3, "saturation": 5, "contention": "endpoint"}, 0.3),
        ({"saturation": 5, "bandwidth": 2}, 0.4),
        ({"saturation": 1, "bandwidth": 2}, 1.0),
        ({"contention": "none"}, 0.0),
        ({"contention": "bus"}, 1.0),
    ],
)
def test_the_contention_level_is_the_word_of_all_families_or_what_is_stated(
    registry: Registry, network: dict[str, Any], level: float
) -> None:
    case = CASES[0]
    given, stated = machine(case), machine(case)
    given["network"] = {"startup": 0.1, "bandwidth": 2.0, **network}
    stated["network"] = {"startup": 0.1, "bandwidth": 2.0, "contention_level": level}
    times = [
        registry.predict(workload(case), one, "spmd", p=4, d=3).time for one in (given, stated)
    ]
    assert times[0] == times[1]


def test_each_message_of_a_group_may_pass_the_network(registry: Registry) -> None:
    case = next(case for case in CASES if case["id"] == "F02")
    asked = {"p": 64, "d": 4, "solvers": "spmd"}
    one, each = (
        registry.compare(
            workload(case), machine(case), settings={"spmd.passages": passages}, **asked
        ).rows[0]
        for passages in ("one", "each")
    )
    services = [row.details["phases"][0]["network_service"] for row in (one, each)]
    assert services[1] == pytest.approx(4 * services[0])
    assert each.time > one.time


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"processor": {}}, "states no processor.rate, which a workload with computation needs"),
        ({"network": {"bandwidth": 1}}, "states no network.startup"),
        ({"network": {"startup": 1}}, "states no network.bandwidth"),
        ({"storage": {}}, "states no storage.bandwidth, which a workload with I/O needs"),
        ({"network": {"startup": 1, "contention": "endpoint"}}, "states no network.bandwidth"),
        ({"nodes": {"count": 1, "cores": 3}}, "4 processes on 3 cores"),
        ({"nodes": {"groups": [{"count": 3}]}}, "4 processes on 3 cores"),
    ],
)
def test_what_a_machine_lacks_is_a_reason(
    registry: Registry, changes: dict[str, Any], reason: str
) -> None:
    row = registry.compare(workload(CASES[0]), {**machine(CASES[0]), **changes}, p=4).rows[0]
    assert row.status is Status.REFUSED
    assert reason in row.message


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        ({}, []),
        (
            {"eager_limit": 8},
            ["the machine's network.eager_limit (messages that wait"],
        ),
        (
            {"saturation": 2, "contention": "none"},
            ["network.contention is stated, so network.saturation is not used"],
        ),
        ({"saturation": 2, "contention_level": 1}, []),
    ],
)
def test_words_of_the_network_that_are_not_followed_are_noted(
    registry: Registry, words: dict[str, Any], notes: list[str]
) -> None:
    network = {"startup": 1, "bandwidth": 1, **words}
    asked = registry.machine({"processor": {"rate": 1}, "network": network, "name": "m"})
    chatty = {"name": "w", "phase": [{"parallel": 1, "messages": 1, "distribution": "constant"}]}
    silent = {"name": "w", "phase": [{"parallel": 1, "distribution": "constant"}]}
    found = registry.predict(chatty, asked, "spmd", p=2).notes
    assert len(found) == len(notes)
    assert all(one.startswith(note) for one, note in zip(found, notes, strict=True))
    assert registry.predict(silent, asked, "spmd", p=2).notes == ()


def test_nothing_binds_a_program_that_does_nothing(registry: Registry) -> None:
    (row,) = registry.compare({"name": "idle", "phase": [{}]}, {"processor": {"rate": 1}}, p=2).rows
    assert (row.time, row.binding) == (0, None)


def test_clusters_need_a_p_that_the_disks_divide(registry: Registry) -> None:
    case = next(case for case in CASES if case["id"] == "F13")
    rows = registry.compare(
        workload(case), machine(case), p=[16, 24], d=16, elasticities=False
    ).rows
    assert [row.status for row in rows] == [Status.OK, Status.INVALID]
    assert "d=16 disks do not divide" in rows[1].message
    assert "choose p among the multiples of 16" in rows[1].message


def test_predictions_pickle(registry: Registry) -> None:
    import pickle

    prediction = registry.predict(workload(CASES[0]), machine(CASES[0]), "spmd", p=4, d=3)
    assert pickle.loads(pickle.dumps(prediction)) == prediction
    assert isinstance(prediction, parcast.Prediction)
