"""A job that fails: what is known of it, and how its work is cut by checkpoints.

The model: failures come at a constant rate while the job runs, also while it writes a checkpoint
and while it restarts. A failure loses all since the last checkpoint that was written whole; a
restart follows, and a failure during it begins it anew. A checkpoint is written after each
interval of computing, the last one included, as it is the result.
"""

from __future__ import annotations

import math

import attrs

from parcast.errors import ParcastError
from parcast.quantities import Distribution


@attrs.frozen(kw_only=True)
class FailingJob:
    """A job under failures; every time is in seconds.

    Raises
    ------
    ParcastError
        If a number is out of its range.
    """

    mtbf: float  #: mean time between two failures of the whole job while it runs
    checkpoint: float  #: to write a checkpoint, during which nothing is computed
    restart: float = 0.0  #: from a failure until it computes again from the last checkpoint
    spares: int | None = None  #: nodes that replace failed ones; None: there is always one
    repair: Distribution | None = None  #: until a failed node is a spare again
    slow_share: float = 0.0  #: of the time in which a straggler slows the job
    slowdown: float = 1.0  #: how much longer the same work takes then
    slow_episode: float = 3600.0  #: mean length of such a time

    def __attrs_post_init__(self) -> None:
        _check("mtbf", self.mtbf, self.mtbf > 0, "above 0")
        _check("checkpoint", self.checkpoint, self.checkpoint >= 0, "0 or more")
        _check("restart", self.restart, self.restart >= 0, "0 or more")
        _check("slow_share", self.slow_share, 0 <= self.slow_share <= 1, "from 0 to 1")
        _check("slowdown", self.slowdown, self.slowdown >= 1, "1 or more")
        _check("slow_episode", self.slow_episode, self.slow_episode > 0, "above 0")
        _check("spares", self.spares or 0, (self.spares or 0) >= 0, "0 or more")
        if (self.spares is None) != (self.repair is None):
            raise ParcastError("spares and the time of a repair go together; state both, or none")

    @property
    def speed(self) -> float:
        """The mean speed of computing, 1 without stragglers."""
        return 1 - self.slow_share * (1 - 1 / self.slowdown)


def _check(name: str, value: float, holds: bool, bound: str) -> None:
    if not holds or not math.isfinite(value):
        raise ParcastError(f"{name} {value:g} must be {bound}")


@attrs.frozen(kw_only=True)
class Plan:
    """Computing time in intervals, a checkpoint after each."""

    interval: float  #: computing between two checkpoints
    count: int  #: of whole intervals
    last: float = 0.0  #: computing after them, 0 if they are all

    @classmethod
    def of(cls, computing: float, interval: float) -> Plan:
        """Return the plan that writes a checkpoint after every interval."""
        if not (interval > 0 and computing > 0):
            raise ParcastError(f"{computing:g} s of computing in intervals of {interval:g} s: "
                               "both must be above 0")  # fmt: skip
        if interval >= computing:
            return cls(interval=computing, count=1)
        count = math.floor(computing / interval)
        last = computing - count * interval
        return cls(interval=interval, count=count, last=last if last > 1e-9 * interval else 0.0)

    @property
    def computing(self) -> float:
        """All of it."""
        return self.count * self.interval + self.last
