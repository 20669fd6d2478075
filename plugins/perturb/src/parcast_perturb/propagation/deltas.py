"""A perturbation as tables that the kernel draws from."""

from __future__ import annotations

import math

import numpy as np

from parcast.errors import ParcastError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.interruptions import interruptions
from parcast_perturb.propagation.state import GAP, LATENCY, NO, NOISE, PER_BYTE, Deltas
from parcast_traces.trace.columns import Floats, Ints, Trace

#: As many values as a law's table has.
POOL = 65536


def deltas_of(
    trace: Trace, perturbation: Perturbation, recorded: Recorded, replications: int, seed: int
) -> Deltas:
    """Return what the kernel adds."""
    size = max(trace.size, 1)
    given = {
        NOISE: perturbation.noise,
        GAP: perturbation.compute,
        LATENCY: perturbation.latency,
        PER_BYTE: perturbation.per_byte,
    }
    every = [one for additions in given.values() for one in additions]
    apart = any(one.ranks is not None for one in every)
    many = any(np.ndim(one.constant) for one in every)
    constant = np.zeros((4, size if apart else 1, replications if many else 1))
    law = np.full((4, size), NO, np.int64)
    pools, struck = [np.zeros(POOL)], list[tuple[Ints, Floats]]()
    for what, additions in given.items():
        for one in additions:
            ranks = _ranks(trace, one.ranks)
            if one.arrivals is not None:
                struck.append(interruptions(trace, one.arrivals, ranks, replications, seed))
                continue
            constant[what, ranks if apart else slice(None)] += one.constant
            if one.values is None:
                continue
            if (law[what, ranks] != NO).any():
                raise ParcastError("two distributions are added to the same ranks; give one")
            law[what, ranks] = len(pools)
            pools.append(one.values)
    rows, extra = _extra(trace, perturbation, struck)
    return Deltas(
        constant=constant,
        law=law,
        pool=np.stack(pools),
        seed=seed % (1 << 31),
        extra_row=rows,
        extra=extra,
        event=np.empty((0, 3)) if perturbation.event is None else perturbation.event,
        way=np.empty((0, 2)) if recorded.way is None else recorded.way,
        least_latency=_least(recorded.latency),
        least_per_byte=_least(recorded.per_byte),
    )


def _least(known: float | None) -> float:
    return -math.inf if known is None else -float(known)


def _ranks(trace: Trace, ranks: tuple[int, ...] | None) -> Ints:
    if ranks is None:
        return np.arange(max(trace.size, 1))
    for rank in ranks:
        _check_rank(trace, rank)
    return np.array(ranks, np.int64)


def _check_rank(trace: Trace, rank: int) -> None:
    if not 0 <= rank < trace.size:
        raise ParcastError(
            f"{trace.where}: the perturbation names rank {rank}, and there are ranks 0 to "
            f"{trace.size - 1}"
        )


def _extra(
    trace: Trace, perturbation: Perturbation, struck: list[tuple[Ints, Floats]]
) -> tuple[Ints, Floats]:
    """Return the events before which more is added, rising, and how much in each replication."""
    offsets, found = trace.events.offsets, []
    for extra in perturbation.extra:
        _check_rank(trace, extra.rank)
        many = int(offsets[extra.rank + 1] - offsets[extra.rank])
        if not 0 <= extra.event < many:
            raise ParcastError(
                f"{trace.where}: extra names event {extra.event} of rank {extra.rank}, which has "
                f"{many} events from 0 on"
            )
        found.append((int(offsets[extra.rank]) + extra.event, float(extra.delta)))
    given, deltas = np.array(found, np.float64).reshape(-1, 2).T
    every = [(given.astype(np.int64), deltas[:, None])]
    if perturbation.removed is not None:
        every.append((perturbation.removed[0], perturbation.removed[1][:, None]))
    every += struck
    rows: Ints = np.concatenate([rows for rows, _ in every])
    width = max(values.shape[1] for _, values in every)
    values = [np.broadcast_to(one, (len(one), width)) for _, one in every]
    order = np.argsort(rows, kind="stable")
    return rows[order], np.concatenate(values)[order]
