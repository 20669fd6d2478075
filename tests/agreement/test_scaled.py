"""Speedups of work that grows with p are scaled by it, whatever the kind of workload."""

from __future__ import annotations

import pytest

from parcast import Registry

PROGRAM = """
def program(rank, size, n=1000, weak=1):
    for k in range(10):
        if weak:
            compute(n * n)
        else:
            compute(n * n / size)
        allreduce(8)
"""
PHASES = {"name": "grows", "phase": [{"parallel": "1e9 * p", "messages": 4, "bytes": 1000}]}


def remarks(row):
    return [note for note in row.notes if "scaled by it" in note]


@pytest.mark.parametrize("family", ["emulator", "spmd", "petri"])
def test_a_program_whose_work_grows_has_its_scaled_speedup_said(family, tmp_path):
    path = tmp_path / "weak.py"
    path.write_text(PROGRAM)
    one, many = Registry().compare(str(path), "ibm-sp2", solvers=[family], p=[1, 16]).rows
    assert remarks(one) == []
    (remark,) = remarks(many)
    assert remark == (
        "the work is 16 times that of one process, so speedups compare times of unlike work: "
        "scaled by it they are 16 times as large"
    )
    assert many.details["scaled_speedup"] == pytest.approx(16 * one.time / many.time)


def test_phases_and_blocks_that_grow_have_it_as_well():
    registry = Registry()
    (row,) = registry.compare(PHASES, "ibm-sp2", solvers=["spmd"], p=16).rows
    assert remarks(row)
    (row,) = registry.compare("titan", "table3-machine", solvers=["emulator"], p=16).rows
    assert "the work is 16 times" in remarks(row)[0]


def test_what_is_only_slower_has_no_scaled_speedup(tmp_path):
    path = tmp_path / "strong.py"
    path.write_text(PROGRAM)
    rows = (
        Registry()
        .compare(str(path), "ibm-sp2", solvers=["emulator"], p=16, settings={"n": 2, "weak": 0})
        .rows
    )
    assert rows[0].speedup < 1
    assert remarks(rows[0]) == []
