"""spmd on a balanced program that overlaps nothing equals the reference (row 12)."""

from random import Random

import numpy as np
import pytest

from parcast import Registry
from parcast.model import WHOLE_NETWORK, Messages, traffic_of
from parcast.model.costs import Costs
from parcast.model.query import Query
from parcast.program.matching.prepare import matched_program
from parcast.program.reader import read_source
from parcast.program.source import SENDS
from parcast.testing import by_sweep, random_program, seeds

from .enough_seeds import seeds_until
from .topologies import random_topology

REGISTRY = Registry()

EXCHANGES = {
    "one ring shift a step": "sendrecv((rank + 1) % size, 4096, (rank - 1) % size)",
    "two shifts of unlike bytes": """
            sendrecv((rank + 1) % size, 4096, (rank - 1) % size)
            sendrecv((rank - 1) % size, 512, (rank + 1) % size)""",
    "partners in pairs": "sendrecv(rank ^ 1, 8, rank ^ 1)",
    "a sum over all": "allreduce(1024)",
    "a barrier": "barrier()",
    "a gathering of all": "allgather(64)",
    "everybody with everybody": "alltoall(64)",
}


def machine(**network):
    return REGISTRY.machine(
        {
            "name": "dyadic",
            "processor": {"rate": 2**20},
            "network": {"startup": 2**-6, "bandwidth": 2**20, "contention": "none", **network},
        }
    )


