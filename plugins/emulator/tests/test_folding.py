"""Programs whose processes repeat: some ranks for all give the times, parts and loads of all."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from parcast import Registry
from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import folded, matched_program, periods_of
from parcast.program.reader import read_source
from parcast.testing import by_sweep, cases, seeds
from parcast_emulator import program_run
from parcast_emulator.engines.ranks import folding

REGISTRY = Registry()

TOPOLOGIES: list[dict[str, Any]] = [
    {"kind": "star", "latency": "200 ns"},
    {"kind": "fat-tree", "down": [4, 4], "up": [1, 2], "latency": "100 ns"},
    {"kind": "fat-tree", "down": [4, 4], "up": [1, 4], "routing": "ecmp"},
    {"kind": "torus", "dims": [4, 4], "latency": "100 ns"},
    {"kind": "dragonfly", "groups": 4, "routers": 2, "nodes": 2, "latency": "100 ns"},
]

EXCHANGES = [
    "allreduce({n})",
    "sendrecv((rank + {k}) % size, {n}, (rank - {k}) % size)",
    "alltoall({n})",
    """isend((rank + {k}) % size, {n}, tag=1)
        isend((rank - {k}) % size, 3 * {n}, tag=2)
        irecv((rank - {k}) % size, tag=1)
        irecv((rank + {k}) % size, tag=2)
        waitall()""",
    """send((rank + {k}) % size, {n})
        send((rank + 2 * {k}) % size, 2 * {n})
        recv((rank - {k}) % size)
        recv((rank - 2 * {k}) % size)""",
    """if rank % 4 == 1:
            send((rank + 2) % size, {n})
        if rank % 4 == 3:
            recv((rank - 2) % size)""",
]


def machine(random: Random) -> Any:
    cores = random.choice([1, 2, 4])
    levels = [{"name": "node", "size": cores, "startup": "400 ns", "shared": "20 GB/s"}]
    return REGISTRY.machine(
        {
            "name": "alike",
            "processor": {"rate": "10 GFLOP/s"},
            "nodes": {"cores": cores},
            "topology": random.choice(TOPOLOGIES),
            "network": {
                "startup": "2 us",
                "bandwidth": "12.5 GB/s",
                "contention": "fair",
                "collectives": "allreduce ring, alltoall pairwise",
                **({"levels": levels} if cores > 1 else {}),
            },
        }
    )


def program(random: Random) -> Any:
    lines = []
    for _ in range(random.randint(1, 3)):
        lines.append(f"compute({random.randint(0, 5)}e5 * (1 + rank % {random.choice([1, 2])}))")
        exchange = random.choice(EXCHANGES)
        lines.append(exchange.format(n=random.choice([8, 1e5, 1e6]), k=random.randint(1, 5)))
    loop = f"    for step in range({random.randint(1, 3)}):"
    return read_source("\n        ".join([f"def program(rank, size):\n{loop}", *lines]) + "\n")


def answers(workload: Any, chosen: Any, p: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the row of some ranks for all, and that of all."""
    monkeypatch.setattr(folding, "_PAIR", 0)
    rows = []
    for least in (0, 10**12):
        monkeypatch.setattr(program_run, "LEAST", least)
        results = REGISTRY.compare(workload, chosen, p=p, solvers="emulator.tc", elasticities=False)
        rows.extend(results.rows)
    return rows


def test_some_ranks_for_all_are_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    by_part, count = 0, cases(60, least=60) // 4
    for seed in seeds(count):
        random = Random(seed)
        workload, chosen = program(random), machine(random)
        part, whole = answers(workload, chosen, 16, monkeypatch)
        assert whole.status.value == "ok", whole.message
        assert part.time == pytest.approx(whole.time, rel=1e-9)
        assert part.parts.values() == pytest.approx(whole.parts.values(), rel=1e-9, abs=1e-15)
        loads = (row.details.get("utilization", {}) for row in (part, whole))
        assert next(loads) == pytest.approx(next(loads), rel=1e-9)
        by_part += "simulated" in part.details
    assert by_part > count // 4


def test_a_fat_trees_leaves_repeat_and_the_reference_agrees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workload = read_source("def program(rank, size):\n    compute(1e6)\n    allreduce(1e6)\n")
    chosen = REGISTRY.machine(
        {
            "name": "leaves",
            "processor": {"rate": "10 GFLOP/s"},
            "nodes": {"cores": 2},
            "topology": {"kind": "fat-tree", "down": [2, 4], "up": [1, 1], "latency": "100 ns"},
            "network": {
                "startup": "2 us",
                "bandwidth": "12.5 GB/s",
                "contention": "fair",
                "collectives": "allreduce ring",
            },
        }
    )
    part, _ = answers(workload, chosen, 16, monkeypatch)
    assert part.details["simulated"] == {"ranks": 4, "each for": 4}
    query = Query(workload=workload, machine=chosen, p=16)
    unrolled = matched_program(query).unrolled
    costs = Costs.of(query, unrolled.needs(), WHOLE_NETWORK)
    assert part.time == pytest.approx(by_sweep(unrolled, costs).time, rel=1e-12)


@pytest.mark.parametrize(
    ("body", "periods"),
    [
        ("sendrecv((rank + 1) % size, 8, (rank - 1) % size)", [1, 2, 3, 4, 6]),
        ("compute(1e6 * (rank % 3))", [3, 6]),
        ("sendrecv(rank ^ 1, 8, rank ^ 1)", [2, 4, 6]),
        ("bcast(8)", []),
        ("send(rank, 8)\n    recv(ANY)", []),
        ("write(8)", []),
        ("if rank < 6:\n        compute(1e6)", []),
    ],
)
def test_a_program_moves_on_by_its_periods(body: str, periods: list[int]) -> None:
    workload = read_source(f"def program(rank, size):\n    {body}\n")
    chosen = REGISTRY.machine("ibm-sp2")
    unrolled = matched_program(Query(workload=workload, machine=chosen, p=12)).unrolled
    assert list(periods_of(unrolled)) == periods


def test_messages_from_near_and_afar_are_told_apart() -> None:
    """The first ranks get each message from the copy that sends it."""
    workload = read_source(
        "def program(rank, size):\n"
        "    send((rank + 1) % size, 8)\n"
        "    send((rank + 3) % size, 16)\n"
        "    recv((rank - 3) % size)\n"
        "    recv((rank - 1) % size)\n"
    )
    unrolled = matched_program(
        Query(workload=workload, machine=REGISTRY.machine("ibm-sp2"), p=12)
    ).unrolled
    part = folded(unrolled, 2)
    taken = part.matching.received_from
    sizes = part.columns.amount[taken[taken >= 0]]
    assert sizes.tolist() == [16, 8] * 2
