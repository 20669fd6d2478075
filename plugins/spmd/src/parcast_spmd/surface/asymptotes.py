"""Bounds on the time of a phase from its demands alone, without solving any queue.

Sources: asymptotic bounds, Denning and Buzen 1978; balanced job bounds, Zahorjan, Sevcik, Eager
and Galler 1982, with a delay as in Lazowska, Zahorjan, Graham and Sevcik 1984, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

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
    They bound the answer of the phase's own model: equation 16 for synchronous I/O, the steady
    state of the product-form network for asynchronous I/O, the deterministic schedule for
    constant bursts. The lower asymptotic bound holds for every method with equal processes; of
    processes that differ nothing is said.
    """
    found = [_bounds(phase) for phase in phases]
    cycles = [phase["cycles"] for phase in phases]
    whole = _sum([one.asymptotic for one in found], cycles)
    if any(one.balanced is None for one in found):
        return Asymptotes(whole)
    return Asymptotes(whole, _sum([one.balanced or (0.0, None) for one in found], cycles))


def _bounds(phase: Mapping[str, Any]) -> Asymptotes:
    if not phase["equal"]:
        return Asymptotes((0.0, None))
    return _KINDS.get(phase["method"], _unknown)(phase)


def _sum(intervals: Sequence[Interval], cycles: Sequence[float]) -> Interval:
    """Return the bounds of all cycles of all phases."""
    lower = sum(n * low for n, (low, _) in zip(cycles, intervals, strict=True))
    uppers = [up for _, up in intervals if up is not None]
    if len(uppers) < len(intervals):
        return lower, None
    return lower, sum(n * up for n, up in zip(cycles, uppers, strict=True))


def _stations(phase: Mapping[str, Any]) -> tuple[float, float, float, int]:
    """Return delay, network and I/O of one job in a cycle, and the jobs that share a disk."""
    n, groups = phase["bursts"], phase["groups"]
    sharing = {"sio": 1, "bus": groups}.get(phase["model"]) or groups // phase["disks"]
    return n * phase["delay"], n * phase["network_service"], phase["io_service"], sharing


def _lower(phase: Mapping[str, Any]) -> float:
    """Return the time of a job alone, or that of the busiest queue."""
    delay, network, io, sharing = _stations(phase)
    shared = phase["groups"] * network
    if phase["model"] == "sio":  # the I/O comes after all the rest
        return float(max(delay + network, shared) + io)
    return float(max(delay + network + io, shared, sharing * io))


def _upper(phase: Mapping[str, Any]) -> float:
    """Return the time of a job that meets all others at every queue."""
    delay, network, io, sharing = _stations(phase)
    return float(delay + phase["groups"] * network + sharing * io)


def _unknown(phase: Mapping[str, Any]) -> Asymptotes:
    return Asymptotes((_lower(phase), None))


def _deterministic(phase: Mapping[str, Any]) -> Asymptotes:
    return Asymptotes((_lower(phase), _upper(phase)))


def _steady(phase: Mapping[str, Any]) -> Asymptotes:
    """Return the bounds of one cycle of a product-form network with one job class."""
    wide = _deterministic(phase)
    if phase["distribution"] == "const":  # lifted to what constant bursts certainly take
        return Asymptotes((wide.asymptotic[0], None))
    delay, network, io, sharing = _stations(phase)
    jobs, demands = phase["groups"], [one for one in (network, io) if one]
    if phase["model"] == "clu" and sharing < jobs and io:
        return wide  # several classes: no balanced job bounds
    total, largest = sum(demands), max(demands)
    mean = total / len(demands)
    others = jobs - 1
    lower = delay + total + others * mean * total / (total + delay)
    upper = delay + total + others * largest * jobs * total / (jobs * total + delay)
    return Asymptotes(wide.asymptotic, (max(lower, jobs * largest), upper))


def _fork_join(phase: Mapping[str, Any]) -> Asymptotes:
    n, io = phase["bursts"], phase["io_service"]
    asymptotic, balanced = _sums(phase["groups"], phase["delay"], phase["network_service"])
    return Asymptotes(
        (n * asymptotic[0] + io, n * asymptotic[1] + io),
        (n * balanced[0] + io, n * balanced[1] + io),
    )


@lru_cache(maxsize=4096)  # a surface asks again at every d
def _sums(
    groups: int, delay: float, shared: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return bounds on equation 16's sum over i of 1 / X(i), X(i) being i jobs' throughput."""
    jobs = np.arange(1, groups + 1)
    alone = (delay + shared) / jobs
    others = shared * (jobs - 1) / jobs
    asymptotic = np.maximum(shared, alone).sum(), (alone + others).sum()
    if not shared:
        exact = float(alone.sum())
        return (exact, exact), (exact, exact)
    low = np.maximum(shared, alone + others * shared / (shared + delay))
    high = alone + others * jobs * shared / (jobs * shared + delay)
    return (float(asymptotic[0]), float(asymptotic[1])), (float(low.sum()), float(high.sum()))


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Asymptotes]] = {
    "eq16": _fork_join,
    "mva": _steady,
    "integral": _steady,
    "constant": _deterministic,
    "delay": _deterministic,
}
