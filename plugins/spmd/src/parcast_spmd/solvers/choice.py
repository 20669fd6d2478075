"""Which solver of the family fits a workload."""

from __future__ import annotations

from parcast import Query
from parcast_spmd.models.demands import model_of


def choose(query: Query) -> str:
    """Return the name of the solver that fits all phases of a ``phases`` workload."""
    models = {model_of(phase, query) for phase in query.workload.content.phase}
    return f"spmd.{models.pop()}" if len(models) == 1 else "spmd.mixed"
