"""Layers of a stage by sort: those that are alike, as a job of these alone, and how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from parcast_training.steps.job import Job, counted
from parcast_training.steps.layout import Layout

#: Jobs whose layers are all alike, and how many layers of each, the first ones first.
Sorts = tuple[tuple[Job, int], ...]


def piece_sorts(job: Job, layout: Layout, stage: int, chunk: int) -> Sorts:
    """Return the layers of a piece, with what predicts further tokens behind the last one."""
    numbers = layout.numbers(stage, chunk)
    last = stage == layout.pp - 1 and chunk == layout.chunks - 1
    return counted(job, range(numbers.start, numbers.stop + (job.mtp if last else 0)))


def stage_sorts(job: Job, layout: Layout, stage: int) -> Sorts:
    """Return the layers of all pieces of a stage."""
    return merged(piece_sorts(job, layout, stage, chunk) for chunk in range(layout.chunks))


def merged(pieces: Iterable[Sorts]) -> Sorts:
    """Return the layers of pieces together."""
    counts: Counter[Job] = Counter()
    for piece in pieces:
        for sort, count in piece:
            counts[sort] += count
    return tuple(counts.items())
