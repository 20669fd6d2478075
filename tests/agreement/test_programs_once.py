"""A program is unrolled once for all solvers, numbers of the machine and kinds of wait."""

from __future__ import annotations

from collections import Counter

import pytest

from parcast import Registry
from parcast.program import workload

UNEVEN = """
def program(rank, size, n=12):
    for k in range(n):
        compute(1000 * (1 + rank % 3))
        allreduce(8 * n)
"""


@pytest.mark.parametrize("algorithms", ["mpich", "ring"])
def test_each_point_of_a_comparison_is_unrolled_once(algorithms, tmp_path, monkeypatch):
    path = tmp_path / "uneven.py"
    path.write_text(UNEVEN)
    unrolled, unroll = Counter(), workload.unroll

    def counted(tree, size, parameters):
        unrolled[size] += 1
        return unroll(tree, size, parameters)

    monkeypatch.setattr(workload, "unroll", counted)
    settings = {"network.eager_limit": "4 KiB", "network.collectives": f"allreduce {algorithms}"}
    rows = Registry().compare(str(path), "ibm-sp2", p=[4, 5, 6, 7], settings=settings).rows
    assert {"emulator.tc", "petri.mean", "spmd.sio"} <= {row.solver for row in rows}
    assert any("waits" in row.details for row in rows)
    assert unrolled == {1: 1, 4: 1, 5: 1, 6: 1, 7: 1}
