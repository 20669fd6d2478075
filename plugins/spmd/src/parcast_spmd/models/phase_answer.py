"""A phase's answer: its time, and where the time of a process goes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from parcast import Parts
from parcast_spmd.models.demands import Demands

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
    phase: Demands,
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
    phase
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
    n, cycles = phase.bursts, phase.cycles
    computing = n * phase.compute
    communication, joining = n * phase.free + queuing, n * phase.joining + waiting
    parts = (computing + crowd, communication, io, joining)
    total, (network, storage) = math.fsum(parts), serving_times(phase)
    whole = total or 1.0
    return Answer(
        time=cycles * total,
        parts=Parts(*(cycles * part for part in parts)),
        utilization={  # rounding may end a hair above 1 where a station never rests
            "processor": min(1.0, computing / whole),
            "network": min(1.0, network / whole),
            "storage": min(1.0, storage / whole),
        },
        binding=_binding(phase, parts, total, network, storage),
        method=method,
        lower=None if lower is None else min(lower, cycles * total),
        sampled=sampled,
    )


def serving_times(phase: Demands) -> tuple[float, float]:
    """Return how long network and storage each serve in one cycle of all groups."""
    network = phase.groups * phase.bursts * phase.shared
    return network, phase.io if phase.model == "sio" else phase.sharing * phase.io


def _binding(
    phase: Demands, parts: tuple[float, ...], total: float, network: float, storage: float
) -> str:
    """Return the station that is busy enough to set the pace, or else the largest part."""
    busiest, serving = ("storage", storage) if storage > network else ("network", network)
    if phase.groups > 1 and serving >= total / 2:
        alone = phase.bursts * (phase.delay + phase.shared) + phase.io
        if serving >= alone:
            return busiest
    return _WORDS[parts.index(max(parts))]
