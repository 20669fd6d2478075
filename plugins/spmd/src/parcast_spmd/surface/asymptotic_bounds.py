"""Bounds on the time of a phase from its demands alone, without solving any queue.

Sources: asymptotic bounds, Denning and Buzen 1978; balanced job bounds, Zahorjan, Sevcik, Eager
and Galler 1982, with a delay as in Lazowska, Zahorjan, Graham and Sevcik 1984, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs

from parcast_spmd.models.fork_join import rounds
from parcast_spmd.models.order_statistics import harmonic, highest_mean

Interval = tuple[float, float | None]


@attrs.frozen
class Asymptotes:
    """Lower and upper bounds on a time in seconds; None where none is known."""

    asymptotic: Interval
    balanced: Interval | None = None

    def to_data(self) -> dict[str, Any]:
        """Return the bounds as JSON-ready data."""
        return {"asymptotic": self.asymptotic, "balanced_job": self.balanced}


def asymptotes(phases: Sequence[Mapping[str, Any]]) -> Asymptotes:
    """Return bounds on the time that a model gives to phases one after the other.

    Parameters
    ----------
    phases
        The ``phases`` of an spmd solver's details.

    Notes
    -----
    They bound the answer of the phase's own model: equation 16, the exact chain or the mean of
    runs for synchronous I/O, the steady state of the product-form network for asynchronous I/O,
    the deterministic schedule for constant bursts. What is simulated or approximated has the lower
    asymptotic bound alone; of processes that differ nothing is said.
    """
    bounds = [_bounds(phase) for phase in phases]
    cycles = [phase["cycles"] for phase in phases]
    whole = _sum([bound.asymptotic for bound in bounds], cycles)
    balanced = [bound.balanced for bound in bounds if bound.balanced is not None]
    return Asymptotes(whole, _sum(balanced, cycles) if len(balanced) == len(bounds) else None)


def _bounds(phase: Mapping[str, Any]) -> Asymptotes:
    if not phase["equal"]:
        return Asymptotes((0.0, None))
    return _KINDS.get(phase["method"], _unknown)(phase)


def _sum(intervals: Sequence[Interval], cycles: Sequence[float]) -> Interval:
    """Return the bounds of all cycles of all phases."""
    lower, upper = 0.0, 0.0
    for n, (low, high) in zip(cycles, intervals, strict=True):
        lower += n * low
        upper += math.inf if high is None else n * high
    return lower, None if math.isinf(upper) else upper


def _stations(phase: Mapping[str, Any]) -> tuple[float, float, float, int]:
    """Return delay, network and I/O of one job in a cycle, and the jobs that queue at a disk."""
    n, groups = phase["bursts"], phase["groups"]
    sharing = groups if phase["model"] == "bus" else groups // phase["disks"]
    return n * phase["delay"], n * phase["network_service"], phase["io_service"], sharing


def _simple(phase: Mapping[str, Any]) -> tuple[float, float]:
    """Return the time of a job alone or of the busiest queue, and that of meeting all others."""
    delay, network, io, sharing = _stations(phase)
    at_network, at_disk = phase["groups"] * network, sharing * io
    if phase["model"] == "sio":  # the I/O comes after all the rest
        return max(delay + network, at_network) + io, delay + at_network + io
    return max(delay + network + io, at_network, at_disk), delay + at_network + at_disk


def _unknown(phase: Mapping[str, Any]) -> Asymptotes:
    return Asymptotes((_simple(phase)[0], None))


def _deterministic(phase: Mapping[str, Any]) -> Asymptotes:
    return Asymptotes(_simple(phase))


def _steady(phase: Mapping[str, Any]) -> Asymptotes:
    """Return the bounds of one cycle of a product-form network with one job class."""
    wide = _simple(phase)
    delay, network, io, sharing = _stations(phase)
    jobs, demands = phase["groups"], [demand for demand in (network, io) if demand]
    if phase["model"] == "clu" and sharing < jobs and io:
        return Asymptotes(wide)  # several classes: no balanced job bounds
    total, largest = sum(demands), max(demands)
    mean = total / len(demands)
    others = jobs - 1
    lower = delay + total + others * mean * total / (total + delay)
    upper = delay + total + others * largest * jobs * total / (jobs * total + delay)
    certain = _certain(phase) if phase["distribution"] == "const" else 0.0
    return Asymptotes(wide, (max(lower, jobs * largest, certain), max(upper, certain)))


def _certain(phase: Mapping[str, Any]) -> float:
    """Return what a cycle of constant bursts takes at least, to which an answer is lifted."""
    delay, network, io, sharing = _stations(phase)
    n, cycles, groups = phase["bursts"], phase["cycles"], phase["groups"]
    at_disk = rounds(sharing, delay + network, io, cycles)
    at_network = rounds(groups, phase["delay"], phase["network_service"], n * cycles)
    least: float = max(at_disk.time, at_network.time) / cycles
    return least


def _fork_join(phase: Mapping[str, Any]) -> Asymptotes:
    n, io = phase["bursts"], phase["io_service"]
    wide, balanced = _sums(phase["groups"], phase["delay"], phase["network_service"])
    return Asymptotes(
        (n * wide[0] + io, n * wide[1] + io), (n * balanced[0] + io, n * balanced[1] + io)
    )


@lru_cache(maxsize=4096)  # a surface asks again at every d
def _sums(
    jobs: int, delay: float, shared: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return bounds on equation 16's sum over i of 1 / X(i), X(i) being i jobs' throughput.

    Of i jobs 1 / X(i) is between max(x, (z + x) / i) and z / i + x; of balanced jobs between
    max(x, (z + x + (i - 1) r) / i) with r = x^2 / (x + z), and (z + x) / i + x (i - 1) / (i + a)
    with a = z / x.
    """
    if not shared:
        exact = delay * harmonic(jobs)
        return (exact, exact), (exact, exact)
    alone, a = delay + shared, delay / shared
    wide = _above(shared, alone, 0.0, jobs), delay * harmonic(jobs) + jobs * shared
    # The sum of (i - 1) / (i + a), each of which is 1 - (1 + a) / (i + a)
    queued = shared * max(0.0, jobs - (1 + a) * harmonic(jobs, a))
    share = shared * (shared / alone)
    return wide, (_above(shared, alone, share, jobs), alone * harmonic(jobs) + queued)


