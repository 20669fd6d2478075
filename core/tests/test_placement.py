from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import InvalidPointError, Machine, Query, Registry, UnsupportedError, Workload
from parcast.comparison.setting_values import set_values
from parcast.comparison.settings import Settings
from parcast.model.machine import NodeGroup, Nodes
from parcast.model.placement import place


def query(p, mapping="block", **nodes):
    machine = Machine(name="m", parts={"nodes": Nodes(**nodes)})
    return Query(
        workload=Workload(name="w", kind="program", content=None),
        machine=machine,
        p=p,
        mapping=mapping,
    )


@pytest.mark.parametrize(
    ("p", "mapping", "nodes", "node", "count"),
    [
        (3, "block", {}, [0, 1, 2], 3),
        (5, "block", {"cores": 2}, [0, 0, 1, 1, 2], 3),
        (5, "cyclic", {"cores": 2}, [0, 1, 2, 0, 1], 3),
        (4, "block", {"cores": 2, "count": 4}, [0, 0, 1, 1], 4),
        (4, "cyclic", {"cores": 2, "count": 4}, [0, 1, 2, 3], 4),
        (3, (2, 0, 2), {"cores": 2}, [2, 0, 2], 3),
        (3, (1, 1, 0), {"cores": 2, "count": 9}, [1, 1, 0], 9),
        (3, "block", {"groups": (NodeGroup(count=4),)}, [0, 1, 2], 4),
        (3, "block", {"groups": (NodeGroup(count=4),), "count": 3}, [0, 1, 2], 3),
        (2, "cyclic", {"cores": 10**30, "count": 10**30}, [0, 1], 10**30),
    ],
)
def test_a_mapping_puts_each_process_on_its_node(p, mapping, nodes, node, count):
    placed = place(query(p, mapping, **nodes))
    assert placed.node.tolist() == node
    assert placed.nodes == count
    assert placed.sharing.tolist() == [node.count(one) for one in node]
    assert placed.speed.tolist() == [1.0] * p


def test_groups_weigh_the_nodes_in_order_and_the_others_are_1():
    groups = (NodeGroup(count=1, weight=2.0), NodeGroup(count=2, weight=0.5))
    assert place(query(5, groups=groups, count=5)).speed.tolist() == [2.0, 0.5, 0.5, 1.0, 1.0]
    assert place(query(2, (3, 1), groups=groups, count=5)).speed.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("p", "mapping", "nodes", "message"),
    [
        (8, "block", {"count": 2, "cores": 2}, "8 processes on 4 cores (2 nodes of 2); give more"),
        (3, "cyclic", {"count": 1, "cores": 2}, "3 processes on 2 cores (1 node of 2); "),
        (3, "block", {"groups": (NodeGroup(count=2),)}, "3 processes on 2 cores (2 nodes of 1); "),
        (3, (0, 1, 1), {}, "2 processes on node 1 of 1 cores; map them to more nodes or "),
    ],
)
def test_processes_without_a_core_are_refused_with_the_way_out(p, mapping, nodes, message):
    with pytest.raises(UnsupportedError) as caught:
        place(query(p, mapping, **nodes))
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith("nodes or --set nodes.oversubscribe=true")


@pytest.mark.parametrize(
    ("p", "mapping", "node", "speed"),
    [
        (5, "block", [0, 0, 0, 1, 1], [2 / 3] * 3 + [1.0] * 2),
        (5, "cyclic", [0, 1, 0, 1, 0], [2 / 3, 1.0] * 2 + [2 / 3]),
        (4, (1, 1, 1, 1), [1, 1, 1, 1], [0.5] * 4),
        (3, "block", [0, 0, 1], [1.0] * 3),
    ],
)
def test_oversubscribed_cores_are_shared_evenly(p, mapping, node, speed):
    placed = place(query(p, mapping, count=2, cores=2, oversubscribe=True))
    assert placed.node.tolist() == node
    assert placed.speed.tolist() == speed


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ((0, 1), "mapping: at p=3 it names 2 nodes; name one for each process"),
        ((0, 1, 2), "mapping: at p=3 rank 2 is on node 2, outside 0 .. 1; "),
        ((0, -1, 1), "mapping: at p=3 rank 1 is on node -1, outside 0 .. 1; "),
    ],
)
def test_a_list_that_is_no_mapping_names_the_rank_and_the_node(mapping, message):
    with pytest.raises(InvalidPointError) as caught:
        place(query(3, mapping, count=2))
    assert str(caught.value).startswith(message)


def test_a_node_beyond_any_number_is_invalid_without_a_stated_count():
    with pytest.raises(InvalidPointError, match="rank 0 is on node 10000"):
        place(query(1, (10**30,)))


@given(
    p=st.integers(1, 60),
    count=st.integers(1, 9),
    cores=st.integers(1, 5),
    mapping=st.sampled_from(["block", "cyclic"]),
)
@settings(deadline=None)
def test_no_node_has_two_processes_more_than_it_must(p, count, cores, mapping):
    placed = place(query(p, mapping, count=count, cores=cores, oversubscribe=True))
    assert placed.node.max() < count
    assert placed.sharing.max() <= max(cores, -(-p // count))
    np.testing.assert_array_equal(placed.speed, np.minimum(1.0, cores / placed.sharing))
    assert mapping == "cyclic" or (np.diff(placed.node) >= 0).all()
    used, first = np.unique(placed.node, return_index=True)
    # together the processes of a node get what its cores can do
    given_out = (placed.speed * placed.sharing)[first]
    np.testing.assert_allclose(given_out, np.minimum(cores, placed.sharing[first]))
    assert len(used) == min(
        count, p if mapping == "cyclic" or p > count * cores else -(-p // cores)
    )


def test_two_ranks_share_a_node_or_not_also_as_arrays():
    placed = place(query(4, cores=2))
    assert placed.same_node(0, 1)
    assert not placed.same_node(1, 2)
    assert placed.same_node(np.arange(4), np.array([1, 1, 1, 3])).tolist() == [1, 1, 0, 1]


def test_oversubscription_can_be_set_for_one_question():
    registry = Registry([])
    machine = registry.machine({"name": "m", "nodes": {"count": 2}, "processor": {"rate": 1}})
    chosen = Settings.sort({"nodes.oversubscribe": "true"}, registry, [])
    crowded = set_values(machine, registry, chosen.machine_values(4, 1))
    workload = Workload(name="w", kind="program", content=None)
    placed = place(Query(workload=workload, machine=crowded, p=4))
    assert placed.speed.tolist() == [0.5] * 4
