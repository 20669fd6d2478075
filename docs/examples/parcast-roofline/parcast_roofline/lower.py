"""Turns a kernel into phases, so that solvers of other families can be asked about it."""

from __future__ import annotations

import attrs

from parcast import Query, Workload
from parcast.model import Phase, Phases


def phases(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a phase for each loop; formulas stay formulas."""
    loops = tuple(
        Phase(name=loop.name, parallel=loop.flops, distribution="constant")
        for loop in workload.content.loop
    )
    lowered = attrs.evolve(workload, kind="phases", content=Phases(phase=loops))
    return lowered, ("memory traffic is left out: loops run at processor.rate",)
