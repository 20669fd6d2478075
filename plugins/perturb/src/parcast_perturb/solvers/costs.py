"""What propagation costs: seconds measured on one core by ``core/benchmarks/costs.py``."""

from __future__ import annotations

from parcast import Query

#: Seconds for an answer, and for an event by the compiled kernel.
_ANSWER, _EVENT = 5e-4, 2e-7


def cost(query: Query) -> float:
    """Return the seconds of passing delays along all events, as often as noise is drawn."""
    noisy = "noise" in query.machine.parts
    replications = getattr(query.options, "replications", 100) if noisy else 1
    events = query.workload.content.trace.count * replications
    return float(_ANSWER + _EVENT * events)
