"""A phase's answer: its time, and where the time of a process goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast import Parts
from parcast_spmd.demands import Demands

#: What binds where a part of the time does, in the order of `Parts`
_WORDS = ("processor", "network", "storage", "synchronization")


@attrs.frozen(kw_only=True)
class Sampled:
    """How sure a mean from random runs is; seconds."""

    half: float  #: half width of its 95 % interval
    std: float | None  #: of one run of the program, where runs were sampled
    converged: bool
    details: Mapping[str, Any]  #: how many runs or batches

    def __mul__(self, cycles: float) -> Sampled:
        """Return the same for the sum of independent cycles."""
        std = None if self.std is None else self.std * cycles**0.5
        return attrs.evolve(self, half=cycles * self.half, std=std)


@attrs.frozen(kw_only=True, slots=False)  # made twice as fast without slots
class Answer:
    """The whole phase, all its cycles; times in seconds."""

    time: float
    parts: Parts
    utilization: Mapping[str, float]
    binding: str
    method: str
    lower: float | None = None
    upper: float | None = None
    sampled: Sampled | None = None

    def between(self, lower: float, upper: float) -> Answer:
        """Return the answer with bounds of the whole phase."""
        return attrs.evolve(self, lower=lower, upper=upper)


def answer(
    given: Demands,
    method: str,
    *,
    queuing: float,
    io: float,
    waiting: float = 0.0,
    crowd: float = 0.0,
    lower: float | None = None,
    sampled: Sampled | None = None,
) -> Answer:
    """Return the answer of a phase from what one process meets in a mean cycle.

    Parameters
    ----------
    given
        The phase.
    method
        The name of the method.
    queuing
        Time at the shared network, waiting included.
    io
        Time at the disks, waiting included.
    waiting
        Time waiting for other groups.
    crowd
        Time waiting for a processor that others use, counted as computation.
    lower
        A proven lower bound of the whole phase.
    sampled
        How sure the answer is, of the whole phase.
    """
    n = given.bursts
    cycle = Parts(
        compute=n * given.compute + crowd,
        communication=n * given.free + queuing,
        io=io,
        synchronization=n * given.joining + waiting,
    )
    total, serving = cycle.total, busy(given)
    used = {"processor": n * given.compute, **serving}
    return Answer(
        time=given.cycles * total,
        parts=cycle * given.cycles,
        # Rounding may end a hair above 1 where a station never rests
        utilization={name: min(1.0, time / total) if total else 0.0 for name, time in used.items()},
        binding=_binding(given, cycle, total, serving),
        method=method,
        lower=None if lower is None else min(lower, given.cycles * total),
        sampled=sampled,
    )


def busy(given: Demands) -> dict[str, float]:
    """Return how long each shared station serves in one cycle of all groups."""
    network = given.groups * given.bursts * given.shared
    if given.model == "sio":
        return {"network": network, "storage": given.io}
    return {"network": network, "storage": given.sharing * given.io}


def _binding(given: Demands, cycle: Parts, total: float, serving: Mapping[str, float]) -> str:
    """Return the station that is busy enough to set the pace, or else the largest part."""
    busiest = max(serving, key=serving.__getitem__)
    alone = given.bursts * (given.delay + given.shared) + given.io
    if given.groups > 1 and serving[busiest] >= max(alone, total / 2):
        return busiest
    parts = cycle.values()
    return _WORDS[parts.index(max(parts))]
