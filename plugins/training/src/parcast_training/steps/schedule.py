"""In which order a stage does its passes."""

from __future__ import annotations

from collections.abc import Iterator

from parcast_training.steps.dualpipe import dualpipe
from parcast_training.steps.layout import Layout
from parcast_training.steps.pipeline import Pass


def order(layout: Layout, stage: int, *, zero_bubble: bool = False) -> Iterator[Pass]:
    """Yield the passes of a stage in their order.

    One forward, one backward (arXiv 2104.04473, section 2.2), interleaved where there are several
    pieces; with ``zero_bubble`` gradients of weights are put off as ZB-H1 does (arXiv 2401.10241);
    with a pipeline each way as DualPipe has it.
    """
    if layout.bidirectional:
        yield from dualpipe(layout.pp, layout.near(stage), layout.microbatches)
        return
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
            yield Pass("I", 0, k - warm)
            if k - warm >= late:
                yield Pass("W", 0, k - warm - late)
    for k in range(m - late, m):
        yield Pass("W", 0, k)
