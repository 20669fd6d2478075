"""In which order a stage does its passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

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
        forward, backward = _forward(layout, warm + k), _backward(layout, k)
        if layout.pairs:
            yield replace(forward, beside=backward)
        else:
            yield forward
            yield backward
    for k in range(count - warm, count):
        yield _backward(layout, k)


def warm_up(layout: Layout, stage: int) -> int:
    """Return how many forward passes a stage does before its first backward pass.

    In pairs it is one more, as Megatron-LM has it: a pass is beside one of another microbatch.
    """
    count = layout.microbatches * layout.chunks
    if layout.chunks == 1:
        return min(layout.pp - 1 - stage + layout.pairs, count)
    slack = 2 * (layout.pp - 1 - stage) + (layout.chunks - 1) * layout.pp
    return min(slack + layout.pairs, count)


@lru_cache(4096)
def pair_counts(layout: Layout, stage: int) -> tuple[tuple[Pass, int], ...]:
    """Return the passes of a stage in pairs that differ, and how often it does each.

    Microbatches that are neither the first of a forward pass nor the last of a backward pass are
    all the last, or the first.
    """
    last = layout.microbatches - 1

    def alike(run: Pass) -> Pass:
        forward = run.kind == "F"
        special, usual = (0, last) if forward else (last, 0)
        beside = None if run.beside is None else alike(run.beside)
        microbatch = special if run.microbatch == special else usual
        return replace(run, microbatch=microbatch, beside=beside)

    return tuple(Counter(alike(run) for run in order(layout, stage)).items())


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
