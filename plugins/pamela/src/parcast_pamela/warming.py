"""Small questions that compile the kernels, which ``parcast warm`` asks."""

from __future__ import annotations

from parcast import Query, Registry
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program.matching import matched_program
from parcast_pamela.programs.critical import critical_path


def runs() -> None:
    """Simulate a model, and find the critical path of a program."""
    registry = Registry()
    registry.predict("vector-chaining", "ibm-sp2", "pamela.sim", p=2)
    workload, machine = registry.workload("ring-matmul"), registry.machine("ibm-sp2")
    query = Query(workload=workload, machine=machine, p=2, d=1)
    matched = matched_program(query, pools=True)
    critical_path(matched, Costs.of(query, matched.unrolled.needs(), WHOLE_NETWORK))
