"""What propagation costs: seconds measured on one core of a server of 2023, rounded up."""

from __future__ import annotations

from parcast import Query
from parcast_perturb.propagation.forms import PLAIN_EVENTS

#: Seconds for an event by plain Python, which small questions are left to, and compiled; and to
#: load what is compiled.
_PLAIN, _COMPILED, _LOADING = 20e-6, 3e-7, 1.0


def cost(query: Query) -> float:
    """Return the seconds of passing delays along all events, as often as noise is drawn."""
    noisy = "noise" in query.machine.parts
    replications = getattr(query.options, "replications", 100) if noisy else 1
    events = query.workload.content.trace.count * replications
    return float(_PLAIN * events if events < PLAIN_EVENTS else _LOADING + _COMPILED * events)
