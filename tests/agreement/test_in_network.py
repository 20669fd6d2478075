"""Collectives that switches do: when all end, what each cable carries, and who cannot."""

from __future__ import annotations

from collections import Counter
from random import Random

import attrs
import numpy as np
import pytest

from parcast import Query, Registry
from parcast.errors import UnsupportedError
from parcast.model.costs import Costs
from parcast.model.following import WHOLE_NETWORK
from parcast.model.messages import SIGNAL
from parcast.program.lowerings.to_phases import count
from parcast.program.matching.collectives import placed
from parcast.program.matching.expansion import expand
from parcast.program.reader import read_source
from parcast.testing import by_events, by_sweep, cases, seeds
from parcast_perturb.machine_costs import Noise

REGISTRY = Registry()
OPS = ("barrier", "bcast", "reduce", "allreduce")
BYTES = 4096


def asked(body, p, *, mapping="block", topology=None, cores=1, **network):
    """Return a query on a machine whose switches do collectives."""
    source = "def program(rank, size):\n" + "".join(f"    {line}\n" for line in body)
    machine = {
        "name": "switched",
        "processor": {"rate": 1e6},
        "nodes": {"cores": cores},
        "network": {
            "startup": 2.0**-9,
            "bandwidth": 2.0**20,
            "collectives": ", ".join(f"{op} in-network" for op in OPS),
            **network,
        },
    }
    if topology is not None:
        machine["topology"] = topology
    return Query(
        workload=read_source(source, "s.py", "s"),
        machine=REGISTRY.machine(machine),
        p=p,
        mapping=mapping,
    )


def unrolled_and_costs(query):
    unrolled = expand(query.workload.content.at(query), placed(query))
    return unrolled, Costs.of(query, unrolled.needs(), WHOLE_NETWORK)


@pytest.mark.parametrize("op", OPS)
def test_all_leave_when_the_last_has_come_and_its_bytes_have_passed_once(op):
    for seed in seeds(cases(30)):
        random = Random(seed)  # no secrets
        p = random.randint(2, 20)
        late = [random.randint(0, 9) / 8 for _ in range(p)]
        network = {
            "overhead": random.choice([0, 2.0**-10]),
            "overhead_receive": random.choice([0, 2.0**-11]),
            "overhead_per_byte": random.choice([0, 2.0**-22]),
            "eager_limit": random.choice([0, 1e9]),
            "eager": random.choice(["buffered", "waits"]),
            "overhead_by": random.choice(["call", "message"]),
            "header": random.choice([0, 64]),
            "contention": random.choice(["none", "fair", "endpoint"]),
        }
        arguments = "" if op == "barrier" else str(BYTES)
        body = [
            *(f"if rank == {r}: elapse({seconds})" for r, seconds in enumerate(late)),
            f"{op}({arguments})",
        ]
        query = asked(body, p, mapping=random.choice(["block", "cyclic"]), **network)
        n = 0 if op == "barrier" else BYTES
        passing = 2.0**-9 + (n + network["header"]) / 2.0**20
        own = network["overhead"] + n * network["overhead_per_byte"]
        end = max(late) + own + passing + network["overhead_receive"]
        for evaluate in (by_sweep, by_events):
            assert evaluate(*unrolled_and_costs(query)).ends == (end,) * p


def test_without_levels_bytes_pass_each_cable_of_a_tree_once_each_way():
    tree = {"kind": "fat-tree", "down": [3, 2, 2], "up": [1, 1, 1]}
    for mapping in ("block", "cyclic", tuple(int(n) for n in Random(4).sample(range(12), 12))):
        query = asked(
            [f"allreduce({BYTES})"], 12, mapping=mapping, topology=tree, contention="fair"
        )
        unrolled, costs = unrolled_and_costs(query)
        carried = Counter()
        for rank, operations in enumerate(unrolled.by_rank()):
            for operation in operations:
                size = operation.arguments["bytes"]
                route = costs.wiring().routes(
                    np.array([rank]), np.array([operation.arguments["dst"]])
                )
                if size != SIGNAL:
                    carried.update({int(link): size for link in route[0] if link >= 0})
        assert set(carried.values()) == {BYTES}
        assert len(carried) == len(costs.wiring().capacity)


def test_the_latency_is_that_of_the_way_to_the_root_and_back():
    tree = {"kind": "fat-tree", "down": [3, 2, 2], "up": [1, 1, 1], "latency": 2.0**-12}
    query = asked(["barrier()"], 12, topology=tree, contention="fair")
    assert by_sweep(*unrolled_and_costs(query)).time == 2.0**-9 + 6 * 2.0**-12
    near = asked(["barrier(color=rank // 3)"], 12, topology=tree, contention="fair")
    assert by_sweep(*unrolled_and_costs(near)).time == 2.0**-9 + 2 * 2.0**-12


def test_between_leaders_nodes_add_up_before_and_hand_out_after():
    sums = "allreduce hierarchical in-network, reduce binomial, bcast binomial"
    body = [f"allreduce({BYTES})"]
    local = {"local": {"startup": 2.0**-10, "bandwidth": 2.0**22}}
    within = 2.0**-10 + BYTES / 2.0**22
    between = 2.0**-9 + BYTES / 2.0**20
    flat, parts = (
        by_sweep(*unrolled_and_costs(asked(body, 16, cores=4, **local, **more))).time
        for more in ({}, {"collectives": sums})
    )
    assert flat == between
    assert parts == between + 4 * within


@pytest.mark.parametrize(
    ("topology", "contention", "reason"),
    [
        (None, "bus", "a bus has no switches"),
        ({"kind": "torus", "dims": [4, 2]}, "fair", "its topology has no switch above all nodes"),
        ({"kind": "dragonfly", "groups": 2, "routers": 2, "nodes": 2}, "none", "its topology has"),
    ],
)
def test_networks_without_switches_that_could_are_refused(topology, contention, reason):
    query = asked(["barrier()"], 8, topology=topology, contention=contention)
    with pytest.raises(
        UnsupportedError, match=f"states in-network in network.collectives, and {reason}"
    ):
        placed(query)


def test_it_counts_as_one_message_of_each_process():
    query = asked([f"allreduce({BYTES})", "barrier()"], 12)
    counts = count(*unrolled_and_costs(query))
    assert set(counts.messages) == set(counts.calls) == {2}
    assert set(counts.bytes) == {BYTES}


def test_noise_meets_the_one_message_of_each_process():
    """However many signals there are, as they are the network's."""
    times = {}
    for noise in ("0 s", "1 ms"):
        for p in (2, 64):
            query = asked([f"allreduce({BYTES})"], p)
            parts = {**query.machine.parts, "noise": Noise(calls=noise)}
            machine = attrs.evolve(query.machine, parts=parts)
            row = REGISTRY.predict(query.workload, machine, "perturb.clocked", p=p)
            times[noise, p] = row.time
    assert times["0 s", 2] == times["0 s", 64]
    assert times["1 ms", 2] == times["1 ms", 64] > times["0 s", 2]


def test_a_group_of_one_sends_nothing():
    query = asked(["allreduce(64, color=rank)", "barrier(color=rank)"], 3)
    assert by_sweep(*unrolled_and_costs(query)).time == 0
