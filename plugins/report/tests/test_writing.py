from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import product

import pytest
from rows import CURVE, GRID, results, row

import parcast_report
from parcast import ParcastError, Registry
from parcast.testing import turn
from parcast_report.writing import write

REGISTRY = Registry([parcast_report])


@pytest.mark.parametrize(
    ("found", "suffix"),
    turn(product([CURVE, GRID, results(row(2))], [".svg", ".png", ".pdf"]), 2),
)
def test_the_same_results_give_the_same_file(found, suffix, tmp_path):
    for name in ("one", "two"):
        REGISTRY.write(found, tmp_path / f"{name}{suffix}")
    first = (tmp_path / f"one{suffix}").read_bytes()
    assert first == (tmp_path / f"two{suffix}").read_bytes()
    assert len(first) > 5000
    starts = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    assert first.startswith(starts[suffix])
    assert b"Date" not in first


def test_an_svg_is_small_and_on_white_ground(tmp_path):
    write(GRID, tmp_path / "a.svg")
    root = ET.fromstring((tmp_path / "a.svg").read_text())
    assert root.tag.endswith("svg")
    assert (tmp_path / "a.svg").stat().st_size < 400_000
    assert "fill: #ffffff" in (tmp_path / "a.svg").read_text()


def test_what_cannot_be_drawn_leaves_no_file(tmp_path):
    with pytest.raises(ParcastError, match="nothing to draw"):
        write(results(), tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(ParcastError, match="cannot be written"):
        REGISTRY.write(CURVE, tmp_path / "none" / "a.svg")


def benchmarks(names, sizes=9):
    """Return rows of benchmarks by size, and of one that has none."""
    rows = [
        row(workload=name, params={"bytes": 8 << k}, time=1e-6 * (1 + k), measured=2e-6)
        for name in names
        for k in range(sizes)
    ]
    return results(*rows, row(workload="triad", time=0.5, ci=(0.4, 0.6), measured=0.45))


def test_many_workloads_are_a_small_plot_each(tmp_path):
    names = [f"benchmark {number}" for number in range(12)]
    write(benchmarks(names), tmp_path / "a.svg")
    drawn = (tmp_path / "a.svg").read_text()
    for text in [*names, "triad", "predicted", "measured"]:
        assert f"<!-- {text} -->" in drawn


def test_more_plots_than_one_can_look_at_are_refused(tmp_path):
    with pytest.raises(ParcastError, match="than the 40 that one picture can tell apart"):
        write(benchmarks([f"benchmark {number}" for number in range(40)]), tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())
