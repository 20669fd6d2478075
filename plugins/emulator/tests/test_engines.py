"""Both engines against the reference cases, the plain reference and each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from random import Random

import numpy as np
import pytest

from parcast.errors import SolveError, UnsupportedError
from parcast.testing import cases, seeds
from parcast_emulator.blocks import Consumers, make_blocks
from parcast_emulator.cluster import UNLIMITED, Hardware, make_cluster
from parcast_emulator.engines import windows
from parcast_emulator.engines.applicable import why_not_feed_forward
from parcast_emulator.results import operation_times
from parcast_emulator.simulation import simulate, verify
from parcast_emulator.spec import spec_from_data

from .reference import Simulation
from .specs import CASES, random_spec

EXACT = {"dyadic_exact", "alpha_zero_ties"}


def run(data, engine="auto", **options):
    spec = spec_from_data(data, "data")
    outcome = simulate(
        spec.cluster, spec.epochs, engine=engine, own_epochs=spec.own_epochs, record=True, **options
    )
    return outcome, operation_times(spec.cluster, outcome)


def numbers(ops):
    """Return the times of all operations as one list, and what they are about as another."""
    found, about = [], []
    for op in ops:
        found += [op[key] for key in ("disk_start", "disk_end", "bus_start", "bus_end")]
        about.append((op["epoch"], op["node"], op["disk"]))
        for send in op["sends"]:
            found += [send[key] for key in ("out_start", "out_end", "in_start", "in_end")]
            about.append(send["dst"])
        for done in sorted(op["computes"], key=lambda one: one["node"]):
            found += [done["cpu_start"], done["cpu_end"]]
            about.append((done["node"], done["local"]))
    return found, about


@pytest.mark.parametrize("engine", ["feed-forward", "merge"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reference_cases(case, engine):
    _, found = run(case, engine)
    expected = case["expected"]
    near = (lambda x: x) if case["name"] in EXACT else (lambda x: pytest.approx(x, rel=1e-9))
    assert found["makespan"] == near(expected["makespan"])
    assert found["epoch_ends"] == near(expected["epoch_ends"])
    values, about = numbers(found["ops"])
    wanted, wanted_about = numbers(expected["ops"])
    assert about == wanted_about
    assert values == near(wanted)
    assert [op["block"] for op in found["ops"]] == [op["block"] for op in expected["ops"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_plain_reference_gives_the_reference_cases(case):
    made = Simulation(case).run()
    assert max(made.ends) == pytest.approx(case["expected"]["makespan"], rel=1e-9)
    values, about = numbers(made.ops)
    wanted, wanted_about = numbers(case["expected"]["ops"])
    assert about == wanted_about
    assert values == pytest.approx(wanted, rel=1e-9)


#: Where a header that takes no time comes when another is at the port already
NO_LATENCY = (362, 1370)


@pytest.mark.parametrize("dyadic", [False, True])
def test_both_engines_equal_the_plain_reference_in_every_bit(dyadic):
    for seed in (*NO_LATENCY, *seeds(cases(75))):
        data = random_spec(seed, dyadic=dyadic)
        made = Simulation(data).run()
        for engine in ("feed-forward", "merge"):
            outcome, found = run(data, engine)
            assert numbers(found["ops"]) == numbers(made.ops), (seed, engine)
            assert list(outcome.epoch_ends) == made.ends, (seed, engine)
            assert outcome.lower <= outcome.time


def test_engines_are_equal_in_every_bit_on_random_block_lists(monkeypatch):
    """With 2 to 7 threads at every fifth."""
    random = Random(1)
    monkeypatch.setattr(windows, "_WORTH_THREADS", 0)
    for seed in seeds(cases(150)):
        monkeypatch.setattr(
            windows.os, "cpu_count", lambda seed=seed: 1 if seed % 5 else 2 + seed % 6
        )
        data = random_spec(seed, dyadic=seed % 2 == 0)
        hardware = {"bus_mode": random.choice(["store-and-forward", "cut-through"])}
        if random.random() < 0.3:
            hardware |= {"trev": 0, "seek0": 0, "seek1": 0, "channels": random.randint(2, 4)}
        if random.random() < 0.3:
            hardware["iops"] = random.choice([50.0, 64.0, 1000.0])
        data["machine"] |= hardware
        spec = spec_from_data(data, "data")
        verify(spec.cluster, lambda spec=spec: spec.epochs)


def test_neither_threads_nor_windows_change_a_bit(monkeypatch):
    monkeypatch.setattr(windows, "_WORTH_THREADS", 0)
    for seed in range(12):
        data = random_spec(seed, dyadic=seed % 2 == 0)
        _, once = run(data, "feed-forward", threads=1)
        for threads, most in ((3, 4), (2, 30)):
            _, again = run(data, "feed-forward", threads=threads, most_messages=most)
            assert again == once, seed


COUPLED = {
    "half duplex": ({"duplex": "half"}, {}),
    "two buffers": ({"buffers": 2}, {}),
    "one buffer": ({"buffers": 1}, {}),
    "own epochs": ({}, {"epochs_of": "node"}),
    "all of them": ({"duplex": "half", "buffers": 1}, {"epochs_of": "node"}),
}


@pytest.mark.parametrize("name", COUPLED)
def test_the_merge_engine_follows_what_feed_forward_cannot(name):
    machine, rest = COUPLED[name]
    differs, count = 0, cases(40, least=40)
    for seed in seeds(count):
        data = random_spec(seed, epochs=3) | rest
        data["machine"] |= machine
        data["machine"]["alpha"] += 1e-4  # no ties, whose order is not specified here
        plain = deepcopy(data) | {"buffers": machine.get("buffers", UNLIMITED)}
        made = Simulation(plain).run()
        outcome, found = run(data)
        assert outcome.engine == "merge"
        assert numbers(found["ops"]) == numbers(made.ops), seed
        assert list(outcome.epoch_ends) == made.ends, seed
        free = random_spec(seed, epochs=3)
        free["machine"]["alpha"] += 1e-4
        differs += run(free)[0].time != outcome.time
    assert differs > count // 20


def test_the_static_check_names_the_circle():
    assert why_not_feed_forward(Hardware(), own_epochs=False) is None
    found = why_not_feed_forward(Hardware(half_duplex=True), own_epochs=False)
    assert found is not None
    assert found.startswith("port ")
    assert "nic.duplex = 'half'" in found
    assert "processor" in (why_not_feed_forward(Hardware(), own_epochs=True) or "")
    assert "nic.buffers" in (why_not_feed_forward(Hardware(buffers=3), own_epochs=False) or "")
    data = random_spec(3)
    data["machine"]["duplex"] = "half"
    with pytest.raises(UnsupportedError, match="no order of servers here, because port"):
        run(data, "feed-forward")


def random_rectangles(seed):
    random = Random(seed)
    rows, columns, first = random.randint(1, 4), random.randint(1, 5), random.randint(0, 2)
    count, nodes = random.randint(1, 40), first + rows * columns
    row = [random.randrange(rows) for _ in range(count)]
    consumers = Consumers.rectangles(
        row,
        [random.randrange(columns) for _ in range(count)],
        [random.randint(0, rows - one) for one in row],
        [random.randint(1, columns) for _ in range(count)],
        columns,
        first,
    )
    hardware = Hardware(media=8e6, bus_bandwidth=2e7, latency=1e-4, bandwidth=4e7)
    cluster = make_cluster([[0, 1]] * nodes, hardware)
    disks = [random.randrange(2 * nodes) for _ in range(count)]
    return cluster, make_blocks(disks, np.zeros(count), 187000.0, 0.01, consumers)


@pytest.mark.parametrize("engine", ["feed-forward", "merge"])
def test_rectangles_of_consumers_are_their_lists(engine):
    for seed in seeds(60):
        cluster, blocks = random_rectangles(seed)
        lists = blocks._replace(consumers=blocks.consumers.as_lists())
        by_rectangle = simulate(cluster, [blocks], engine=engine, most_messages=4 + seed % 9)
        by_list = simulate(cluster, [lists], engine=engine)
        assert by_rectangle.epoch_ends == by_list.epoch_ends
        for one, other in zip(by_rectangle.usage, by_list.usage, strict=True):
            assert np.array_equal(one, other)


def test_faster_processors_compute_sooner():
    cluster, blocks = random_rectangles(5)
    twice = cluster._replace(speed=np.full(len(cluster.speed), 2.0))
    slow, fast = simulate(cluster, [blocks]), simulate(twice, [blocks])
    assert fast.usage.cpu[0].sum() == pytest.approx(slow.usage.cpu[0].sum() / 2)
    assert simulate(twice, [blocks], engine="merge").time == fast.time


def test_more_blocks_than_memory_are_one_sentence():
    cluster, blocks = random_rectangles(5)

    def epochs():
        yield blocks
        np.empty(2**55)  # bytes that no machine has

    with pytest.raises(SolveError, match=r"one epoch do not fit in memory \(Unable to allocate"):
        simulate(cluster, epochs())


def test_a_disk_with_channels_and_a_limit_on_accesses():
    hardware = Hardware(overhead=0.5, media=1e6, channels=2, gap=0.25, bus_bandwidth=1e9)
    cluster = make_cluster([[0]], hardware)
    none = Consumers.lists(np.zeros(5, int), [])
    blocks = make_blocks([0] * 4, np.arange(4) * 1e6, 1e6, 0.0, none)
    (done,) = simulate(cluster, [blocks], record=True).passes
    # 1.5 s each, two at once, never two starts within a quarter of a second
    assert done.record.disk_start.tolist() == [0, 0.25, 1.5, 1.75]
    assert done.record.disk_end.tolist() == [1.5, 1.75, 3.0, 3.25]


def test_a_cut_through_bus_carries_while_the_disk_reads():
    hardware = Hardware(media=1e6, bus_bandwidth=2e6, cut_through=True)
    cluster = make_cluster([[0, 0]], hardware)
    none = Consumers.lists(np.zeros(3, int), [])
    blocks = make_blocks([0, 1], [0, 0], 1e6, 0.0, none)
    (done,) = simulate(cluster, [blocks], record=True).passes
    assert done.record.bus_end.tolist() == [1.0, 1.5]
    cluster = cluster._replace(hardware=hardware._replace(cut_through=False))
    (done,) = simulate(cluster, [blocks], record=True).passes
    assert done.record.bus_end.tolist() == [1.5, 2.0]


PLAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numba
from tests.test_engines import run
from tests.specs import random_spec
assert numba.config.DISABLE_JIT
found = []
for seed in range(12):
    data = random_spec(seed, dyadic=seed % 2 == 0)
    found += [run(data, engine, most_messages=6)[1] for engine in ("feed-forward", "merge")]
    data["machine"]["duplex"], data["epochs_of"] = "half", "node"
    found.append(run(data)[1])
print(json.dumps(found))
"""


def test_the_plain_form_of_every_kernel_is_equal():
    folder = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, folder],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    for seed in range(12):
        data = random_spec(seed, dyadic=seed % 2 == 0)
        for engine in ("feed-forward", "merge"):
            assert run(data, engine)[1] == plain.pop(0), seed
        data["machine"]["duplex"], data["epochs_of"] = "half", "node"
        assert run(data)[1] == plain.pop(0), seed
