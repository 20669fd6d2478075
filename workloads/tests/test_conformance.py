"""Every shipped workload is readable, sourced, and valid from one process up."""

from __future__ import annotations

import pytest

import parcast_workloads
from parcast import Machine, Query, Registry
from parcast.testing import check_plugin, check_workload

REGISTRY = Registry([parcast_workloads])

#: Messages and bytes of one process in one time step of class A, counted in the sources of
#: NPB 3.3-MPI BT (copy_faces.f and x_solve.f).
COUNTED = {
    4: (12, 1_406_280),
    9: (18, 1_250_026.667),
    16: (24, 1_096_920),
    25: (30, 882_412.8),
    36: (36, 781_266.667),
    49: (42, 744_744.49),
    64: (48, 691_320),
}


def test_the_package_conforms() -> None:
    check_plugin(parcast_workloads)


@pytest.mark.parametrize("name", list(REGISTRY.workloads))
def test_a_workload_conforms(name: str) -> None:
    check_workload(REGISTRY, name)


@pytest.mark.parametrize("p", COUNTED)
def test_btio_sends_what_was_counted(p: int) -> None:
    btio = REGISTRY.workload("btio")
    (phase,) = btio.content.at(Query(workload=btio, machine=Machine(name="any"), p=p))
    assert phase.messages == COUNTED[p][0]
    assert phase.bytes == pytest.approx(COUNTED[p][1], rel=1e-9)


@pytest.mark.parametrize("n", [64, 102, 162])
def test_btio_computes_what_npb_counts_in_every_class(n: int) -> None:
    btio = REGISTRY.workload("btio")
    query = Query(workload=btio, machine=Machine(name="any"), p=1, parameters={"n": n})
    (phase,) = btio.content.at(query)
    counted = 3478.8 * n**3 - 17655.7 * n**2 + 28023.7 * n
    assert phase.parallel + phase.serial == pytest.approx(counted, rel=0.002)
    assert phase.io_bytes == 40 * n**3
    assert phase.cycles * phase.bursts == 200
