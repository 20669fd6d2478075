"""Passes of a stage, and the stages between which their messages go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parcast_training.steps.layout import Layout

#: Forward; backward with gradients of weights, or of inputs alone; gradients of weights put off.
Kind = Literal["F", "B", "I", "W"]


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass of a microbatch through a piece of a stage."""

    kind: Kind
    chunk: int
    microbatch: int
    beside: Pass | None = None  #: a backward pass at the same time

    @property
    def parts(self) -> tuple[Pass, ...]:
        """Itself, or both passes of a pair."""
        if self.beside is None:
            return (self,)
        return Pass(self.kind, self.chunk, self.microbatch), self.beside

    @property
    def name(self) -> str:
        """Its kind, or both of a pair."""
        return self.kind if self.beside is None else self.kind + self.beside.kind


#: A pass on a stage.
Event = tuple[int, Pass]


def source(layout: Layout, stage: int, run: Pass) -> int | None:
    """Return the stage whose message a pass waits for, if any."""
    last = layout.pp - 1
    if not last or run.kind == "W":
        return None
    if layout.bidirectional:
        return _neighbor(layout, stage, outward=(run.kind == "F") == (run.chunk == 0))
    if run.kind == "F" and (stage or run.chunk):
        return stage - 1 if stage else last
    if run.kind != "F" and (stage < last or run.chunk < layout.chunks - 1):
        return stage + 1 if stage < last else 0
    return None


def target(layout: Layout, stage: int, run: Pass) -> tuple[int, int] | None:
    """Return the stage that a pass sends to, and the piece there that waits for it, if any."""
    last, chunk = layout.pp - 1, run.chunk
    if not last or run.kind == "W":
        return None
    if layout.bidirectional:
        return _across(layout, stage, run)
    if run.kind == "F":
        if stage < last:
            return stage + 1, chunk
        return (0, chunk + 1) if chunk < layout.chunks - 1 else None
    if stage:
        return stage - 1, chunk
    return (last, chunk - 1) if chunk else None


def _across(layout: Layout, stage: int, run: Pass) -> tuple[int, int] | None:
    """Return the same of a pipeline each way: beyond its middle pieces change their order."""
    outward = (run.kind == "F") == (run.chunk == 1)
    to = _neighbor(layout, stage, outward=outward)
    if to is None:
        return None
    crosses = not outward and layout.near(to) == layout.near(stage)
    return to, 1 - run.chunk if crosses else run.chunk


def _neighbor(layout: Layout, stage: int, *, outward: bool) -> int | None:
    """Return the next stage towards the nearer end, None beyond it, or the one towards the middle.

    A stage at the end has none outward.
    """
    step = -1 if (stage < layout.pp // 2) == outward else 1
    return stage + step if 0 <= stage + step < layout.pp else None
