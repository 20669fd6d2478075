"""What is changed: noise, latency and bandwidth, and what the recording machine was like."""

from __future__ import annotations

import math
from typing import Any, Literal

import attrs

Rule = Literal["corrected", "paper", "equation-2"]
Collectives = Literal["paper", "butterfly"]
Protocol = Literal["acknowledge", "rendezvous"]


@attrs.frozen
class Extra:
    """A delay before one event, in ticks."""

    rank: int
    event: int
    delta: float


@attrs.frozen(kw_only=True)
class Arrivals:
    """Noise that comes in time, in ticks: every so often, or with such a mean between two."""

    interval: float
    length: float  #: what an interruption takes
    periodic: bool
    together: bool = False  #: all ranks at the same times


@attrs.frozen(eq=False)
class Addition:
    """What is added each time, in ticks; negative numbers take away."""

    constant: Any = 0.0  #: a number, or one for each replication
    values: Any = attrs.field(default=None, repr=False)  #: drawn from these, each equally often
    ranks: tuple[int, ...] | None = None  #: to whom; None: all
    arrivals: Arrivals | None = None  #: only of gaps


@attrs.frozen(kw_only=True, eq=False)
class Perturbation:
    """What is added, in ticks."""

    noise: tuple[Addition, ...] = ()  #: to every call
    compute: tuple[Addition, ...] = ()  #: to every gap between calls
    latency: tuple[Addition, ...] = ()  #: to every message of a sender
    per_byte: tuple[Addition, ...] = ()
    extra: tuple[Extra, ...] = ()
    event: Any = attrs.field(default=None, repr=False)  #: see `Deltas.event`
    removed: Any = attrs.field(default=None, repr=False)  #: events, and what to add before each

    @classmethod
    def of(
        cls,
        noise: float = 0.0,
        compute: float = 0.0,
        latency: float = 0.0,
        per_byte: float = 0.0,
        extra: tuple[Extra, ...] = (),
    ) -> Perturbation:
        """Return what adds constants everywhere."""
        return cls(
            noise=(Addition(noise),),
            compute=(Addition(compute),),
            latency=(Addition(latency),),
            per_byte=(Addition(per_byte),),
            extra=extra,
        )


@attrs.frozen(kw_only=True)
class Recorded:
    """What is known of the machine that a trace was recorded on, in ticks."""

    overhead: float = 0.0  #: o, what a call costs its rank when it waits for nobody
    overhead_per_byte: float = 0.0  #: O, of sends
    overhead_receive: float | None = None  #: as ``overhead`` where not stated
    latency: float | None = None  #: L
    per_byte: float | None = None  #: G
    eager_max: float = math.inf  #: a larger message's sender waits for its receiver
    early_max: float | None = None
    """A larger message flies once its receive is posted; None: as ``eager_max``."""
    message_costs: Any = attrs.field(
        default=None, repr=False
    )  #: see `Deltas.message_costs`; None: L and G of all
    call_costs: Any = attrs.field(
        default=None, repr=False
    )  #: see `Table.calls`; None: those above of all


@attrs.frozen(kw_only=True)
class Semantics:
    """How calls are taken to behave."""

    rules: Rule = "corrected"
    collectives: Collectives = "paper"
    protocol: Protocol | None = None
    """Of messages above ``eager_max``; None: that of a model's table of costs for modeled runs, by
    which they fly when both sides are there, and of recorded ones that they are acknowledged."""
