"""What the shipped machines and workloads of papers answer is what the pages print."""

from __future__ import annotations

import pytest

from parcast import Registry
from parcast.testing import check_machine, check_workload

REGISTRY = Registry()

#: Seconds of five time steps and a write of BTIO, class A, in the table of spmd's page.
BTIO = {
    1: {4: 19.70, 9: 13.01, 16: 9.73, 25: 7.85, 36: 6.76, 49: 6.14, 64: 5.83},
    0: {4: 19.46, 9: 12.71, 16: 9.43, 25: 7.63, 36: 6.56, 49: 5.89, 64: 5.49},
}


@pytest.mark.parametrize("counted", BTIO)
def test_btio_takes_what_the_table_says(counted):
    rows = REGISTRY.compare(
        "btio-paper", "ibm-sp2-paper", p=list(BTIO[counted]), solvers="spmd.sio",
        settings={"counted": counted},
    ).rows  # fmt: skip
    assert {row.p: round(row.time, 2) for row in rows} == BTIO[counted]


def test_its_volumes_are_those_of_the_whole_run():
    row, steps = (
        REGISTRY.compare(name, "ibm-sp2", p=16, solvers="spmd.sio").rows[0]
        for name in ("btio", "btio-paper")
    )
    assert row.time / 40 == pytest.approx(steps.time, rel=0.02)  # 830 and 10 MFlop, not 828 and 9.6


def test_one_of_the_four_workstations_is_loaded():
    check_machine(REGISTRY, "four-workstations")
    check_workload(REGISTRY, "btio-paper")
    machine = REGISTRY.machine("four-workstations")
    idle = {**machine.data, "name": "idle"}
    del idle["background"]
    idle["sources"] = {
        key: text for key, text in idle["sources"].items() if not key.startswith("background")
    }
    loaded, alone = (
        REGISTRY.compare("ring-matmul", one, p=4, solvers="petri.mean").rows[0]
        for one in (machine, idle)
    )
    assert loaded.time > alone.time
    assert [machine.part("background", object).of(node) for node in range(5)] == [0.5, 0, 0, 0, 0]
    assert sum(text.startswith("assumed") for text in machine.sources.values()) == 5
