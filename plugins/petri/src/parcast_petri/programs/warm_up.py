"""Time before a program begins, in which what others do forgets how it was drawn."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from parcast_petri.machine.load import Load
from parcast_petri.programs.net_builder import Sketch


@attrs.frozen
class Settling:
    """Seconds before the outset, by a token in one place that becomes those of others then."""

    seconds: float
    before: str
    outset: tuple[str, ...]


def draw_settling(sketch: Sketch, loads: Iterable[Load]) -> Settling | None:
    """Draw the time before the outset; None where the loads have nothing to forget."""
    seconds = max((load.settling for load in loads if not load.drawable), default=0.0)
    if not seconds:
        return None
    before = sketch.place("before")
    sketch.transition("begin", {before: 1}, dict.fromkeys(sketch.outset, 1), delay=seconds)
    return Settling(seconds, before, tuple(sketch.outset))
