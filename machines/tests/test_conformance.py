"""Every shipped machine is readable and states the source of each number."""

from __future__ import annotations

import pytest
from parcast.testing import check_machine, check_plugin

import parcast_machines
from parcast import Registry

REGISTRY = Registry([parcast_machines])


def test_the_package_conforms() -> None:
    check_plugin(parcast_machines)


@pytest.mark.parametrize("name", list(REGISTRY.machines))
def test_a_machine_conforms(name: str) -> None:
    check_machine(REGISTRY, name)


def test_the_machines_of_the_queuing_paper_are_there() -> None:
    assert {"ibm-sp2", "intel-paragon"} <= set(REGISTRY.machines)
    sp2 = REGISTRY.machine("ibm-sp2")
    assert sp2.processor.rate == 120e6
    assert sp2.network.startup == 150e-6
    assert sp2.network.bandwidth == 27e6
    assert sp2.network.saturation == 120e6
    assert (sp2.storage.disks, sp2.storage.bandwidth) == (3, 10e6)
