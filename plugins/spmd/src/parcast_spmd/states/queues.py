"""Queues of a station: who waits behind whom, who is next, and how fast who is served goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from parcast_spmd.states.contents import Job
from parcast_spmd.states.model import Service


def queued(service: Service, waiting: tuple[Job, ...], job: Job) -> tuple[Job, ...]:
    """Return who waits, with one more."""
    ranks, rank = service.ranks, service.ranks[job[0]]
    if service.order == "random":
        return tuple(sorted((*waiting, job), key=lambda queued: (ranks[queued[0]], queued)))
    behind = [
        at
        for at, queued in enumerate(waiting)
        if ranks[queued[0]] > rank or (service.order == "head" and ranks[queued[0]] == rank)
    ]
    at = behind[0] if behind else len(waiting)
    return (*waiting[:at], job, *waiting[at:])


def next_of(service: Service, waiting: Sequence[Job]) -> list[tuple[float, int]]:
    """Return who may be next, by position, with probabilities."""
    if service.order != "random":
        return [(1.0, 0)]
    rank = service.ranks[waiting[0][0]]
    first = [job for job in waiting if service.ranks[job[0]] == rank]
    return [(n / len(first), waiting.index(job)) for job, n in Counter(first).items()]


def speeds_of(service: Service, serving: tuple[Any, ...]) -> list[float]:
    """Return how fast each of the jobs that are served goes on."""
    if service.kind != "shared":
        return [1.0] * len(serving)
    classes = [job[0] for (job, _), _ in serving]
    counts: Counter[int] = Counter()
    for (job, _), count in serving:
        counts[job[0]] += count
    if service.share == "equal":
        total = sum(counts.values())
        return [min(1.0, service.servers / total)] * len(serving) if total else []
    weights = service.weights
    if service.share == "by job":
        whole = sum(weights[r] * count for r, count in counts.items())
        return [weights[r] / whole for r in classes]
    whole = sum(weights[r] for r in counts)
    return [weights[r] / whole / counts[r] for r in classes]
