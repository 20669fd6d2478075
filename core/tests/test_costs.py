from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest

from parcast import InvalidPointError, Query, Registry, UnsupportedError, Workload
from parcast.model.costs import Costs
from parcast.model.following import WHOLE_NETWORK, check_network
from parcast.model.placement import Placement
from parcast.testing.queries import faster

FULL = {
    "name": "m",
    "processor": {"rate": 100},
    "nodes": {"cores": 2, "memory_bandwidth": 50},
    "network": {
        "startup": 3,
        "bandwidth": 8,
        "overhead": 0.5,
        "overhead_per_byte": 0.25,
        "local": {"startup": 1, "bandwidth": 16},
    },
    "storage": {"bandwidth": 4, "startup": 2},
}
ALL = ("compute", "messages", "io")


def query(p=4, d=1, mapping="block", **parts):
    machine = Registry([]).machine({**FULL, **parts})
    workload = Workload(name="w", kind="program", content=None)
    return Query(workload=workload, machine=machine, p=p, d=d, mapping=mapping)


def costs(needs=ALL, **changes):
    return Costs.of(query(**changes), needs)


def network(**changes):
    return {"network": {**FULL["network"], **changes}}


def test_a_message_between_nodes_pays_the_network_and_within_one_the_local_network():
    found = costs()
    assert found.sending(4) == 0.5 + 4 * 0.25
    assert found.wire(0, 2, 16) == 3 + 16 / 8
    assert found.wire(0, 1, 16) == 1 + 16 / 16
    assert found.wire(3, 3, 16) == 1 + 16 / 16


def test_arrays_of_ranks_cost_what_each_rank_costs():
    found = costs(nodes={**FULL["nodes"], "groups": [{"count": 4, "weight": 2}, {"count": 1}]})
    src, dst, n = np.array([0, 0, 3]), np.array([1, 2, 0]), np.array([16, 0, 5])
    wires = [found.wire(*one) for one in zip(src, dst, n, strict=True)]
    assert found.wire(src, dst, n).tolist() == wires
    assert found.wire(0, dst, 16).tolist() == [found.wire(0, one, 16) for one in dst]
    assert found.compute(src, n, n).tolist() == [
        found.compute(*one) for one in zip(src, n, n, strict=True)
    ]
    assert found.elapse(src, n).tolist() == n.tolist()
    assert found.sending(n).tolist() == [found.sending(one) for one in n]


@pytest.mark.parametrize(
    ("local", "time"),
    [({}, 3 + 16 / 8), ({"startup": 0}, 0 + 16 / 8), ({"bandwidth": 4}, 3 + 16 / 4)],
)
def test_a_local_number_that_is_not_stated_is_the_networks_own(local, time):
    assert costs(**network(local=local)).wire(0, 1, 16) == time


def test_a_machine_that_states_little_has_the_documented_defaults():
    found = costs(network={"startup": 3, "bandwidth": 8}, storage={"bandwidth": 4}, nodes={})
    assert found.sending(10) == 0
    assert found.overhead_receive == 0
    assert found.eager_limit == float("inf")
    assert found.contention == "none"
    assert found.algorithms is None
    assert found.disk_startup == 0
    assert found.wire(0, 0, 8) == 4
    assert found.compute(0, 200, 10**9) == 2  # memory is no limit


def test_what_the_machine_states_is_passed_on():
    changes = network(contention="bus", collectives="paper", eager_limit=64, overhead_receive=0.1)
    found = costs(d=3, storage={**FULL["storage"], "layout": "cluster"}, **changes)
    assert (found.contention, found.algorithms, found.eager_limit) == ("bus", "paper", 64)
    assert (found.disks, found.layout, found.overhead_receive) == (3, "cluster", 0.1)


@pytest.mark.parametrize(("stated", "receive"), [({}, 0.5), ({"overhead_receive": 0}, 0.0)])
def test_a_sender_that_pays_is_busy_until_arrival_and_the_wire_is_free(stated, receive):
    found = costs(**network(paid_by="sender", **stated))
    assert found.sending(16) == (0.5 + 16 * 0.25) + (3 + 16 / 8)
    assert found.wire(0, 2, 16) == 0
    assert found.wire(0, 1, 16) == 0
    assert found.overhead_receive == receive


