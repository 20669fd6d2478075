"""What is changed: noise, latency and bandwidth, and what the recording machine was like."""

from __future__ import annotations

import math
from typing import Literal

import attrs

Rule = Literal["corrected", "paper"]
Collectives = Literal["paper", "butterfly"]
Protocol = Literal["acknowledge", "rendezvous"]


@attrs.frozen
class Extra:
    """A delay before one event, in ticks."""

    rank: int
    event: int
    delta: float


@attrs.frozen(kw_only=True)
class Perturbation:
    """What is added, in ticks; negative numbers take away."""

    noise: float = 0.0  #: to every call
    compute: float = 0.0  #: to every gap between calls
    latency: float = 0.0  #: to every message
    per_byte: float = 0.0
    extra: tuple[Extra, ...] = ()


@attrs.frozen(kw_only=True)
class Recorded:
    """What is known of the machine that a trace was recorded on, in ticks."""

    overhead: float = 0.0  #: o, what a call costs its rank when it waits for nobody
    overhead_per_byte: float = 0.0  #: O, of sends
    overhead_receive: float | None = None  #: as ``overhead`` where not stated
    latency: float | None = None  #: L
    per_byte: float | None = None  #: G
    eager_max: float = math.inf  #: a larger message's sender waits for its receiver


@attrs.frozen(kw_only=True)
class Semantics:
    """How calls are taken to behave."""

    rules: Rule = "corrected"
    collectives: Collectives = "paper"
    protocol: Protocol = "acknowledge"  #: of messages above ``eager_max``