def _above(shared: float, alone: float, share: float, jobs: int) -> float:
    """Return the sum over i of max(x, (alone - r) / i + r), whose second term falls with i."""
    few = min(float(jobs), (alone - share) / (shared - share)) if share < shared else float(jobs)
    few = math.floor(few)
    return (alone - share) * harmonic(few) + share * few + shared * (jobs - few)


def _chain(phase: Mapping[str, Any]) -> Asymptotes:
    """Return the bounds of the exact chain, whose jobs each have an exponential sum of delays.

    The job with the longest one passes the network 1 + (n - 1) H_P times, as it has more
    bursts than others.
    """
    delay, network, io, _ = _stations(phase)
    groups, passage = phase["groups"], phase["network_service"]
    longest = harmonic(groups)
    slowest = delay * longest + passage + (network - passage) * longest
    at_network = groups * network
    return Asymptotes((max(slowest, at_network) + io, delay * longest + at_network + io))


def _fixed(phase: Mapping[str, Any]) -> Asymptotes:
    """Return the bounds of as many bursts as written, of any law."""
    n, groups = phase["bursts"], phase["groups"]
    lower, upper = _simple(phase)
    variance = n * phase["members"] * phase["variance"] * phase["compute"] ** 2
    return Asymptotes((lower, upper + highest_mean(0.0, variance, groups)))


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Asymptotes]] = {
    "eq16": _fork_join,
    "ctmc": _chain,
    "fixed-cycles": _fixed,
    "mva": _steady,
    "integral": _steady,
    "constant": _deterministic,
    "delay": _deterministic,
}