@pytest.mark.parametrize(
    ("part", "table", "need", "sentence"),
    [
        ("processor", {}, "compute", "no processor.rate, which a workload with computation"),
        ("network", {"bandwidth": 8}, "messages", "no network.startup, which a workload with me"),
        ("network", {"startup": 3}, "messages", "no network.bandwidth, which a workload with me"),
        ("storage", {"startup": 3}, "io", "no storage.bandwidth, which a workload with I/O needs"),
    ],
)
def test_a_number_that_lacks_is_refused_only_where_it_is_needed(part, table, need, sentence):
    with pytest.raises(UnsupportedError, match=sentence):
        costs(**{part: table})
    others = [one for one in ALL if one != need]
    assert costs(others, **{part: table}).placement.nodes == 2


def test_a_number_that_is_stated_counts_even_if_nothing_was_said_to_need_it():
    assert costs(()).wire(0, 2, 16) == costs(ALL).wire(0, 2, 16)
    assert costs(()).compute(0, 100) == costs(ALL).compute(0, 100)


def test_a_mapping_without_meaning_is_said_by_the_placement():
    with pytest.raises(InvalidPointError, match="names 1 nodes"):
        costs(mapping=(0,))


def test_computing_takes_the_slower_of_operations_and_memory():
    found = costs(p=3)  # two processes on node 0, one on node 1
    assert found.compute(0, 200) == 2
    assert found.compute(0, 200, 40) == 2
    assert found.compute(0, 200, 75) == 75 * 2 / 50
    assert found.compute(2, 200, 75) == 2
    assert found.compute(2, 200, 150) == 150 / 50


def test_amounts_beyond_64_bits_have_a_cost():
    found = costs()
    assert found.compute(0, 10**21, 10**20) == 1e19
    assert found.wire(0, 2, 8 * 10**20) == 1e20
    assert found.piece(4 * 10**20, "own") == 1e20


def test_weights_and_crowds_slow_operations_but_neither_elapsing_nor_memory():
    nodes = {"count": 1, "cores": 2, "memory_bandwidth": 50, "oversubscribe": True}
    found = costs(nodes={**nodes, "groups": [{"count": 1, "weight": 0.5}]})
    assert found.compute(3, 100) == 1 / 0.5 * 2
    assert found.elapse(3, 1.0) == 1
    assert found.compute(3, 0, 25) == 25 * 4 / 50


@pytest.mark.parametrize(
    ("layout", "file", "disks", "seconds"),
    [
        ("cluster", "own", range(1, 2), 2 + 12 / 4),
        ("cluster", "shared", range(3), 2 + 12 / (3 * 4)),
        ("bus", "own", range(3), 2 + 12 / (3 * 4)),
        ("bus", "shared", range(3), 2 + 12 / (3 * 4)),
    ],
)
def test_an_own_file_of_a_cluster_is_on_one_disk_and_any_other_on_all(layout, file, disks, seconds):
    found = costs(p=8, d=3, storage={**FULL["storage"], "layout": layout})
    assert found.disks_of(7, file) == disks
    assert found.piece(12, file) == seconds
    assert found.piece(np.array([12, 0]), file).tolist() == [seconds, 2]
    assert found.striped(file) == (len(disks) > 1)


@pytest.mark.parametrize("payer", ["wire", "sender"])
def test_every_time_halves_on_a_machine_twice_as_fast(payer):
    nodes = {**FULL["nodes"], "count": 2, "groups": [{"count": 1, "weight": 0.5}]}
    asked = query(d=3, nodes=nodes, **network(paid_by=payer))
    base = Costs.of(asked, ALL)
    fast = Costs.of(attrs.evolve(asked, machine=faster(asked.machine)), ALL)
    assert fast.placement.node.tolist() == base.placement.node.tolist()
    assert fast.placement.node.dtype == np.int64
    for time in (
        lambda costs: costs.compute(0, 100),
        lambda costs: costs.compute(0, 0, 100),
        lambda costs: costs.sending(5),
        lambda costs: costs.wire(0, 1, 5),
        lambda costs: costs.wire(0, 2, 5),
        lambda costs: costs.overhead_receive,
        lambda costs: costs.piece(5, "own"),
    ):
        assert time(fast) == time(base) / 2


def test_a_core_draws_no_more_than_it_can_alone_and_its_share_among_others():
    found = costs(p=3, nodes={**FULL["nodes"], "core_bandwidth": 40})
    assert found.compute(0, 0, 1000) == 1000 / 25  # two on node 0 share 50
    assert found.compute(2, 0, 1000) == 1000 / 40  # one on node 1, of its own
    only_core = costs(p=3, nodes={"cores": 2, "core_bandwidth": 40})
    assert only_core.compute(0, 0, 1000) == 1000 / 40


