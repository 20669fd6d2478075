"""What checkpoints cost a step: all ranks write equal parts of one state and wait for the last."""

from __future__ import annotations

from parcast.model import Costs, Query
from parcast_training.steps.job import Job
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.memory import state_bytes, weight_bytes


def checkpoint_bytes(job: Job) -> float:
    """Return the bytes of a checkpoint: each trained weight and its optimizer's states once."""
    return job.trained * (weight_bytes(job) + state_bytes(job))


def checkpoint_seconds(query: Query) -> float:
    """Return how long all ranks take to write one, each its part to the machine's storage.

    They begin together, as no rank goes on before the last is done. Each disk serves one rank after
    another.

    Raises
    ------
    UnsupportedError
        If the machine states no ``storage.bandwidth``.
    """
    costs = Costs.of(query, {"io"})
    piece = float(costs.piece(checkpoint_bytes(job_at(query)) / query.p, "own"))
    ranks = query.p if costs.striped("own") else -(-query.p // costs.disks)
    return ranks * piece


def checkpoint_share(query: Query) -> float:
    """Return what each step has of it: an N-th where one is written every N steps, else 0."""
    every = job_at(query).checkpoint_every
    return checkpoint_seconds(query) / every if every else 0.0


def checkpoint_notes(query: Query) -> tuple[str, ...]:
    """Return what a step has of checkpoints, as text."""
    job = job_at(query)
    if not job.checkpoint_every:
        return ()
    size, seconds = checkpoint_bytes(job) / 1e9, checkpoint_seconds(query)
    note = (
        f"a checkpoint of {size:.4g} GB every {job.checkpoint_every} steps takes {seconds:.4g} s, "
    )
    return (f"{note}in which nothing computes; each step has its share of that",)
