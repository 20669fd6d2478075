"""What the solvers cost and take for granted, told without solving: for ``parcast advise``.

The seconds are measured: on one core of a server of 2023, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption, Query
from parcast_perturb.propagation.forms import PLAIN_EVENTS

#: Seconds for an event by plain Python, which small questions are left to, and compiled; and to
#: load what is compiled.
_PLAIN, _COMPILED, _LOADED = 20e-6, 3e-7, 1.0


def cost(query: Query) -> float:
    """Return the seconds of passing delays along all events, as often as noise is drawn."""
    noisy = "noise" in query.machine.parts
    drawn = getattr(query.options, "replications", 100) if noisy else 1
    events = query.workload.content.trace.count * drawn
    return float(_PLAIN * events if events < PLAIN_EVENTS else _LOADED + _COMPILED * events)


def of_clocked(query: Query) -> Iterator[Assumption]:
    """Yield what exact propagation takes for granted."""
    yield Assumption("messages are matched as they were, whatever comes sooner or later")
    yield Assumption("nothing queues: messages and accesses are as fast together as alone")
    if "noise" in query.machine.parts:
        yield Assumption("noise is drawn for each call and gap by itself")


def of_upper(query: Query) -> Iterator[Assumption]:
    """Yield what the upper bound takes for granted."""
    yield _of_clocks(query, "every message was waited for")
    yield from of_clocked(query)


def of_lower(query: Query) -> Iterator[Assumption]:
    """Yield what the lower bound takes for granted."""
    yield _of_clocks(query, "messages were there as early as they can have been")
    yield from of_clocked(query)


def _of_clocks(query: Query, taken: str) -> Assumption:
    content = query.workload.content
    known = content.added is not None or content.trace.comparable
    return Assumption(
        f"times of different ranks cannot be compared, so that {taken}",
        "all clocks are one, and perturb.clocked is exact" if known else "",
    )
