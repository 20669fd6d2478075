"""The numbers of a machine that time is made of, and machines on which they are better."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.model.machine import (
    LocalNetwork,
    Machine,
    Network,
    NetworkLevel,
    NetworkSize,
    Nodes,
    Processor,
    Storage,
)
from parcast.model.numbers import improved, numbers_of

MACHINE = Machine(
    name="m",
    parts={
        "processor": Processor(rate=4e9),
        "nodes": Nodes(count=4, cores=2, memory_bandwidth=8e9),
        "network": Network(
            startup=1e-6,
            bandwidth=1e9,
            overhead_per_byte=1e-10,
            header=16,
            local=LocalNetwork(bandwidth=2e9),
            levels=(NetworkLevel(name="socket", size=2, startup=5e-7, shared=4e9),),
            sizes=(NetworkSize(least=100, startup=2e-6), NetworkSize(least=200, startup=3e-6)),
        ),
        "storage": Storage(disks=3, bandwidth=1e8),
    },
)
PATHS = (
    "processor.rate",
    "nodes.memory_bandwidth",
    "network.startup",
    "network.bandwidth",
    "network.overhead_per_byte",
    "network.local.bandwidth",
    "network.sizes.startup",
    "network.levels.socket.startup",
    "network.levels.socket.shared",
    "storage.bandwidth",
)


def test_times_and_rates_are_numbers_and_counts_sizes_and_zeros_are_none():
    assert numbers_of(MACHINE) == PATHS


def test_a_better_machine_has_shorter_times_and_higher_rates():
    better = improved(MACHINE, PATHS, 2)
    assert better.processor.rate == 8e9
    assert better.network.startup == 5e-7
    assert better.network.overhead_per_byte == 5e-11
    assert better.network.header == 16
    assert better.network.local == LocalNetwork(bandwidth=4e9)
    assert better.network.levels[0].shared == 8e9
    assert [size.startup for size in better.network.sizes] == [1e-6, 1.5e-6]
    assert better.storage == Storage(disks=3, bandwidth=2e8)


@pytest.mark.parametrize("path", PATHS)
def test_what_is_not_named_stays(path):
    better = improved(MACHINE, [path], 2)
    assert better != MACHINE
    assert numbers_of(better) == PATHS
    part = path.partition(".")[0]
    assert {**better.parts, part: None} == {**MACHINE.parts, part: None}


@given(st.sets(st.sampled_from(PATHS)))
def test_better_and_as_much_worse_is_the_same_machine(paths):
    assert improved(improved(MACHINE, paths, 2), paths, 0.5) == MACHINE


def test_a_part_that_is_no_table_stays():
    machine = attrs.evolve(MACHINE, parts={"other": {"rate": 3}})
    assert numbers_of(machine) == ()
    assert improved(machine, ["other.rate"], 2) == machine