@pytest.mark.parametrize(
    ("p", "speeds"), [(1, [2]), (2, [1.5, 1.5]), (3, [1, 1, 1]), (4, [1, 1, 1, 2])]
)
def test_a_boost_is_of_cores_whose_neighbors_idle(p, speeds):
    found = costs(p=p, processor={"rate": 100, "boost": 2}, nodes={"cores": 3})
    assert found.placement.speed.tolist() == speeds


def test_cores_that_processes_share_are_all_busy_and_have_no_boost():
    nodes = {"cores": 2, "count": 1, "oversubscribe": True}
    found = costs(p=4, processor={"rate": 100, "boost": 2}, nodes=nodes)
    assert found.placement.speed.tolist() == [0.5] * 4


def test_fractions_stay_exact():
    third = Fraction(1, 3)
    speed = np.array([third, Fraction(1), Fraction(1)], dtype=object)
    placement = Placement(np.array([0, 0, 1]), speed, np.array([2, 2, 1]), 2)
    found = Costs(
        placement=placement,
        rate=Fraction(7),
        memory_bandwidth=Fraction(11),
        startup=third,
        per_byte=Fraction(1, 7),
        local_per_byte=Fraction(0),
        overhead=third,
        disk_per_byte=third,
        disks=3,
    )
    for value, expected in [
        (found.compute(0, 1), Fraction(3, 7)),
        (found.compute(0, 1, 10**20), Fraction(2 * 10**20, 11)),
        (found.elapse(0, third), third),
        (found.wire(0, 2, 2), third + Fraction(2, 7)),
        (found.wire(0, 1, 2), third),
        (found.sending(5), third),
        (found.overhead_receive, third),
        (found.piece(Fraction(1), "own"), Fraction(1, 9)),
    ]:
        assert isinstance(value, Fraction)
        assert value == expected


@pytest.mark.parametrize("paid_by", ["wire", "sender"])
@pytest.mark.parametrize("contention", [None, "none", "fair", "endpoint", "bus"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"header": 40},
        {"sizes": [{"least": 1000, "startup": 4}]},
        {"levels": [{"name": "socket", "size": 2, "startup": 1}]},
        {"contention_level": 0.5},
        {"eager": "waits", "eager_limit": 8, "acknowledgements": 0.1, "weight_bytes": 9},
    ],
    ids=lambda keys: " ".join(keys) or "nothing",
)
def test_a_network_followed_whole_is_refused_only_where_it_derives_traffic(
    paid_by, contention, more
):
    """So `Costs.of` need not ask of others."""
    stated = {**FULL["network"], "paid_by": paid_by, **more}
    if contention is not None:
        stated["contention"] = contention
    machine = query(nodes={"cores": 1}, network=stated).machine
    if not machine.derives_traffic:
        check_network(machine, WHOLE_NETWORK)
    elif paid_by == "sender" and (contention == "fair" or {*more} & {"header", "sizes", "levels"}):
        with pytest.raises(UnsupportedError, match="paid_by = 'sender'"):
            check_network(machine, WHOLE_NETWORK)
        with pytest.raises(UnsupportedError, match="paid_by = 'sender'"):
            Costs.of(query(nodes={"cores": 4}, network=stated), ALL, WHOLE_NETWORK)


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        ({}, 5 + 100 / 16),
        ({"header": 64}, 5 + 100 / 16),
        ({"local": {"startup": 1}}, 1 + 100 / 8),
        ({"levels": [{"name": "pair", "size": 2, "startup": 2}]}, 2 + 100 / 8),
    ],
)
def test_within_a_node_sizes_hold_unless_more_is_stated(stated, seconds):
    sizes = [{"least": 50, "startup": 5, "bandwidth": 16}]
    machine = {"network": {"startup": 3, "bandwidth": 8, "sizes": sizes, **stated}}
    priced = Costs.of(query(**machine), ("messages",), ("sizes", "levels", "header"))
    assert priced.wire(0, 1, 100) == seconds
    assert priced.wire(0, 1, 10) == (3 if "local" not in stated else 1) + 10 / 8 - (
        1 if "levels" in stated else 0
    )
