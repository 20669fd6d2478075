"""Machines from kernels: what is fitted is what the tables were made of, and nonsense is told."""

from __future__ import annotations

import random
import tomllib

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import parcast_spmd
from parcast import Registry, SolveError
from parcast.cli import main
from parcast_spmd.calibration.fitting import exchange_totals, fit_line, saturation

REGISTRY = Registry([parcast_spmd])
SIZES = [0, 8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304]
LINES = st.tuples(st.floats(1e-6, 1e-3), st.floats(1e6, 1e9)).filter(
    lambda pair: SIZES[-1] / pair[1] / pair[0] > 0.1
)


def times(line, sizes=SIZES):
    return [line[0] + size / line[1] for size in sizes]


@given(LINES)
def test_an_exact_line_is_found(line):
    found = fit_line(SIZES, times(line), "x")
    assert found.startup == pytest.approx(line[0], rel=1e-6)
    assert found.bandwidth == pytest.approx(line[1], rel=1e-6)
    assert found.error < 1e-9
    assert found.sizes == len(SIZES)


def test_three_wild_points_beside_each_other_do_not_move_it():
    table = times((3e-4, 1e6))
    for index, factor in {3: 2.0, 1: 1.5, 2: 1.5}.items():
        table[index] *= factor
    assert fit_line(SIZES, table, "x").startup == pytest.approx(3e-4, rel=1e-6)


@given(LINES, st.data())
def test_a_few_wild_points_do_not_move_it(line, data):
    table = times(line)
    for index in data.draw(st.lists(st.integers(0, len(SIZES) - 1), max_size=3, unique=True)):
        assume(0 < index < len(SIZES) - 1)
        table[index] *= data.draw(st.floats(1.5, 100))
    found = fit_line(SIZES, table, "x")
    assert found.startup == pytest.approx(line[0], rel=1e-6)
    assert found.bandwidth == pytest.approx(line[1], rel=1e-6)


def test_wild_points_among_noisy_ones_are_left_out():
    noise, line = random.Random(11), (1e-4, 1e8)
    table = [time * noise.uniform(0.98, 1.02) for time in times(line)]
    for index in (1, 5, 8):
        table[index] *= 4
    found = fit_line(SIZES, table, "x")
    assert found.startup == pytest.approx(line[0], rel=0.03)
    assert found.bandwidth == pytest.approx(line[1], rel=0.03)


def test_of_repeated_sizes_the_median_counts():
    line = (1e-4, 1e8)
    good = times(line)
    found = fit_line(SIZES * 3, [*good, *good, *(5 * time for time in good)], "x")
    assert found.bandwidth == pytest.approx(1e8)


def test_the_uncertainty_is_that_of_noise():
    """Over 400 noisy tables the line lies within two standard uncertainties in 88 to 99 %."""
    noise, line, inside = random.Random(7), (5e-5, 1e8), 0
    for _ in range(400):
        table = [time * noise.gauss(1, 0.02) for time in times(line)]
        found = fit_line(SIZES, table, "x")
        inside += abs(found.startup - line[0]) < 2 * found.startup_spread
        inside += abs(found.bandwidth - line[1]) < 2 * found.bandwidth_spread
    assert 0.80 < inside / 800 < 0.99


@given(LINES, st.floats(0.01, 100), st.integers(1, 9))
def test_other_units_change_nothing(line, slower, longer):
    noise = random.Random(3)
    table = [time * noise.uniform(0.9, 1.1) for time in times(line)]
    try:
        one = fit_line(SIZES, table, "x")
    except SolveError:
        assume(False)
    other = fit_line([longer * size for size in SIZES], [slower * time for time in table], "x")
    assert other.startup == pytest.approx(slower * one.startup, rel=1e-6)
    assert other.bandwidth == pytest.approx(longer / slower * one.bandwidth, rel=1e-6)


@pytest.mark.parametrize(
    ("sizes", "table", "said"),
    [
        ([1, 2], [1, 2], "2 message sizes are too few"),
        ([1, 1, 1], [1, 2, 3], "1 message sizes are too few"),
        ([1, 2, 4, 8], [8, 4, 2, 1], "do not grow with the bytes"),
        ([1, 10, 100, 1000], [1, 100, 10000, 1000000], "in the median"),
        ([1000, 2000, 3000], [0.9, 2.0, 3.1], "startup comes out as"),
        ([1, 2, 3, 4], [1.0, 1.001, 1.002, 1.003], "takes no longer than the startup"),
        ([1e6, 2e6, 4e6], [1.01, 2.01, 4.01], "hides the startup"),
    ],
)
def test_no_line_in_a_table(sizes, table, said):
    with pytest.raises(SolveError, match=said) as caught:
        fit_line(sizes, table, "table.csv")
    assert str(caught.value).startswith("table.csv: ")


def test_saturation_is_the_largest_median_and_says_if_it_still_grows():
    found = saturation([2, 2, 4, 8, 16], [50, 52, 90, 120, 118])
    assert (found.bandwidth, found.p, found.growing) == (120, 8, False)
    assert saturation([2, 4, 8], [50, 100, 105]).growing is False
    assert saturation([2, 4, 8], [50, 100, 200]).growing is True
    assert saturation([8], [200]).growing is True


