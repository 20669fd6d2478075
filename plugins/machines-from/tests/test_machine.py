"""A machine whose benchmarks are predicted by the engine is found again from them."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from parcast import Registry
from parcast.cli import main
from parcast.testing import turn
from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.checking.summaries import outside_by_chance
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.reading import read_file
from parcast_machines_from.records import Reading, Series, Value

SIZES = [2.0**k for k in range(23)]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


def drawn_machine(seed: int) -> dict[str, Any]:
    """Return a machine whose protocol changes at some size."""
    draw = random.Random(seed)
    startup = draw.uniform(1e-6, 20e-6)
    port = draw.uniform(1e9, 40e9)
    overhead = draw.uniform(0.05, 0.2) * startup
    return {
        "name": "true",
        "nodes": {"cores": 8},
        "network": {
            "startup": startup,
            "bandwidth": port / draw.uniform(1.5, 4),
            "overhead": overhead,
            "port_bandwidth": port,
            "contention": "fair",
            "sizes": [
                {
                    "least": 2.0 ** draw.randint(12, 16),
                    "startup": startup * draw.uniform(1.4, 2.5),
                    "bandwidth": port * draw.uniform(0.6, 0.95),
                }
            ],
        },
    }


def outputs(registry: Registry, machine: dict[str, Any]) -> Reading:
    """Return what a ping-pong and windows measure on a machine, as its engine says."""
    series = []
    for benchmark, quantity in (("latency", "s"), ("bandwidth", "B/s")):
        values = tuple(Value(size, 1.0, 1) for size in SIZES)
        asked = Series(benchmark, quantity, values, "t.txt", "OSU", processes=2, window=64)
        if benchmark == "latency":
            asked = Series(benchmark, quantity, values, "t.txt", "OSU", processes=2)
        checked = check_machine(
            registry, registry.machine(machine), Reading((asked,)), limit=2, samples=0
        )
        values = tuple(
            Value(item.size, item.predicted, line) for line, item in enumerate(checked.compared, 1)
        )
        series.append(Series(benchmark, quantity, values, "t.txt", "OSU", 2, window=asked.window))
    return Reading(tuple(series))


@pytest.mark.parametrize("seed", turn(range(4), 4))
def test_a_machine_is_found_again_from_its_benchmarks(registry: Registry, seed: int) -> None:
    true = drawn_machine(seed)
    reading = outputs(registry, true)
    result = estimate(reading, "again", {"node": 8})
    again = registry.machine(result.data)
    checked = check_machine(registry, again, reading, limit=2, samples=0)
    assert len(checked.compared) == 2 * len(SIZES)
    errors = sorted(abs(item.error) for item in checked.compared)
    assert errors[len(errors) // 2] < 0.01
    assert errors[-1] < 0.2, max(checked.compared, key=lambda item: abs(item.error))
    startup = again.network.startup
    assert startup == pytest.approx(true["network"]["startup"], rel=0.1)


def test_every_number_has_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "osu.txt"
    rows = "".join(f"{2**k} {1.5 + 2**k / 1e4:.2f}\n" for k in range(20))
    path.write_text("# OSU MPI Latency Test v5.8\n# Size   Latency (us)\n" + rows)
    data = estimate(read_file(path), "m", {}).data
    assert data["network"].keys() == {"startup", "bandwidth"}
    assert all("osu.txt:3-22" in text for text in data["sources"].values())
    assert Registry().machine(data).network.bandwidth == pytest.approx(1e10, rel=0.02)


def test_files_without_values_by_size_are_nothing_to_compare(tmp_path, capsys):
    host = tmp_path / "host.toml"
    host.write_text(
        '[host]\nid = "1"\n[processor]\nrate = "5 GFLOP/s"\n'
        '[sources]\n"processor" = "measured: POLY1"\n'
    )
    assert main(["machine", "check", "milan-hdr", str(host)]) == 2
    assert "host.toml: no benchmark's values by size" in capsys.readouterr().err


@pytest.mark.parametrize("count", [1, 2, 20, 86, 400])
def test_no_more_intervals_than_said_miss_by_chance(count: int) -> None:
    def no_more_than(most: int) -> float:
        return sum(math.comb(count, k) * 0.05**k * 0.95 ** (count - k) for k in range(most + 1))

    said = outside_by_chance(count)
    assert no_more_than(said) >= 0.95
    assert said == 0 or no_more_than(said - 1) < 0.95


def test_more_processes_than_a_node_has_cores_are_told(registry: Registry) -> None:
    machine = registry.machine({"name": "m", "network": {"startup": 1e-6, "bandwidth": 1e9}})
    asked = Series("allreduce", "s", (Value(8.0, 1e-5, 1),), "t.txt", "OSU", processes=192, nodes=2)
    (note,) = check_machine(registry, machine, Reading((asked,)), limit=999, samples=0).notes
    assert "it had 96 processes on a node, and m has nodes.cores = 1" in note
    assert "--level node=96" in note
