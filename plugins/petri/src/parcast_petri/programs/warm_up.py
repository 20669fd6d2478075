"""Time before a program begins, in which background jobs and traffic forget how they began."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from parcast_petri.machine.load import Load
from parcast_petri.programs.net_builder import NetBuilder


@attrs.frozen
class WarmUp:
    """Seconds before the outset, by a token in one place that becomes those of others then."""

    seconds: float
    before: str
    outset: tuple[str, ...]


def build_warm_up(builder: NetBuilder, loads: Iterable[Load]) -> WarmUp | None:
    """Build the time before the outset; None where the loads have nothing to forget."""
    seconds = max((load.warm_up for load in loads if not load.memoryless), default=0.0)
    if not seconds:
        return None
    before = builder.place("before")
    builder.transition("begin", {before: 1}, dict.fromkeys(builder.outset, 1), delay=seconds)
    return WarmUp(seconds, before, tuple(builder.outset))