def test_exchanges_give_the_slope_of_the_volume():
    """At p processes p (p - 1) messages share 120 MB/s after a startup of 1 ms."""
    sizes = [1e3, 1e4, 1e5, 1e6]
    rows = [(p, n, 1e-3 + p * (p - 1) * n / 120e6) for p in (2, 4) for n in sizes]
    processes, totals = exchange_totals(*zip(*rows, strict=True), "x")
    assert processes == [2, 4]
    assert totals == pytest.approx([120e6, 120e6])
    assert exchange_totals([2, 2], [60, 120], [1, 1], "x") == ([2], [240])
    with pytest.raises(SolveError, match="whole number from 2"):
        exchange_totals([1], [60], [1], "x")
    with pytest.raises(SolveError, match="at p = 2 the times do not grow"):
        exchange_totals([2, 2, 2], [1, 2, 3], [3, 2, 1], "x")


def run(capsys, *arguments):
    code = main(["spmd", "machine", *arguments])
    return code, *capsys.readouterr()


def test_the_numbers_of_the_paper(capsys):
    code, out, err = run(
        capsys, "sp2", "--poly1", "120 MFLOP/s", "--comms1", "150 us, 27 MB/s", "--comms3",
        "120 MB/s", "--disk", "10 MB/s", "--disks", "3",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "w = bandwidth / saturation = 0.225" in out
    machine = REGISTRY.machine(tomllib.loads(out))
    published = Registry().machine("ibm-sp2")
    assert machine.processor == published.processor
    assert attrs.evolve(machine.network, cloud=False) == published.network
    assert (machine.storage.disks, machine.storage.bandwidth) == (3, 10e6)
    assert all(source.startswith("measured: ") for source in machine.sources.values())
    assert len(machine.sources) == 6


def test_tables_become_a_machine_that_answers(tmp_path, capsys):
    ping = ["size_is_not_used;bytes;round_trip", *(
        f"x;{n} B;{2e6 * (150e-6 + n / 27e6):.9f} us" for n in SIZES
    )]  # fmt: skip
    (tmp_path / "ping.csv").write_text("\n".join(ping))
    (tmp_path / "all.csv").write_text("# total\np,bandwidth\n2,54 MB/s\n8,120 MB/s\n16,119e6\n")
    target = tmp_path / "mine.toml"
    code, out, err = run(
        capsys, "mine", "--poly1", "1 GFLOP/s", "--comms1", str(tmp_path / "ping.csv"),
        "--comms3", str(tmp_path / "all.csv"), "-o", str(target),
    )  # fmt: skip
    assert (code, out, err) == (0, "", "")
    machine = REGISTRY.machine(target)
    assert machine.network.startup == pytest.approx(150e-6, rel=1e-3)
    assert machine.network.bandwidth == pytest.approx(27e6, rel=1e-3)
    assert machine.network.saturation == 120e6
    assert machine.sources["network.saturation"].endswith("all.csv, largest at p=8")
    phase = {"parallel": "1 GFLOP", "messages": 1, "bytes": "1 MB"}
    assert REGISTRY.predict({"name": "w", "phase": [phase]}, machine, "spmd", p=4).time > 0


def test_a_network_that_is_not_saturated_is_told(tmp_path, capsys):
    (tmp_path / "all.csv").write_text("p\tbandwidth\n2\t100\n4\t200\n")
    code, out, err = run(capsys, "m", "--comms3", str(tmp_path / "all.csv"))
    assert code == 0
    assert "still grows at p=4" in err
    assert "saturation = " in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing was measured"),
        (["--poly1", "120 MB/s"], "--poly1: '120 MB/s' is in B/s, not in FLOP/s"),
        (["--poly1", "0"], "must be above 0"),
        (["--comms1", "150 us"], "give a .csv file, or startup and bandwidth"),
        (["--comms1", "27 MB/s, 150 us"], "not in s; write such as 150 us"),
        (["--comms1", "none.csv"], "none.csv does not exist"),
        (["--comms1", "1 us, 27 MB/s", "--comms3", "2 MB/s"], "is below the bandwidth of one"),
        (["--disks", "0"], "must be 1 or more"),
        (["--disk", "fast"], "is not a number with a unit"),
        (["--disks", "1", "-o", "m.json"], "written as .toml"),
        (["--disks", "1", "-o", "none/m.toml"], "no folder none"),
    ],
)
def test_wrong_numbers(arguments, said, capsys):
    code, out, err = run(capsys, "m", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bytes,seconds\n", "no measurement below"),
        ("size,seconds\n1,1\n", "must name the columns bytes, seconds or bytes, round_trip"),
        ("byte,seconds\n1,1\n", "Did you mean 'bytes'?"),
        ("bytes,seconds\n1,x\n", "measurement 1: seconds: 'x' is not a number"),
        ("bytes,seconds\n1,1\n2\n", "measurement 2: seconds"),
        ("bytes,seconds\n1,0\n", "seconds is 0; it must be above 0"),
        ("bytes,seconds\n-1,1\n", "bytes is -1; it must be"),
        ("bytes,seconds\n1 s,1\n", "is in s, not in B"),
        ("# nothing\n", "must name the columns"),
        ("bytes,bytes,seconds\n1,1,1\n", "must name the columns"),
    ],
)
def test_wrong_tables(text, said, tmp_path, capsys):
    path = tmp_path / "ping.csv"
    path.write_text(text)
    code, _, err = run(capsys, "m", "--comms1", str(path))
    assert code == 2
    assert said in err
    assert str(path) in err
