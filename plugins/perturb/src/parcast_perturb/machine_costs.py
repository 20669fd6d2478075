"""What a machine's network, calls and noise are in a trace's ticks."""

from __future__ import annotations

from typing import ClassVar

import attrs

from parcast.errors import ParcastError
from parcast.model import Machine
from parcast.quantities import to_base
from parcast_perturb.laws import addition
from parcast_perturb.perturbation import Addition, Recorded
from parcast_traces.trace.columns import Trace


@attrs.frozen(kw_only=True)
class Noise:
    """What a machine's operating system adds: distributions as ``exp:25us``."""

    calls: str | None = None  #: law of what is added to every call
    computation: str | None = None  #: law of what is added to every gap between calls
    of_others: ClassVar[bool] = True


def recorded_on(
    trace: Trace, machine: Machine | None, overhead: str | None, eager_max: float | None
) -> Recorded:
    """Return what is known of the recording machine.

    Raises
    ------
    ParcastError
        If a machine is given and the trace's times have no unit, or a quantity cannot be read.
    """
    recorded = Recorded()
    if machine is not None:
        if trace.tick is None:
            raise ParcastError(
                f"{trace.where}: the times have no unit, so no machine says what they cost; "
                "state the unit in the trace"
            )
        recorded = costs_of(machine, trace.tick)
    if overhead is not None:
        call_cost = to_base(overhead, "s" if trace.tick else "1") / (trace.tick or 1.0)
        recorded = attrs.evolve(recorded, overhead=call_cost)
    if eager_max is not None:
        recorded = attrs.evolve(recorded, eager_max=eager_max)
    return recorded


def costs_of(machine: Machine, tick: float) -> Recorded:
    """Return what a machine's network costs, in ticks.

    Raises
    ------
    UnsupportedError
        If it states no startup or no bandwidth.
    """
    network, reason = machine.network, "a trace recorded on it"
    startup = machine.need("network.startup", reason)
    byte_time = 1.0 / machine.need("network.bandwidth", reason)
    overhead, by_sender = network.overhead, network.paid_by == "sender"
    receive = overhead if network.overhead_receive is None else network.overhead_receive
    return Recorded(
        overhead=(overhead + startup if by_sender else overhead) / tick,
        overhead_per_byte=(network.overhead_per_byte + (byte_time if by_sender else 0.0)) / tick,
        overhead_receive=receive / tick,
        latency=0.0 if by_sender else startup / tick,
        per_byte=0.0 if by_sender else byte_time / tick,
        eager_max=float("inf") if network.eager_limit is None else network.eager_limit,
    )


def noise_of(machine: Machine, trace: Trace) -> tuple[tuple[Addition, ...], tuple[Addition, ...]]:
    """Return what the machine's noise adds to calls and to gaps.

    Raises
    ------
    ParcastError
        If it is no distribution.
    """
    part = machine.part("noise", Noise) or Noise()

    def read(text: str | None, name: str) -> tuple[Addition, ...]:
        return () if text is None else (addition(text, trace.tick, f"noise.{name}")[0],)

    return read(part.calls, "calls"), read(part.computation, "computation")
