"""Exact means of one station by itself, and the factors of its states in a product form."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parcast.errors import UnsupportedError
from parcast_spmd.mixed.network import Center
from parcast_spmd.mixed.times import Time

Floats = NDArray[np.float64]

#: More servers than this at a station with open classes, or room, would take seconds.
MOST_SERVERS = 100_000


def speeds_of(center: Center, jobs: int) -> Floats:
    """Return the work done each second with 1, 2, ... jobs until it is constant.

    ``jobs`` is the most jobs at once where that is known to be limited, else 0.
    """
    if center.speeds:
        return np.array(center.speeds)
    servers = min(center.servers, jobs) if jobs else center.servers
    if servers > MOST_SERVERS:
        raise UnsupportedError(
            f"Station {center.name!r} has {servers:,} servers; give {MOST_SERVERS:,} or fewer, or "
            "a delay."
        )
    return np.arange(1.0, servers + 1)


def log_factors(speeds: Floats, load: float, jobs: int) -> Floats:
    """Return log f(n) for n = 0, ..., ``jobs`` + 1 jobs of closed classes at a station.

    With open classes that bring ``load`` seconds of work a second, the states with n closed jobs
    weigh f(n) = sum_m C(n+m, m) load^m / (a(1) ... a(n+m)), a(i) the speed with i jobs. The tail,
    where a is constant, is geometric: T(n) = sum_{j>=c} C(j, n) x^(j-n) is
    (T(n-1) + C(c, n) x^(c-n)) / (1 - x). No term is subtracted.
    """
    count, last = len(speeds), float(speeds[-1])
    if load <= 0:
        rest = np.full(max(jobs + 1 - count, 0), last)
        steps = np.concatenate([speeds, rest])[: jobs + 1]
        return np.concatenate([[0.0], -np.cumsum(np.log(steps))])
    x = load / last
    logs = np.concatenate([[0.0], np.cumsum(np.log(speeds))])  # of a(1) ... a(i)
    gamma = np.array([math.lgamma(i + 1) for i in range(max(count, jobs + 1) + 1)])
    factors = np.empty(jobs + 2)
    tail = -math.inf
    for n in range(jobs + 2):
        edge = -math.inf
        if n <= count:
            edge = float(gamma[count] - gamma[n] - gamma[count - n]) + (count - n) * math.log(x)
        tail = float(np.logaddexp(tail, edge)) - math.log1p(-x)
        total = tail + count * math.log(last) - float(logs[count]) - n * math.log(last)
        if n < count:
            j = np.arange(n, count)
            head = gamma[j] - gamma[n] - gamma[j - n] + (j - n) * math.log(load) - logs[j]
            most = float(head.max())
            total = float(np.logaddexp(total, most + math.log(np.exp(head - most).sum())))
        factors[n] = total
    return factors


def alone(speeds: Floats, load: float) -> float:
    """Return the mean number of open jobs at a station without closed ones."""
    factors = log_factors(speeds, load, 0)
    return load * math.exp(factors[1] - factors[0])


def in_turn(rates: Sequence[float], times: Sequence[Time], name: str) -> float:
    """Return the mean wait for one server that takes any times in turn (Pollaczek, Khinchine)."""
    load = sum(rate * time.mean for rate, time in zip(rates, times, strict=True))
    square = 0.0
    for rate, time in zip(rates, times, strict=True):
        if time.variation is None or not math.isfinite(time.variation):
            raise UnsupportedError(
                f"Station {name!r} takes jobs in turn, whose mean wait needs the variance of each "
                "time, and one has none here; use another distribution."
            )
        square += rate * time.mean**2 * (1 + time.variation)
    return square / (2 * (1 - load))


def limited(speeds: Floats, load: float, size: int) -> tuple[float, float]:
    """Return the mean number of jobs where ``size`` have room, and the share that is lost."""
    if size > MOST_SERVERS:
        raise UnsupportedError(f"Room for {size:,} jobs is too much; leave the size out.")
    steps = np.full(size, speeds[-1])
    steps[: min(len(speeds), size)] = speeds[:size]
    logs = np.concatenate([[0.0], np.cumsum(math.log(load) - np.log(steps))])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return float(weights @ np.arange(size + 1.0)), float(weights[-1])


def renewal_share(arrivals: Time, service: float, name: str) -> float:
    """Return s of GI/M/1: the share of arrivals that find the server busy.

    It is the root below 1 of s = A((1 - s) / service), A the transform of the times between
    arrivals; the response is service / (1 - s).
    """
    transform = arrivals.transform
    if transform is None:
        raise UnsupportedError(
            f"Station {name!r} is fed by a distribution whose transform is not known here; use "
            "exponential times between arrivals."
        )
    low, high = 0.0, 1.0
    # A is convex: above the diagonal before its root, below it between the root and 1
    for _ in range(200):
        middle = (low + high) / 2
        if transform((1 - middle) / service) > middle:
            low = middle
        else:
            high = middle
    return low
