"""Layers of a stage by sort: those that are alike, as a job of these alone, and how many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from parcast_training.steps.job import Job, counted
from parcast_training.steps.layout import Layout

#: Jobs whose layers are all alike, and how many layers of each, the first ones first.
Sorts = tuple[tuple[Job, int], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Layers of a piece of a model, and whether it has the model's ends."""

    sorts: Sorts
    first: bool  #: begins with the embedding
    last: bool  #: ends in the output layer


def piece_of(job: Job, layout: Layout, stage: int, chunk: int) -> Piece:
    """Return a piece of a stage."""
    place = layout.place(stage, chunk)
    sorts = piece_sorts(job, layout, stage, chunk)
    return Piece(sorts, place == 0, place == layout.pieces - 1)


def piece_sorts(job: Job, layout: Layout, stage: int, chunk: int) -> Sorts:
    """Return the layers of a piece, with what predicts further tokens behind the last one."""
    numbers = layout.numbers(stage, chunk)
    last = layout.place(stage, chunk) == layout.pieces - 1
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
