"""What holds for every block list: engines agree, bytes are kept, and where faster is faster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.testing import cases
from parcast_emulator.blocks import Consumers, make_blocks
from parcast_emulator.cluster import Hardware, make_cluster
from parcast_emulator.simulation import simulate, verify
from parcast_emulator.spec import spec_from_data

from .specs import random_spec

CHEAP = settings(max_examples=cases(20), deadline=None)
seeds = st.integers(0, 2**32)


@CHEAP
@given(seeds, st.booleans())
def test_all_three_engines_give_one_makespan(seed, dyadic):
    spec = spec_from_data(random_spec(seed, dyadic=dyadic), "data")
    outcome = verify(spec.cluster, lambda: spec.epochs)
    processes = simulate(spec.cluster, spec.epochs, engine="tc")
    assert processes.epoch_ends == pytest.approx(outcome.epoch_ends, rel=1e-9)


@CHEAP
@given(seeds, st.sampled_from(["feed-forward", "merge", "tc"]))
def test_every_byte_passes_once(seed, engine):
    spec = spec_from_data(random_spec(seed), "data")
    hardware, used = spec.cluster.hardware, simulate(spec.cluster, spec.epochs, engine=engine).usage
    accesses = messages = computed = sent = size = 0.0
    for blocks in spec.epochs:
        lists = blocks.consumers.as_lists()
        owner = np.repeat(spec.cluster.node_of[blocks.disk], np.diff(lists.start))
        sizes = np.broadcast_to(blocks.size, blocks.disk.shape)
        away = owner != lists.nodes
        accesses += len(blocks.disk)
        size += sizes.sum()
        messages += away.sum()
        sent += np.repeat(sizes, np.diff(lists.start))[away].sum()
        seconds = np.broadcast_to(blocks.compute, blocks.disk.shape)
        computed += np.repeat(seconds, np.diff(lists.start)).sum()
    carried = accesses * hardware.bus_latency + size / hardware.bus_bandwidth
    assert used.bus[0].sum() == pytest.approx(carried)
    assert used.send[0].sum() == pytest.approx(sent / hardware.bandwidth)
    assert used.receive[0].sum() == pytest.approx(sent / hardware.bandwidth)
    assert used.cpu[0].sum() == pytest.approx(computed)
    served = [used.disk[2].sum(), used.bus[2].sum(), used.send[2].sum(), used.receive[2].sum()]
    assert served == [accesses, accesses, messages, messages]


@st.composite
def even(draw):
    """Return a cluster with a disk at each node, and blocks of one size that take as long."""
    nodes, count = draw(st.integers(1, 5)), draw(st.integers(1, 30))
    random = np.random.default_rng(draw(seeds))
    hardware = Hardware(
        overhead=1e-3, seek=draw(st.sampled_from([0.0, 2e-3])), media=draw(st.floats(1e6, 1e8)),
        bus_latency=1e-4, bus_bandwidth=draw(st.floats(1e6, 1e8)),
        latency=draw(st.floats(0, 1e-2)), bandwidth=draw(st.floats(1e6, 1e8)),
    )  # fmt: skip
    fans = [random.permutation(nodes)[: random.integers(nodes + 1)] for _ in range(count)]
    consumers = Consumers.lists(np.cumsum([0, *map(len, fans)]), np.concatenate([[], *fans]))
    disks = random.integers(nodes, size=count)
    offsets = random.integers(40, size=count) * 1e5
    blocks = make_blocks(disks, offsets, 1e5, draw(st.sampled_from([0.0, 1e-3, 0.1])), consumers)
    return make_cluster([[0]] * nodes, hardware), [blocks] * draw(st.integers(1, 2))


BETTER = st.sampled_from(["media", "bus_bandwidth", "bandwidth", "latency", "overhead", "speed"])


@CHEAP
@given(even(), BETTER, st.floats(1.0, 4.0))
def test_of_even_work_from_one_disk_a_node_faster_is_never_slower(made, better, times):
    # blocks of a node stay in order, and equal services end no later if requests come no later
    cluster, epochs = made
    before = simulate(cluster, epochs).time
    hardware = cluster.hardware
    if better == "speed":
        faster = cluster._replace(speed=cluster.speed * times)
    else:
        value = getattr(hardware, better)
        lower = better in {"latency", "overhead"}
        changed = hardware._replace(**{better: value / times if lower else value * times})
        faster = cluster._replace(hardware=changed)
    assert simulate(faster, epochs).time <= before * (1 + 1e-12)


@CHEAP
@given(seeds, st.floats(1.0, 8.0))
def test_faster_processors_are_never_slower(seed, times):
    data = random_spec(seed, epochs=2)
    data["machine"]["trev"] = 0  # a disk that turns may miss its sector by beginning earlier
    spec = spec_from_data(data, "data")
    faster = spec.cluster._replace(speed=spec.cluster.speed * times)
    before, after = (simulate(one, spec.epochs).time for one in (spec.cluster, faster))
    assert after <= before * (1 + 1e-12)


@CHEAP
@given(seeds)
def test_what_is_busiest_is_a_lower_bound(seed):
    spec = spec_from_data(random_spec(seed), "data")
    outcome = simulate(spec.cluster, spec.epochs)
    assert outcome.lower <= outcome.time
    if len(spec.epochs) == 1:
        assert outcome.lower >= outcome.usage.cpu[0].max(initial=0.0) * (1 - 1e-12)
