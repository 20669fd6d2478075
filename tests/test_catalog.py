"""Machines of today: each is answered by every default family, and as hand arithmetic says."""

from __future__ import annotations

import runpy
from pathlib import Path

import attrs
import pytest

from parcast import Query, Registry
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program.reader import read_source
from parcast.testing import check_machine

REGISTRY = Registry()
MACHINES = {name: REGISTRY.machine(name) for name in REGISTRY.machines}
TODAY = sorted(name for name, machine in MACHINES.items() if machine.group == "today")
ACCELERATED = sorted(name for name in TODAY if MACHINES[name].accelerator)
FAMILIES = {"emulator", "pamela", "perturb", "petri", "spmd"}

GEMM = 2 * 16384**3  # operations
GPU = f"""
def program(rank, size):
    compute(0, 2.4e9, on="gpu")
    compute({GEMM}, on="gpu", precision="bf16")
    allreduce(1e6)
"""
TRIAD = """
def program(rank, size, n=1e8):
    compute(2 * n, 24 * n)
"""

#: Medians of osu_latency between pairs of 64 nodes, microseconds by bytes, of the cloud
#: performance study (github.com/converged-computing/performance-study, MIT licence).
OSU = {
    "aws-hpc6a": {8: 15.72, 1024: 16.05, 16384: 20.13, 131072: 65.945, 1048576: 252.34},
    "azure-hbv3": {8: 1.58, 1024: 2.63, 16384: 5.30, 131072: 13.735, 1048576: 49.47},
    "gcp-c2d": {8: 36.255, 1024: 42.22, 16384: 64.16, 65536: 204.71, 1048576: 733.23},
}


def answers(source: str, name: str, p: int) -> dict[str, float]:
    workload = read_source(source, "w.py", "w")
    rows = REGISTRY.compare(workload, MACHINES[name], p=p, elasticities=False).rows
    assert not [row.message for row in rows if row.time is None]
    return {row.solver.partition(".")[0]: row.time for row in rows}


def test_there_are_machines_of_every_sort() -> None:
    assert len(TODAY) >= 15
    assert {"a100-hdr", "frontier", "gb200-nvl72", "h100-ndr", "mi300x-ndr"} == set(ACCELERATED)
    assert {machine.group for machine in MACHINES.values()} == {"today", "storage", "papers"}
    assert all(MACHINES[name].year for name in TODAY)


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_every_number_says_where_it_is_from(name: str) -> None:
    check_machine(REGISTRY, name)


@pytest.mark.parametrize("name", TODAY)
def test_every_family_answers(name: str) -> None:
    rows = REGISTRY.compare(
        "stencil2d", name, p=8, settings={"n": 4096, "steps": 3}, elasticities=False
    ).rows
    assert {row.solver.partition(".")[0] for row in rows} == FAMILIES
    assert not [row.message for row in rows if row.time is None]
    times = [row.time for row in rows]
    assert max(times) < 1.5 * min(times)


@pytest.mark.parametrize("name", ACCELERATED)
def test_every_family_answers_for_accelerators(name: str) -> None:
    accelerator = MACHINES[name].accelerator
    shares = {step.kind: step.share for step in accelerator.efficiency}  # the last of each
    working = GEMM / (accelerator.rates["bf16"] * shares["gemm"])
    moving = 2.4e9 / (accelerator.memory_bandwidth * shares["memory"])
    times = answers(GPU, name, 8)
    assert times.keys() == FAMILIES
    for time in times.values():
        assert working + moving <= time * (1 + 1e-12)  # the bound of pamela leaves waits out
        assert time < 1.25 * (working + moving)


@pytest.mark.parametrize("name", sorted(set(ACCELERATED) - {"a100-hdr"}))
def test_shares_that_are_carried_over_from_a100_are_so_by_one_rule(name: str) -> None:
    """Attention by the share of products, pointwise kernels by that of STREAM: the middles."""
    steps = MACHINES[name].accelerator.efficiency
    shares = {step.kind: step.share for step in steps}  # the last of each
    assert shares["attention"] == pytest.approx((0.52 + 0.86) / 2 * shares["gemm"], rel=0.02)
    assert shares["pointwise"] == pytest.approx((0.6 + 1) / 2 * shares["memory"], rel=0.02)
    query = Query(workload=REGISTRY.workload("gpt-22b"), machine=MACHINES[name], p=8, d=1)
    assert {step.kind for step in steps} == {"gemm", "memory", "attention", "pointwise"}
    without = tuple(step for step in steps if step.kind in {"gemm", "memory"})
    accelerator = attrs.evolve(MACHINES[name].accelerator, efficiency=without)
    parts = {**MACHINES[name].parts, "accelerator": accelerator}
    before = attrs.evolve(query, machine=attrs.evolve(MACHINES[name], parts=parts))
    times = [REGISTRY.solver("training.step").solve(q).time for q in (before, query)]
    assert 1 < times[1] / times[0] < 1.1


def test_a_triad_takes_its_bytes_by_the_bandwidth_of_the_node() -> None:
    """128 processes that move 2.4 GB each, and two nodes as one."""
    seconds = 128 * 2.4e9 / 340e9
    for p in (128, 256):
        assert answers(TRIAD, "milan-hdr", p)["emulator"] == pytest.approx(seconds)


def test_one_process_draws_what_one_core_can() -> None:
    assert answers(TRIAD, "milan-hdr", 1)["emulator"] == pytest.approx(2.4e9 / 43.6e9)


@pytest.mark.parametrize("name", OSU)
def test_messages_between_nodes_take_as_long_as_measured(name: str) -> None:
    workload = REGISTRY.workload("token-ring")
    query = Query(workload=workload, machine=MACHINES[name], p=2, d=1, mapping=(0, 1))
    costs = Costs.of(query, {"messages"}, WHOLE_NETWORK)
    for n, microseconds in OSU[name].items():
        seconds = float(costs.wire(0, 1, n))
        assert seconds == pytest.approx(microseconds * 1e-6, rel=0.12), n


def test_a_rack_of_gb200_keeps_its_messages_on_nvlink() -> None:
    workload = REGISTRY.workload("token-ring")
    query = Query(workload=workload, machine=MACHINES["gb200-nvl72"], p=144, d=1)
    costs = Costs.of(query, {"messages"}, WHOLE_NETWORK)
    assert float(costs.wire(0, 71, 1e9)) == pytest.approx(3e-6 + 1e9 / 765e9)
    assert float(costs.wire(0, 72, 1e9)) == pytest.approx(5e-6 + 1e9 / 48e9)


def test_the_page_lists_them_as_they_are() -> None:
    docs = Path(__file__).parents[1] / "docs"
    page = runpy.run_path(str(docs / "catalog.py"))["page"]
    written = (docs / "machines.md").read_text(encoding="utf-8")
    assert written == page(REGISTRY), "run: python docs/catalog.py"
