"""A recorded run of work, every family: the reference of the program that it is."""

from __future__ import annotations

import pytest

from parcast import Query, Registry
from parcast.comparison.lowering import lower
from parcast.model.costs import Costs
from parcast.program.matching.prepare import matched_program
from parcast.testing import by_sweep

REGISTRY = Registry()

ACTIONS = """0 init
1 init
2 init
0 compute 1048576
1 compute 2097152
0 send 1 0 65536
1 recv 0 0 65536
1 isend 2 7 131072
2 irecv 1 7 131072
2 compute 1572864
2 wait 1 2 7
0 allreduce 1024 0
1 allreduce 1024 0
2 allreduce 1024 0
1 waitall
0 compute 262144
"""

MACHINE = {
    "name": "dyadic",
    "processor": {"rate": 2**20},
    "network": {"startup": 2**-6, "bandwidth": 2**20, "contention": "none", "overhead": 2**-9},
}


def test_a_trace_of_work_takes_what_its_program_takes_in_every_family(tmp_path):
    path = tmp_path / "run.tit"
    path.write_text(ACTIONS)
    machine = REGISTRY.machine(MACHINE)
    solvers = "emulator,petri.mean,perturb,pamela,spmd"
    found = REGISTRY.compare(path, machine, p=3, solvers=solvers).rows
    rows = {row.solver: row for row in found}
    query = Query(workload=REGISTRY.workload(path), machine=machine, p=3)
    query = lower(REGISTRY.lowerings, query, "program")[0]
    unrolled = matched_program(query).unrolled
    reference = by_sweep(unrolled, Costs.of(query, unrolled.needs()))
    assert unrolled.rank(0)[-1].op == "compute"  # the last line, after which nothing is called
    for solver in ("emulator.tc", "petri.mean", "perturb.clocked"):
        assert rows[solver].time == reference.time, rows[solver].message
        parts = rows[solver].parts.values()
        assert parts == pytest.approx(reference.mean_parts.values(), rel=1e-13), solver
    assert 0 < rows["pamela.bound"].time <= reference.time
    (spmd,) = (row for name, row in rows.items() if name.startswith("spmd"))
    assert spmd.time == pytest.approx(reference.time, rel=0.5)
