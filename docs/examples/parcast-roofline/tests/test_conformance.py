from __future__ import annotations

from collections.abc import Iterator

import parcast_roofline
import pytest

from parcast import Registry
from parcast.testing import (
    check_family,
    check_machine,
    check_plugin,
    check_solver,
    check_workload,
)
from parcast.testing import standard_queries as standard

TINY = {"name": "tiny", "kind": "kernel", "loop": [{"flops": 64, "bytes": 32, "footprint": 32}]}
MACHINE = {
    "name": "unit",
    "processor": {"rate": 1},
    "nodes": {"cores": 2, "memory_bandwidth": 1},
    "cache": {"capacity": 16, "bandwidth": 4},
}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return check_plugin(parcast_roofline)


@pytest.fixture(scope="module")
def queries(registry: Registry) -> Iterator[list]:
    from parcast import Query

    machine = registry.machine(MACHINE)
    workloads = [registry.workload(TINY), registry.workload("stream-triad")]
    return [
        Query(workload=workload, machine=machine, p=p) for workload in workloads for p in (1, 2, 4)
    ]


def test_parcast_machines(registry: Registry) -> None:
    check_machine(registry, "round-node")


def test_parcast_workloads(registry: Registry) -> None:
    check_workload(registry, "stream-triad")


@pytest.mark.parametrize("name", ["roofline.dram", "roofline.cache"])
def test_parcast_solvers(registry: Registry, queries: list, name: str) -> None:
    check_solver(registry, name, queries)


def test_the_family_takes_the_cache_where_everything_fits(
    registry: Registry, queries: list
) -> None:
    chosen = check_family(registry, "roofline", queries[:3])
    assert chosen == ["roofline.dram", "roofline.cache", "roofline.cache"]


def test_the_standard_queries_of_an_own_kind_are_its_own_workloads(registry: Registry) -> None:
    assert {query.workload.name for query in standard(registry, "kernel")} == {"stream-triad"}
