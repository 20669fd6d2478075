"""In which order a stage does its passes, and when each ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from parcast_training.steps.layout import Layout
from parcast_training.steps.segments import Hop

Kind = Literal["F", "B", "W"]


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass of a microbatch through a piece of a stage."""

    kind: Kind
    chunk: int
    microbatch: int


#: A pass on a stage.
Event = tuple[int, Pass]


def order(layout: Layout, stage: int, *, zero_bubble: bool = False) -> Iterator[Pass]:
    """Yield the passes of a stage in their order.

    One forward, one backward (arXiv 2104.04473, section 2.2), interleaved where there are several
    pieces; with ``zero_bubble`` gradients of weights are put off as ZB-H1 does (arXiv 2401.10241).
    """
    if zero_bubble:
        yield from _zero_bubble(layout, stage)
        return
    count = layout.microbatches * layout.chunks
    warm = warm_up(layout, stage)
    for k in range(warm):
        yield _forward(layout, k)
    for k in range(count - warm):
        yield _forward(layout, warm + k)
        yield _backward(layout, k)
    for k in range(count - warm, count):
        yield _backward(layout, k)


def warm_up(layout: Layout, stage: int) -> int:
    """Return how many forward passes a stage does before its first backward pass."""
    count = layout.microbatches * layout.chunks
    if layout.chunks == 1:
        return min(layout.pp - 1 - stage, count)
    return min(2 * (layout.pp - 1 - stage) + (layout.chunks - 1) * layout.pp, count)


def _forward(layout: Layout, k: int) -> Pass:
    chunk, microbatch = _position(layout, k)
    return Pass("F", chunk, microbatch)


def _backward(layout: Layout, k: int) -> Pass:
    chunk, microbatch = _position(layout, k)
    return Pass("B", layout.chunks - 1 - chunk, microbatch)


def _position(layout: Layout, k: int) -> tuple[int, int]:
    pp, v = layout.pp, layout.chunks
    if v == 1:
        return 0, k
    return k % (pp * v) // pp, k // (pp * v) * pp + k % pp


def _zero_bubble(layout: Layout, stage: int) -> Iterator[Pass]:
    m, warm, late = layout.microbatches, warm_up(layout, stage), min(stage, layout.microbatches)
    for k in range(m + warm):
        if k < m:
            yield Pass("F", 0, k)
        if k >= warm:
            yield Pass("B", 0, k - warm)
            if k - warm >= late:
                yield Pass("W", 0, k - warm - late)
    for k in range(m - late, m):
        yield Pass("W", 0, k)


def played(
    layout: Layout,
    seconds: Callable[[int, Pass], float],
    hop: Callable[[int, int], Hop],
    *,
    zero_bubble: bool = False,
    before: dict[Event, Event] | None = None,
) -> list[float]:
    """Return when each stage ends all its passes.

    Parameters
    ----------
    layout
        Stages, pieces and microbatches.
    seconds
        Of a pass on a stage.
    hop
        What a message from a stage to another costs.
    zero_bubble
        The order of passes.
    before
        Gets, for each pass, the one whose end it began at, on its stage or another.
    """
    orders = [deque(order(layout, s, zero_bubble=zero_bubble)) for s in range(layout.pp)]
    clocks = [0.0] * layout.pp
    latest: list[Event | None] = [None] * layout.pp
    arrivals: dict[Event, tuple[float, Event]] = {}
    ready = deque(range(layout.pp))
    waiting: set[Event] = set()
    while ready:
        stage = ready.popleft()
        while orders[stage]:
            step = orders[stage][0]
            event, cause = (stage, step), latest[stage]
            sender = source(layout, stage, step)
            if sender is not None:
                if event not in arrivals:
                    waiting.add(event)
                    break
                arrived, sent_by = arrivals.pop(event)
                if arrived > clocks[stage]:
                    clocks[stage], cause = arrived, sent_by
                clocks[stage] += hop(sender, stage).receive
            if before is not None and cause is not None:
                before[event] = cause
            latest[stage] = event
            orders[stage].popleft()
            clocks[stage] += seconds(stage, step)
            to = target(layout, stage, step)
            if to is not None:
                cost = hop(stage, to[0])
                clocks[stage] += cost.send
                arrivals[to] = clocks[stage] + cost.wire, event
                if to in waiting:
                    waiting.remove(to)
                    ready.append(to[0])
    return clocks


def source(layout: Layout, stage: int, step: Pass) -> int | None:
    """Return the stage whose message a pass waits for, if any."""
    last = layout.pp - 1
    if step.kind == "F" and (stage or step.chunk) and last:
        return stage - 1 if stage else last
    if step.kind == "B" and (stage < last or step.chunk < layout.chunks - 1) and last:
        return stage + 1 if stage < last else 0
    return None


def target(layout: Layout, stage: int, step: Pass) -> tuple[int, Pass] | None:
    """Return the stage that a pass sends to, and the pass there that waits for it, if any."""
    last = layout.pp - 1
    if not last or step.kind == "W":
        return None
    if step.kind == "F":
        if stage < last:
            return stage + 1, step
        if step.chunk < layout.chunks - 1:
            return 0, Pass("F", step.chunk + 1, step.microbatch)
        return None
    if stage:
        return stage - 1, step
    return (last, Pass("B", step.chunk - 1, step.microbatch)) if step.chunk else None
