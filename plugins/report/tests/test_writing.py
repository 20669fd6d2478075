from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from rows import CURVE, GRID, results, row

import parcast_report
from parcast import ParcastError, Registry
from parcast_report.writing import write

REGISTRY = Registry([parcast_report])


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
@pytest.mark.parametrize("found", [CURVE, GRID, results(row(2))])
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