@pytest.mark.parametrize("p", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("overhead", [0, 2**-8])
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_spmd_equals_the_reference_on_balanced_programs(exchange, overhead, p):
    workload = read_source(
        f"""
def program(rank, size):
    for step in range(16):
        compute(2**22 / size)
        elapse(2**-5)
        if size > 1:
            {EXCHANGES[exchange].strip()}
"""
    )
    asked = machine(overhead=overhead)
    (row,) = REGISTRY.compare(workload, asked, p=p, solvers="spmd", elasticities=False).rows
    assert row.status.value == "ok", row.message
    query = Query(workload=workload, machine=asked, p=p)
    reference = by_sweep(matched_program(query).unrolled, Costs.of(query, ("compute", "messages")))
    assert row.time == reference.time
    assert row.parts.compute == reference.mean_parts.compute
    assert row.parts.communication == reference.mean_parts.communication


def balanced(random):
    """Return the source of a random program whose processes are alike and overlap nothing."""
    bodies = []
    for _ in range(random.randint(1, 3)):
        exchange = random.choice(list(EXCHANGES.values()))
        exchange = exchange.replace("rank ^ 1", "(rank + 1 - 2 * (rank % 2))").split("\n")
        work = [
            random.choice([f"compute({random.randint(0, 8)} * 2**20 / size)", "elapse(2**-5)"]),
            "if size > 1:",
            *(f"    {line.strip()}" for line in exchange if line.strip()),
        ]
        bodies += [f"for step in range({random.randint(0, 5)}):", *(f"    {one}" for one in work)]
    return "\n    ".join(["def program(rank, size):", *bodies]) + "\n"


def test_spmd_equals_the_reference_on_random_balanced_programs(programs):
    for seed in seeds(programs // 10):
        random = Random(seed)
        source, p = balanced(random), random.choice([1, 2, 4, 8, 16])
        limit = random.choice([{}, {"eager_limit": random.choice([0, 512, 2048])}])
        asked = machine(
            overhead=random.choice([0, 2.0**-8]),
            overhead_per_byte=random.choice([0, 2.0**-21]),
            **limit,
        )
        workload = read_source(source)
        (row,) = REGISTRY.compare(workload, asked, p=p, solvers="spmd", elasticities=False).rows
        assert row.status.value == "ok", (row.message, source)
        query = Query(workload=workload, machine=asked, p=p)
        reference = by_sweep(
            matched_program(query).unrolled, Costs.of(query, ("compute", "messages"))
        )
        assert row.time == pytest.approx(reference.time, rel=1e-12), source


@pytest.mark.parametrize("p", [1, 4, 16])
@pytest.mark.parametrize("weight", [0.5, 1.0, 4.0])
def test_spmd_counts_the_speed_of_nodes_once_and_of_what_elapses_never(weight, p):
    workload = read_source(
        """
def program(rank, size):
    for step in range(16):
        compute(2**22 / size)
        elapse(2**-5)
        barrier()
"""
    )
    table = {
        "name": "nodes",
        "processor": {"rate": 2**20},
        "nodes": {"groups": [{"count": 16, "weight": weight}]},
        "network": {"startup": 2**-6, "bandwidth": 2**20},
    }
    (row,) = REGISTRY.compare(
        workload, REGISTRY.machine(table), p=p, solvers="spmd", elasticities=False
    ).rows
    query = Query(workload=workload, machine=REGISTRY.machine(table), p=p)
    reference = by_sweep(matched_program(query).unrolled, Costs.of(query, ("compute", "messages")))
    assert row.time == reference.time


#: What a network says more, in which all messages of one exchange are still alike.
NETWORKS = {
    "sizes": {"sizes": [{"least": 512, "startup": 2**-5, "overhead": 2**-7}]},
    "header": {"header": 64, "overhead": 2**-8},
    "a star of fair links": {"contention": "fair", "port_bandwidth": 2**21},
    "ports": {"contention": "endpoint"},
    "overheads by message": {"overhead_by": "message", "overhead": 2**-8},
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_spmd_follows_networks_on_balanced_programs(exchange, network):
    workload = read_source(
        f"""
def program(rank, size):
    for step in range(16):
        compute(2**22 / size)
        if size > 1:
            {EXCHANGES[exchange].strip()}
"""
    )
    chosen = machine(**NETWORKS[network])
    (row,) = REGISTRY.compare(workload, chosen, p=8, solvers="spmd", elasticities=False).rows
    assert row.status.value == "ok", row.message
    query = Query(workload=workload, machine=chosen, p=8)
    costs = Costs.of(query, ("compute", "messages"), WHOLE_NETWORK)
    assert row.time == pytest.approx(by_sweep(matched_program(query).unrolled, costs).time)


#: Networks whose links are shared by level, port and cable.
SHARED = {
    "levels": {"levels": [{"name": "node", "size": 4, "startup": 2**-9, "shared": 2**20}]},
    "half the cables": {"topology": {"kind": "fat-tree", "down": [4, 4], "up": [1, 2]}},
    "one bus": {"topology": {"kind": "bus", "bandwidth": 2**20, "latency": 2**-8}},
}


@pytest.mark.parametrize("network", SHARED)
@pytest.mark.parametrize("steps", [1, 7])
def test_what_is_posted_together_shares_the_fullest_link_in_every_round(network, steps):
    workload = read_source(
        f"""
def program(rank, size):
    for step in range({steps}):
        compute(2**18)
        isend((rank + 4) % size, 4096, tag=1)
        isend((rank - 4) % size, 4096, tag=2)
        irecv((rank - 4) % size, tag=1)
        irecv((rank + 4) % size, tag=2)
        waitall()
        sendrecv(rank ^ 1, 512, rank ^ 1)
"""
    )
    parts = {name: value for name, value in SHARED[network].items() if name == "topology"}
    rest = {name: value for name, value in SHARED[network].items() if name != "topology"}
    chosen = REGISTRY.machine(
        {
            "name": "dyadic",
            "processor": {"rate": 2**20},
            "nodes": {"cores": 4 if rest else 1},
            "network": {"startup": 2**-6, "bandwidth": 2**20, "contention": "fair", **rest},
            **parts,
        }
    )
    (row,) = REGISTRY.compare(workload, chosen, p=16, solvers="spmd", elasticities=False).rows
    assert row.status.value == "ok", row.message
    query = Query(workload=workload, machine=chosen, p=16)
    costs = Costs.of(query, ("compute", "messages"), WHOLE_NETWORK)
    assert row.time == pytest.approx(by_sweep(matched_program(query).unrolled, costs).time)


def test_no_run_is_shorter_than_its_fullest_link_is_busy(programs):
    """The level w is what that link carries, over all transfers."""
    shared = 0
    for seed in seeds_until(programs // 4, lambda: shared > programs // 40):
        chance = random_program(
            seed, contention="fair", network=True, topology=random_topology(seed)
        )
        unrolled = chance.expanded
        blocks = [block for block in unrolled.blocks if block.op in SENDS]
        if not blocks:
            continue
        ranks = [np.arange(unrolled.size) if b.ranks is None else b.ranks for b in blocks]
        columns = (
            np.concatenate(
                [
                    np.broadcast_to(block.arguments[name], len(own))
                    for block, own in zip(blocks, ranks, strict=True)
                ]
            )
            for name in ("dst", "bytes")
        )
        messages = Messages.of(np.concatenate(ranks), *columns)
        traffic = traffic_of([messages], chance.costs, unrolled.size)
        queuing = traffic.level if traffic.level < 1 else 0.0
        busy = traffic.transfer * (1 + (unrolled.size - 1) * queuing) if queuing else 0.0
        if "start()" not in chance.source:
            time = by_sweep(unrolled, chance.costs).time
            assert busy <= time * (1 + 1e-9)
            shared += busy > 0
    assert shared > programs // 40


@pytest.mark.parametrize("p", [4, 16])
@pytest.mark.parametrize(
    ("network", "level"),
    [
        ({"contention": "endpoint"}, "0"),
        ({"contention": "fair"}, "0"),
        ({"contention": "fair", "topology": {"kind": "bus", "bandwidth": 2**20}}, "1"),
        ({"contention": "endpoint", "contention_level": 0.25}, "0.25"),
        ({"contention": "fair", "saturation": 2**21}, "0.5"),
    ],
)
def test_w_is_what_the_fullest_link_carries_unless_it_is_stated(network, level, p):
    parts = {key: value for key, value in network.items() if key == "topology"}
    rest = {key: value for key, value in network.items() if key != "topology"}
    chosen = REGISTRY.machine(
        {
            "name": "linked",
            "processor": {"rate": 2**20},
            "network": {"startup": 2**-6, "bandwidth": 2**20, **rest},
            **parts,
        }
    )
    phase = {"serial": 2**20, "messages": 2, "bytes": 2**18, "distribution": "constant"}
    for workload in (
        {"name": "phases", "phase": [phase]},
        read_source(
            "def program(rank, size):\n    compute(2**20)\n"
            "    sendrecv((rank + 1) % size, 2**18, (rank - 1) % size)\n"
        ),
    ):
        (row,) = REGISTRY.compare(workload, chosen, p=p, solvers="spmd", elasticities=False).rows
        assert row.status.value == "ok", row.message
        (detail,) = row.details["phases"]
        expected = eval(level, {"p": p})
        assert detail["network_service"] == pytest.approx(expected * 0.25), detail


@pytest.mark.parametrize(("p", "time"), [(1, 4), (2, 8 * 1.5)])  # the later of two exponentials
def test_spmd_has_phases_boosted_where_other_cores_are_idle(p, time):
    table = {
        "name": "boosted",
        "processor": {"rate": 1, "boost": 2},
        "nodes": {"count": 1, "cores": 2},
        "network": {"startup": 0, "bandwidth": 1},
    }
    phases = {"name": "w", "phase": [{"serial": 8}]}
    (row,) = REGISTRY.compare(
        phases, REGISTRY.machine(table), p=p, solvers="spmd", elasticities=False
    ).rows
    assert row.time == time, row.message


@pytest.mark.parametrize("messages", [0, 0.25, 1, 2, 3.5])
def test_a_header_of_next_to_nothing_changes_next_to_nothing(messages):
    """Messages of a phase may be less than one a burst, in the mean."""
    phase = {"serial": 2**20, "messages": messages, "bytes": 2**16, "distribution": "constant"}
    times = [
        REGISTRY.compare(
            {"name": "w", "phase": [phase]},
            machine(overhead=2**-8, **more),
            p=4,
            solvers="spmd",
            elasticities=False,
        )
        .rows[0]
        .time
        for more in ({}, {"header": 1e-9})
    ]
    assert times[1] == pytest.approx(times[0], rel=1e-9)
