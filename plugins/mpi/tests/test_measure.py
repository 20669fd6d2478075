"""Machine files: from samples of a known machine, from this host, and when it is too busy."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from parcast import Registry, SolveError, UnsupportedError
from parcast.cli import main
from parcast.quantities import to_base
from parcast_mpi import library
from parcast_mpi.host import Host, Load, identity
from parcast_mpi.measuring import measure as measuring
from parcast_mpi.measuring.machine_file import file_text, values
from parcast_mpi.measuring.measure import MeasurementPlan, benchmarks, measure
from parcast_mpi.measuring.sampling import (
    BENCHMARK_SIZES,
    EAGER_SIZES,
    FILE_SIZES,
    HANDLED_SIZES,
    SIZES,
    WINDOW_SIZES,
    BenchmarkEffort,
    Effort,
)
from parcast_mpi.variability import Variability


def samples(rank: int) -> dict[str, Any]:
    """Return what a rank of a machine of these numbers would sample, in three rounds."""
    both = {"rate": [[4e9], [5e9], [6e9]], "saturation": [[3e9]] * 3}
    both |= {"memory in place": [[7e9], [6e9], [5e9]], "memory added": [[5e9], [4e9], [3e9]]}
    both["noise"] = [[100.0] * 50, [100.0] * 49 + [50.0]]
    exchanged = [3e-6 + n / 2e9 for n in HANDLED_SIZES]
    handled = {
        "add": [[n / 4e9 for n in HANDLED_SIZES]],
        "exchange": [exchanged],
        "copy": [[t + n / 8e9 for t, n in zip(exchanged, HANDLED_SIZES, strict=True)]],
        "keep": [[t + n / 2e10 for t, n in zip(exchanged, HANDLED_SIZES, strict=True)]],
    }
    both["handled"] = [handled] * 3
    together = {"together": [FILE_SIZES[-1] / 3e8]}
    if rank:
        receiving = {"sending": [], "receiving": [1.5e-6] * 3}
        writing = {"storage": [together] * 3}
        return {**both, "rate alone": [[]] * 3, "calls": [receiving] * 3, **writing}
    files = {
        "write": [1e-3 + n / 2e8 for n in FILE_SIZES],
        "read": [2e-4 + n / 1e9 for n in FILE_SIZES],
        "copy": [1e-5 + n / 4e9 for n in FILE_SIZES],
    }
    return {
        **both,
        "rate alone": [[8e9]] * 3,
        "memory in place alone": [[8e9]] * 3,
        "memory added alone": [[6e9]] * 3,
        "storage": [{**files, **together}] * 3,
        "messages": ping_pong([5e-6 + n / 2e9 for n in SIZES]),
        "windows": [[[1e-6 + n / 8e9 for n in WINDOW_SIZES]]] * 3,
        "calls": [{"sending": [1e-6] * 3, "receiving": []}] * 3,
        "eager limit": [[1e-6 if n <= 65536 else 5e-3 for n in EAGER_SIZES]] * 3,
    }


def ping_pong(times: list[float]) -> list[dict[str, Any]]:
    return [{"halves": [times], "short": [5e-6] * 3}] * 3


def test_a_file_says_what_the_samples_say(registry: Registry, tmp_path: Path) -> None:
    answers = [samples(0), samples(1)]
    found = [v for v in values(answers, None, vendor="MPICH") if v.part in registry.parts]
    path = tmp_path / "m.toml"
    path.write_text(file_text("m", "known", found, {"id": "1", "cores": 2, "busy": 0.5}))
    machine = registry.machine(str(path))
    assert machine.processor.rate == 5e9
    assert (machine.nodes.count, machine.nodes.cores) == (1, 2)
    assert machine.nodes.memory_bandwidth == 1e10
    network = machine.network
    assert network.startup == pytest.approx(2.5e-6)
    assert network.overhead_per_byte == pytest.approx(1 / 8e9)
    whole = network.overhead_per_byte + 1 / network.bandwidth
    assert whole == pytest.approx(1 / 2e9)  # what a byte costs in the ping-pong
    assert [entry.least for entry in network.sizes] == [0, 131072]  # over the limit
    for entry in network.sizes:
        assert entry.startup == pytest.approx(2.5e-6)
        assert entry.bandwidth == pytest.approx(network.bandwidth)
    assert (network.overhead, network.overhead_receive) == (1e-6, 1.5e-6)
    assert network.eager_limit == 65536
    assert network.collectives == "mpich"
    assert network.reduction_bandwidth == pytest.approx(4e9)
    assert network.copy_bandwidth == pytest.approx(8e9)
    assert network.own_bandwidth == pytest.approx(2e10)
    alone = 2**20 / (5e-6 + 2**20 / 2e9)
    assert network.contention_level == pytest.approx(alone / 3e9, abs=1e-4)
    assert machine.storage.disks == 2  # each of two writes at 300 MB/s, one alone at 200
    assert machine.storage.bandwidth == pytest.approx(2.5e8)
    assert machine.storage.startup == pytest.approx(1e-3)
    assert machine.processor.boost == 1.6
    assert machine.nodes.core_bandwidth == 7e9
    assert "8.000 +- 0.000 GFLOP/s on one core while" in machine.sources["processor.boost"]
    assert "B/s after 200.000 +- 0.000 us" in machine.sources["storage.bandwidth"]
    varied = machine.part("variability", Variability)
    assert varied is not None
    assert varied.lost is not None
    assert varied.message is not None
    assert varied.lost.mean == pytest.approx(5e-6, rel=0.01)  # 1 % of the quanta, half of each
    assert varied.message.mean == pytest.approx(5e-6)
    host = machine.part("host", Host)
    assert host is not None
    assert (host.id, host.busy, host.overloaded) == ("1", 0.5, False)


def test_it_states_disks_buses_and_noise_as_the_families_read_them() -> None:
    stated = {(v.part, v.key): v.value for v in values([samples(0), samples(1)], None)}
    numbers = {
        ("disk", "bandwidth", "B/s"): 1e9,
        ("disk", "overhead", "s"): 2e-4,
        ("disk", "write_bandwidth", "B/s"): 2e8,
        ("bus", "bandwidth", "B/s"): 4e9,
        ("bus", "latency", "s"): 1e-5,
    }
    for (part, key, unit), number in numbers.items():
        value, _, _, measured = stated[part, key].split()
        assert to_base(f"{value} {measured}", unit) == pytest.approx(number)
    assert stated["bus", "mode"] == "cut-through"
    # of 100 ms two quanta lose half a millisecond each: 99 ms are computed
    assert stated["noise", "computation"] == "random:99500us,500us"


def measured(plan: MeasurementPlan, tell: Any = lambda *_: None) -> str:
    """Return the machine file of a host that may be loaded: then it is measured again."""
    for _ in range(10):
        try:
            return measure(plan, tell)
        except SolveError as error:
            if "measure again on a quieter host" not in str(error):
                raise
    pytest.skip("the host is too loaded to be measured in ten times")


def test_one_core_has_no_messages_and_a_kernel_of_the_user_counts() -> None:
    only = {**samples(0), "rate of the kernel": [[2e9], [1e9], [3e9]]}
    only["rate of the kernel alone"] = [[2e9]] * 3
    found = {(v.part, v.key): v for v in values([only], "mine:solve")}
    assert not any(part == "network" for part, _ in found)
    assert found["processor", "rate"].value == "2.0 +- 2.5 GFLOP/s"
    assert found["processor", "rate"].source.startswith("mine:solve on one core; POLY1, 5.0 +- 2.5")
    assert ("processor", "boost") not in found


def test_messages_that_disturb_each_other_wholly_are_a_bus() -> None:
    slow = {**samples(0), "saturation": [[1e9]] * 3}
    found = {(v.part, v.key): v.value for v in values([slow, samples(1)], None)}
    assert found["network", "contention_level"] == 1.0


@pytest.mark.parametrize("busy", [Load(0.5, 0.0), Load(0.0, 0.06)])
def test_a_busy_host_is_not_measured(
    mpi: library.Library, busy: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "load", lambda _seconds: busy)
    with pytest.raises(UnsupportedError, match=r"too busy to be measured: .* of \d+ cores busy"):
        measure(MeasurementPlan())


def test_this_host_is_measured(
    mpi: library.Library, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "load", lambda _seconds: Load(0.25, 0.0))
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def solve():\n    return sum(1.0 for _ in range(1000))\n")
    effort = Effort(
        rounds=2, repeats=2, calls=10, quanta=20, seconds=0.002, passes_between=10, memory=1 << 24
    )
    reference = registry.machine({"name": "r", "processor": {"rate": "1 MFLOP/s"}})
    seen: list[str] = []
    text = measured(
        MeasurementPlan(
            kernel="mine:solve",
            reference=reference,
            anyway=True,
            effort=effort,
            parts=registry.parts,
        ),
        lambda _place, _count, name: seen.append(name),
    )
    Path("m.toml").write_text(text)
    machine = registry.machine("m.toml")
    host = machine.part("host", Host)
    assert host is not None
    assert (host.id, host.busy, host.overloaded) == (identity(), 0.25, True)
    assert machine.processor.rate is not None
    assert 1e5 < machine.processor.rate < 1e9
    assert host.weight == pytest.approx(machine.processor.rate / 1e6, rel=0.2)
    assert seen
    assert machine.storage.bandwidth
    assert "[disk]" not in text  # which no plugin here knows


def test_the_times_of_a_machine_by_size_are_those_of_its_ping_pong(registry: Registry) -> None:
    first, second = samples(0), samples(1)
    times = [5e-6 + n / 2e9 if n < 8192 else 9e-6 + n / 4e9 for n in SIZES]
    first["messages"] = ping_pong(times)
    numbers = {v.key: v.value for v in values([first, second], None) if v.part == "network"}
    network = registry.machine({"name": "m", "network": numbers}).network
    for n, time in zip(SIZES, times, strict=True):
        entry = next(entry for entry in reversed(network.sizes) if n >= entry.least)
        own = network.overhead + network.overhead_receive + n * network.overhead_per_byte
        assert own + entry.startup + n / entry.bandwidth == pytest.approx(time, rel=1e-3)


@pytest.mark.parametrize(("waiting", "receive"), [(4e-6, 1.5e-6), (8e-6, 1e-6), (12e-6, 0.0)])
def test_messages_that_wait_cost_what_they_do_in_a_window(
    registry: Registry, waiting: float, receive: float
) -> None:
    first, second = samples(0), samples(1)
    first["messages"] = ping_pong([(5e-6 if n <= 65536 else 9e-6) + n / 2e9 for n in SIZES])
    first["windows"] = [
        [[(1e-6 if n <= 65536 else waiting) + n / 8e9 for n in WINDOW_SIZES]]
    ] * 3  # fmt: skip
    numbers = {v.key: v.value for v in values([first, second], None) if v.part == "network"}
    short, long = registry.machine({"name": "m", "network": numbers}).network.sizes
    assert (short.overhead, short.overhead_receive) == (None, None)
    assert long.least == 131072
    assert long.overhead == pytest.approx(waiting, rel=1e-3)
    assert long.overhead_receive == pytest.approx(receive, rel=1e-3)  # no more than is left
    left = max(0.0, 9e-6 - waiting - receive)
    assert long.startup == pytest.approx(left, rel=1e-3, abs=1e-9)


def test_benchmarks_of_this_host_are_a_table(mpi: library.Library) -> None:
    effort = BenchmarkEffort(rounds=2, seconds=1e-5, trials=1, memory=1 << 24, file=1 << 20)
    text = benchmarks(MeasurementPlan(), effort)
    rows = list(csv.DictReader(text.splitlines()))
    assert {"triad", "gemm", "write", "write-shared"} <= {row["application"] for row in rows}
    for row in rows:
        assert 0 < float(row["min"]) <= float(row["median"]) <= float(row["max"]) < 1e15
        assert row["n"] == "2"
    if os.cpu_count() != 1:
        times = [row for row in rows if row["application"] == "latency"]
        assert [int(row["message_bytes"]) for row in times] == list(BENCHMARK_SIZES)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("-o m.json", "m.json: a machine is written as .toml"),
        ("-o /nowhere/m.toml", "there is no folder /nowhere"),
        ("-o m.toml --kernel solve", "--kernel 'solve': write dgemm, or MODULE:FUNCTION"),
        ("-o m.toml --benchmarks b.txt", "b.txt: a table of benchmarks is written as .csv"),
        ("-o m.toml --reference sp3", "No machine is called 'sp3'"),
        ("-o m.toml --directory /nowhere", "--directory: there is no folder /nowhere"),
    ],
)
def test_bad_input_is_one_sentence(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mpi", "measure", *command.split()]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("parcast: ")
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_without_mpi_the_command_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(library, "find_spec", lambda _name: None)
    library.find.cache_clear()
    assert main(["mpi", "measure", "-o", str(tmp_path / "m.toml")]) == 1
    library.find.cache_clear()
    assert "pip install 'parcast-mpi[mpich]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
