"""The applications of the paper: where their blocks go, and what is asked of them wrongly."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parcast_emulator
from parcast import Query, Registry
from parcast.errors import FileError
from parcast.testing import cases, check_machine, check_solver, check_workload
from parcast_emulator.emulators.orbits import Orbits
from parcast_emulator.hardware import cluster_of
from parcast_emulator.solvers.lc import LooselyCoupled
from parcast_emulator.solvers.tc import TightlyCoupled

REGISTRY = Registry([parcast_emulator])
UNIT = {
    "name": "unit",
    "network": {"startup": 1e-3, "bandwidth": 1e7},
    "disk": {"bandwidth": 1e7, "overhead": 1e-3},
    "bus": {"bandwidth": 2e7},
}
SMALL = {"titan": {"per_node": 40}, "pathfinder": {"per_node": 40}, "virtual-microscope": {}}
APPLICATIONS = {"titan": 6, "pathfinder": 8, "virtual-microscope": 6}


def query(name, p, machine=UNIT, d=2, seed=0):
    workload = REGISTRY.workload(name)
    return Query(
        workload=workload, machine=REGISTRY.machine(machine), p=p, d=d, parameters=SMALL[name],
        seed=seed,
    )  # fmt: skip


def test_the_solver_conforms():
    queries = [query(name, p) for name, p in APPLICATIONS.items()]
    why = "an application's computation is stated in seconds"
    assert len(check_solver(REGISTRY, "emulator.lc", queries, absolute=why)) == 3


@pytest.mark.parametrize("name", list(REGISTRY.machines))
def test_a_shipped_machine_conforms(name):
    check_machine(REGISTRY, name)


@pytest.mark.parametrize("name", ["titan", "virtual-microscope"])
def test_a_shipped_workload_conforms(name):
    check_workload(REGISTRY, name)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_both_engines_agree_on_an_application(name):
    asked = {"p": APPLICATIONS[name], "settings": dict(SMALL[name])}
    times = set()
    for option in ("engine=feed-forward", "engine=merge", "verify=true"):
        key, value = option.split("=")
        settings = {**asked["settings"], f"emulator.lc.{key}": value}
        (row,) = REGISTRY.compare(
            name, UNIT, p=asked["p"], d=2, solvers="emulator.lc", settings=settings
        ).rows
        assert row.status.value == "ok", row.message
        times.add(row.time)
    assert len(times) == 1


def test_titan_sends_each_block_to_the_cells_that_it_meets():
    asked = query("titan", 6)
    cluster = cluster_of(asked)
    (blocks,) = asked.workload.content.epochs(asked, cluster)
    lists = blocks.consumers.as_lists()
    orbits = asked.workload.content.titan.orbits
    rows, columns = 2, 3
    for block in range(len(blocks.disk)):
        latitude = orbits.latitudes()[block % orbits.rings]
        row = int((latitude + 90) / 180 * rows)
        mine = lists.nodes[lists.start[block] : lists.start[block + 1]]
        assert {one // columns for one in mine} == {row}
        assert len(set(mine)) == len(mine)
    polar = np.diff(lists.start)[:: orbits.rings]
    assert (polar == columns).all()


def test_the_shares_of_cells_are_those_of_the_formula():
    asked = Query(workload=REGISTRY.workload("titan"), machine=REGISTRY.machine(UNIT), p=64, d=1)
    (blocks,) = asked.workload.content.epochs(asked, cluster_of(asked))
    lists = blocks.consumers.as_lists()
    share = np.bincount(lists.nodes, minlength=64) / len(blocks.disk)
    assert share.max() == pytest.approx(
        asked.workload.content.titan.closed_form({"compute": 1, "blocks": 1, "rows": 0}, 64),
        rel=0.02,
    )


def test_pathfinder_reads_on_servers_and_computes_on_clients():
    asked = query("pathfinder", 8)
    cluster = cluster_of(asked)
    (blocks,) = asked.workload.content.epochs(asked, cluster)
    assert set(cluster.node_of[blocks.disk].tolist()) == {0, 1}
    assert set(blocks.consumers.as_lists().nodes.tolist()) == set(range(2, 8))


def test_a_microscope_query_is_a_rectangle_of_one_plane():
    asked = query("virtual-microscope", 1, d=1)
    first, second = asked.workload.content.epochs(asked, cluster_of(asked))
    number = (first.offset / 3e6).astype(int).reshape(-1, 25)
    row, column = number % 2500 // 50, number % 50
    assert len({tuple(one) for one in number // 2500}) >= 1
    assert ((row.max(axis=1) - row.min(axis=1)) == 4).all()
    assert ((column.max(axis=1) - column.min(axis=1)) == 4).all()
    assert len(first.disk) + len(second.disk) == 8 * 25


@pytest.mark.parametrize("name", APPLICATIONS)
def test_operations_are_at_least_those_that_are_known_without_blocks(name):
    asked = query(name, APPLICATIONS[name])
    content, cluster = asked.workload.content, cluster_of(asked)
    every = sum(blocks.operations() for blocks in content.epochs(asked, cluster))
    fewest = content.fewest_operations(asked)
    assert (every / 5 < fewest <= every) if name != "virtual-microscope" else fewest == 0


@pytest.mark.parametrize("name", ["titan", "pathfinder"])
def test_the_cost_of_very_many_blocks_is_told_without_them(name, monkeypatch):
    asked = attrs.evolve(query(name, APPLICATIONS[name]), parameters={"per_node": 100_000})
    blocks = Orbits.blocks
    monkeypatch.setattr(Orbits, "blocks", None)
    assert LooselyCoupled().cost(asked) is None
    assert TightlyCoupled().cost(asked) is None
    monkeypatch.setattr(Orbits, "blocks", blocks)
    few = attrs.evolve(asked, parameters={"per_node": 10})
    assert LooselyCoupled().cost(few) > 0


def test_the_seed_chooses_the_blocks():
    times = {
        REGISTRY.compare("titan", UNIT, p=4, d=1, solvers="emulator.lc", seed=seed,
                         settings={"per_node": 40}).rows[0].time
        for seed in (0, 1)
    }  # fmt: skip
    assert len(times) == 2


def answer(name, machine=UNIT, p=4, **settings):
    (row,) = REGISTRY.compare(
        name, machine, p=p, d=1, solvers="emulator.lc", settings={"per_node": 9, **settings}
    ).rows
    return row.status.value, row.message


def test_what_cannot_be_is_refused_in_one_sentence():
    status, message = answer("pathfinder", p=5)
    assert status == "invalid"
    assert message.startswith("p=5 is no number of groups of an I/O node with 3 clients; choose")
    assert answer("titan", per_node=0)[0] == "invalid"
    status, message = answer("virtual-microscope", epochs=1000)
    assert (status, message) == ("invalid", "1000 epochs of 31 queries leave some empty")
    lacking = {key: value for key, value in UNIT.items() if key != "disk"}
    status, message = answer("titan", lacking)
    assert status == "refused"
    assert message == (
        "machine 'unit' states no disk.bandwidth, which an emulated application needs; state it in "
        "its file, or try a value by --set disk.bandwidth=VALUE"
    )
    turning = UNIT | {"disk": {"bandwidth": 1e7, "revolution": "8 ms"}}
    assert "states no disk.track" in answer("titan", turning)[1]
    arms = UNIT | {"disk": {"bandwidth": 1e7, "seek": "8 ms", "channels": 4}}
    assert "one arm serves one access at a time" in answer("titan", arms)[1]
    crowded = UNIT | {"nodes": {"cores": 3, "count": 2}}
    assert "one process on each node" in answer("titan", crowded)[1]


def test_an_emulator_is_one_application():
    with_none = REGISTRY.workload({"name": "x", "kind": "emulator"})
    status, message = ask(with_none)
    assert status == "invalid"
    assert message.startswith("an emulator describes one application and this one 0; state one")
    data = dict(REGISTRY.workload("titan").data) | {"sources": {}}
    data["titan"] = data["titan"] | {"orbits": data["titan"]["orbits"] | {"rings": 1}}
    with pytest.raises(FileError, match=r"titan.orbits.rings: 1 must be 2 or more"):
        REGISTRY.workload(data)


def ask(workload):
    (row,) = REGISTRY.compare(workload, UNIT, p=4, d=1, solvers="emulator.lc").rows
    return row.status.value, row.message


@pytest.mark.parametrize("nic", [{"duplex": "half"}, {"buffers": 1}])
def test_half_duplex_and_buffers_of_a_machine_are_followed(nic):
    slow = UNIT | {"network": {"startup": 1e-3, "bandwidth": 1e6}}
    asked = {"p": 4, "d": 1, "solvers": "emulator.lc", "settings": {"per_node": 20}}
    (free,) = REGISTRY.compare("titan", slow, **asked).rows
    (row,) = REGISTRY.compare("titan", slow | {"nic": nic}, **asked).rows
    assert row.details["engine"] == "merge"
    assert row.time > free.time


def on_one_node(p, **parts):
    return UNIT | {"nodes": {"count": 1, "cores": p}} | parts


@pytest.mark.parametrize("solver", ["emulator.lc", "emulator.tc"])
@pytest.mark.parametrize("p", [2, 3])
def test_processes_of_one_node_share_its_disks(solver, p):
    """A disk that all share is busy for the sum of their reads, which are equally many here."""
    application = {
        "name": "reads", "kind": "emulator",
        "titan": {
            "blocks": 20 * p, "size": 1e5, "compute": 0,
            "orbits": {"rings": 4, "latitude": 45, "height": 1, "width": 1},
        },
    }  # fmt: skip
    machine = on_one_node(p, bus={"bandwidth": 1e12}, network={"startup": 0.0, "bandwidth": 1e12})
    (row,) = REGISTRY.compare(application, machine, p=p, solvers=solver).rows
    assert row.time == pytest.approx(20 * p * (1e-3 + 1e5 / 1e7), rel=1e-4)
    assert row.lower is None
    assert any(f"each of {p} processes of a node has an equal share" in note for note in row.notes)


@settings(max_examples=cases(20), deadline=None)
@given(
    p=st.integers(2, 6),
    d=st.integers(1, 3),
    startup=st.floats(0, 1e-2),
    overhead=st.floats(0, 1e-2),
    receive=st.floats(0, 1e-2),
)
def test_messages_within_a_node_take_the_times_of_its_own_network(p, d, startup, overhead, receive):
    network = {
        "startup": 9.0, "bandwidth": 9.0, "overhead": overhead, "overhead_receive": receive,
        "local": {"startup": startup, "bandwidth": 5e7},
    }  # fmt: skip
    shared = cluster_of(query("titan", p, on_one_node(p, network=network), d=d))
    apart = cluster_of(query("titan", p, UNIT | {"network": network}, d=d))
    assert shared.hardware.latency == pytest.approx(startup + overhead + receive)
    assert shared.hardware.bandwidth == 5e7
    assert apart.hardware.latency == pytest.approx(9.0 + overhead + receive)
    assert p * shared.hardware.media == pytest.approx(apart.hardware.media)
    assert p * shared.hardware.bus_bandwidth == pytest.approx(apart.hardware.bus_bandwidth)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"nodes": {"count": 2, "cores": 2}}, "one process on each node, or all on one"),
        (
            {"nodes": {"cores": 4}, "disk": {"bandwidth": 1e7, "seek": 1e-3}},
            "4 processes of one node would move the arm of its disks",
        ),
    ],
)
def test_sharing_that_is_not_followed_is_refused(parts, said):
    (row,) = REGISTRY.compare(
        "titan", UNIT | parts, p=4, solvers="emulator.lc", settings=SMALL["titan"]
    ).rows
    assert row.status.value == "refused"
    assert said in row.message


def titan(p, **settings):
    (row,) = REGISTRY.compare(
        "titan", "table3-machine", p=p, solvers="emulator.lc", settings={"per_node": 60} | settings
    ).rows
    return row


def test_between_the_grids_of_the_fit_the_row_says_so_and_the_interval_is_wider():
    fitted, between = titan(64), titan(81)
    assert fitted.ci == pytest.approx((0.913 * fitted.time, 1.087 * fitted.time))
    assert any("fit's largest error, 8.7%" in note for note in fitted.notes)
    assert fitted.lower is None
    (said,) = [note for note in between.notes if "fitted" in note]
    assert "not on grids of 9 rows such as this one of 9 x 9 cells" in said
    assert between.ci[0] < 0.7 * between.time < between.time <= between.ci[1]


@pytest.mark.parametrize(("rows", "least", "most"), [
    (5, 4, 6), (7, 6, 8), (9, 8, 12), (10, 8, 12), (11, 8, 12), (13, 12, 16), (20, 16, 24),
])  # fmt: skip
def test_the_interval_has_what_the_grids_of_the_fit_would_give(rows, least, most):
    orbits = REGISTRY.workload("titan").content.titan.orbits
    assert {least, most} <= set(orbits.fitted_rows)
    count = least * most * rows  # is cut into any of the three
    shares = {n: orbits.hottest(orbits.cells("equal-area", count, n)) for n in (rows, least, most)}
    fit = orbits.fit_interval(orbits.cells("equal-area", count, rows), "equal-area")
    for n in (least, most):
        assert fit.least * shares[rows] <= 0.913 * shares[n] * (1 + 1e-12)
        assert fit.most * shares[rows] >= 1.087 * shares[n] * (1 - 1e-12)


@settings(max_examples=cases(25), deadline=None)
@given(count=st.integers(1, 20_000), how=st.sampled_from(["equal-area", "load-balanced"]))
def test_a_time_is_within_what_its_fit_leaves_open(count, how):
    orbits = REGISTRY.workload("titan").content.titan.orbits
    fit = orbits.fit_interval(orbits.cells(how, count, 0), how)
    assert 0 < fit.least <= 1 - orbits.fitted_error < 1 + orbits.fitted_error <= fit.most
