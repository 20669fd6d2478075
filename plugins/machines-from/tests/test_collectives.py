"""The algorithm that a machine uses is found again from the times of its collectives."""

from __future__ import annotations

import pytest

from parcast import Registry
from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.collectives import with_collectives
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.records import Reading, Series, Value

SIZES = (8.0, 1024.0, 65536.0, 1048576.0)


@pytest.mark.parametrize(
    ("benchmark", "algorithm"),
    [
        ("allreduce", "ring"),
        ("allreduce", "rabenseifner"),
        ("bcast", "chain"),
        ("allreduce", "openmpi"),  # another one by size
    ],
)
def test_an_algorithm_is_found_again(benchmark: str, algorithm: str) -> None:
    registry = Registry()
    network = {
        "startup": "2 us",
        "bandwidth": "5 GB/s",
        "collectives": f"{benchmark} {algorithm}",
    }
    true = registry.machine({"name": "true", "nodes": {"cores": 1}, "network": network})
    values = tuple(Value(size, 1.0, line) for line, size in enumerate(SIZES, 1))
    asked = Reading(
        (
            Series("latency", "s", values, "l.txt", "OSU", processes=2),
            Series(benchmark, "s", values, "c.txt", "OSU", processes=12, nodes=12),
        )
    )
    checked = check_machine(registry, true, asked, limit=12, samples=0)
    by_size = {(item.benchmark, item.size): item.predicted for item in checked.compared}
    series = tuple(
        Series(
            item.benchmark,
            "s",
            tuple(
                Value(value.size, by_size[item.benchmark, value.size], value.line)
                for value in item.values
            ),
            item.path,
            "OSU",
            item.processes,
            item.nodes,
        )
        for item in asked.series
    )
    reading = Reading(series)
    result = with_collectives(registry, estimate(reading, "again", {"node": 1}), reading)
    assert result.data["network"]["collectives"] == f"{benchmark} {algorithm}"
    assert "c.txt:1" in result.data["sources"]["network.collectives"]
