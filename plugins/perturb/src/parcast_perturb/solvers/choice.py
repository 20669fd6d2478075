"""Which solver of the family fits a trace."""

from __future__ import annotations

from parcast import Query
from parcast_traces.workload import Traced


def choose(query: Query) -> str:
    """Return ``perturb.clocked`` where the clocks of all ranks are one, else ``perturb.upper``."""
    content: Traced = query.workload.content
    trace = content.trace
    one_clock = content.added is not None or trace.comparable or not trace.timed
    return "perturb.clocked" if one_clock else "perturb.upper"
