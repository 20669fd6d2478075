"""What a perturbation adds to each event, cut to what there is to take away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from parcast.errors import ParcastError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.state import Deltas
from parcast_perturb.trace.calls import ALL, RECV, SENDRECV
from parcast_perturb.trace.columns import Floats, Trace


def deltas_of(
    trace: Trace, perturbation: Perturbation, recorded: Recorded
) -> tuple[Deltas, Mapping[str, int]]:
    """Return the deltas of all events, and how many of which were cut.

    No gap, no call and no message gets shorter than 0. Of a message that is known only
    where the latency of the recording machine is.
    """
    clipped: dict[str, int] = {}
    noise, latency, per_byte = perturbation.noise, perturbation.latency, perturbation.per_byte
    if recorded.latency is not None and latency < -recorded.latency:
        latency, clipped["latency"] = -recorded.latency, 1
    if recorded.per_byte is not None and per_byte < -recorded.per_byte:
        per_byte, clipped["per_byte"] = -recorded.per_byte, 1
    noises, gaps = _one(noise), _one(perturbation.compute)
    if noise < 0:
        noises = _cut("noise", np.full(trace.count, noise), _least(trace, recorded), clipped)
    if perturbation.extra or perturbation.compute < 0:
        gaps = _cut("gap", _gaps(trace, perturbation), gaps_of(trace), clipped)
    flights = _one(latency)
    if per_byte:
        events = trace.events
        flights = (latency + np.where(events.kind < ALL, events.bytes, 0.0) * per_byte)[:, None]
    none = np.empty((0, 1))
    return Deltas(
        gap=gaps,
        noise=noises,
        latency=flights,
        back=_one(latency),
        per_byte=float(per_byte),
        hop=none,
        hop_noise=none,
        hop_at=np.empty(0, np.int64),
    ), clipped


def gaps_of(trace: Trace) -> Floats:
    """Return the time before each event that its rank spent in no call; 0 before the first."""
    events = trace.events
    gaps = np.zeros(trace.count)
    gaps[1:] = events.start[1:] - events.end[:-1]
    begin = events.offsets[:-1]
    gaps[begin[begin < trace.count]] = 0
    return gaps


def _gaps(trace: Trace, perturbation: Perturbation) -> Floats:
    gaps = np.full(trace.count, float(perturbation.compute))
    offsets = trace.events.offsets
    for extra in perturbation.extra:
        if not 0 <= extra.rank < trace.size:
            raise ParcastError(
                f"{trace.where}: extra names rank {extra.rank}, and there are ranks 0 to "
                f"{trace.size - 1}"
            )
        many = int(offsets[extra.rank + 1] - offsets[extra.rank])
        if not 0 <= extra.event < many:
            raise ParcastError(
                f"{trace.where}: extra names event {extra.event} of rank {extra.rank}, which has "
                f"{many} events from 0 on"
            )
        gaps[offsets[extra.rank] + extra.event] += extra.delta
    return gaps


def _least(trace: Trace, recorded: Recorded) -> Floats:
    """Return what each call cost its rank itself."""
    events, kind = trace.events, trace.events.kind
    own = np.full(trace.count, float(recorded.overhead))
    receiving = (kind >= RECV) & (kind < ALL) & (kind != SENDRECV)
    if recorded.overhead_receive is not None:
        own[receiving] = recorded.overhead_receive
    own += np.where(receiving | (kind >= ALL), 0.0, events.bytes) * recorded.overhead_per_byte
    least: Floats = np.minimum(own, events.end - events.start)
    return least


def _cut(name: str, wanted: Floats, most: Floats, clipped: dict[str, int]) -> Any:
    """Return a column of what may be taken away, and count what may not."""
    if count := int(np.count_nonzero(wanted < -most)):
        clipped[name] = count
    return np.maximum(wanted, -most)[:, None]


def _one(value: float) -> Floats:
    return np.full((1, 1), float(value))
