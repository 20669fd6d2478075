"""The closed jobs of a mixed network: exact by convolution over the vectors of populations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from parcast.errors import SolveError, UnsupportedError
from parcast_spmd.mixed.stations import Floats

#: Population vectors and multiplications that take some seconds
MOST_VECTORS = 20_000
MOST_WORK = 4e9


@attrs.frozen
class Queue:
    """What closed jobs meet at a queue: log f(n), and their demands by chain, in seconds."""

    logs: Floats
    demand: Floats
    #: Work done each second with many jobs, less what open classes take
    speed: float


@attrs.frozen
class Means:
    """Throughput by chain, jobs by queue and chain, and each queue's distribution of jobs."""

    throughput: Floats
    jobs: Floats
    totals: list[Floats]


def check_size(populations: Sequence[int], queues: int) -> None:
    """Refuse closed jobs that would take long, before anything is made of them.

    Raises
    ------
    UnsupportedError
        If there are too many population vectors.
    """
    size = math.prod(jobs + 1 for jobs in populations)
    if size > MOST_VECTORS or 2.0 * queues * size**2 > MOST_WORK:
        raise UnsupportedError(
            f"{size:,} vectors of populations at {queues} queues are too many to be solved "
            "exactly; use fewer jobs or classes, or single servers without open classes."
        )


def convolved(queues: Sequence[Queue], think: Floats, populations: Sequence[int]) -> Means:
    """Return the means of closed chains, whose size `check_size` has let through.

    The weights of states are multiplied by powers of throughputs near the solution, so that they
    are probabilities and the sums neither overflow nor vanish; every term is positive.

    Raises
    ------
    SolveError
        If they do nevertheless.
    """
    shape = tuple(jobs + 1 for jobs in populations)
    scale = _near(queues, think, np.array(populations, dtype=float))
    grid = np.indices(shape).reshape(len(shape), -1).astype(float)
    gamma = np.array([math.lgamma(i + 1) for i in range(sum(populations) + 1)])
    total = grid.sum(axis=0).astype(int)
    spread = -sum(gamma[row.astype(int)] for row in grid)
    delay = _weights(spread, grid, think * scale).reshape(shape)
    own = [
        _weights(q.logs[total] + gamma[total] + spread, grid, q.demand * scale).reshape(shape)
        for q in queues
    ]
    before = [delay]
    for weights in own[:-1]:
        before.append(_product(before[-1], weights))
    constant = before[-1] if not own else _product(before[-1], own[-1])
    whole = float(constant.flat[-1])
    if not (math.isfinite(whole) and whole > 1e-250):
        raise SolveError("The closed jobs' states are too unlike for floating point numbers.")
    rates = [
        rate * float(constant[tuple(n - 1 - (i == r) for i, n in enumerate(shape))]) / whole
        for r, rate in enumerate(scale)
    ]
    jobs, totals = np.zeros((len(own), len(shape))), list[Floats]()
    after: Floats | None = None
    for k in reversed(range(len(own))):
        others = before[k] if after is None else _product(before[k], after)
        share = (own[k] * np.flip(others)).ravel() / whole
        jobs[k] = grid @ share
        totals.insert(0, np.bincount(total, weights=share).astype(np.float64))
        after = own[k] if after is None else _product(own[k], after)
    return Means(np.array(rates), jobs, totals)


def _weights(logs: Floats, grid: Floats, load: Floats) -> Floats:
    """Return exp(logs) times each load to the power of its row, the largest being 1.

    A load of 0 has only power 0. A factor of all states of a station changes no mean.
    """
    result = np.array(logs, dtype=float)
    for powers, value in zip(grid, load, strict=True):
        with np.errstate(invalid="ignore"):
            result = result + np.where(powers > 0, powers * np.log(value) if value else -np.inf, 0)
    return np.asarray(np.exp(result - result.max()))


def _product(first: Floats, second: Floats) -> Floats:
    """Return the convolution of two arrays up to their shape."""
    if first.ndim == 1:
        return np.convolve(first, second)[: len(first)]
    result = np.zeros_like(first)
    for place in np.ndindex(*first.shape):
        if first[place]:
            into = tuple(slice(at, None) for at in place)
            part = tuple(slice(None, n - at) for at, n in zip(place, first.shape, strict=True))
            result[into] += first[place] * second[part]
    return result


def _near(queues: Sequence[Queue], think: Floats, jobs: Floats) -> Floats:
    """Return throughputs near the solution: Bard and Schweitzer's, of queues as fast as they get.

    With jobs to spare a queue of several servers is one of a single fast server, and the rest of
    the service is a delay (Seidmann).
    """
    demand = np.array([q.demand for q in queues]).reshape(len(queues), len(jobs))
    speed = np.array([[q.speed] for q in queues]).reshape(len(queues), 1)
    fast = demand / speed
    rest = think + np.maximum(demand - fast, 0).sum(axis=0)
    held = np.tile(jobs / max(len(queues), 1), (len(queues), 1)) * (demand > 0)
    rate = np.zeros_like(jobs)
    for _ in range(200):
        seen = held.sum(axis=1, keepdims=True) - held / np.maximum(jobs, 1)
        response = fast * (1 + seen)
        cycle = rest + response.sum(axis=0)
        rate = np.where(jobs > 0, jobs / np.where(cycle > 0, cycle, 1), 1.0)
        held = rate * response * (jobs > 0)
    return rate
