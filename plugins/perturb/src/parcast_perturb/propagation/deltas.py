"""A perturbation as tables that the kernel draws from."""

from __future__ import annotations

import math

import numpy as np

from parcast.errors import ParcastError
from parcast_perturb.perturbation import Addition, Perturbation, Recorded
from parcast_perturb.propagation.interruptions import interruptions
from parcast_perturb.propagation.state import ABSENT, GAP, LATENCY, NOISE, PER_BYTE, Deltas
from parcast_traces.trace.columns import Floats, Ints, Trace

#: As many values as a law's table has.
POOL = 65536


class _Tables:
    """Constants and laws by target and rank, filled addition by addition."""

    def __init__(self, size: int, additions: list[Addition], replications: int) -> None:
        self.by_rank = any(addition.ranks is not None for addition in additions)
        by_replication = any(np.ndim(addition.constant) for addition in additions)
        columns = (size if self.by_rank else 1, replications if by_replication else 1)
        self.constant = np.zeros((4, *columns))
        self.law = np.full((4, size), ABSENT, np.int64)
        self.pools = [np.zeros(POOL)]

    def add(self, target: int, ranks: Ints, addition: Addition) -> None:
        """Add a constant, and a law where there is one."""
        self.constant[target, ranks if self.by_rank else slice(None)] += addition.constant
        if addition.values is None:
            return
        if (self.law[target, ranks] != ABSENT).any():
            raise ParcastError("two distributions are added to the same ranks; give one")
        self.law[target, ranks] = len(self.pools)
        self.pools.append(addition.values)


def deltas_of(
    trace: Trace, perturbation: Perturbation, recorded: Recorded, replications: int, seed: int
) -> Deltas:
    """Return what the kernel adds."""
    by_target = {
        NOISE: perturbation.noise,
        GAP: perturbation.compute,
        LATENCY: perturbation.latency,
        PER_BYTE: perturbation.per_byte,
    }
    additions = [(target, addition) for target in by_target for addition in by_target[target]]
    size = max(trace.size, 1)
    tables = _Tables(size, [addition for _, addition in additions], replications)
    interrupted: list[tuple[Ints, Floats]] = []
    for target, addition in additions:
        ranks = _ranks(trace, addition.ranks)
        if addition.arrivals is None:
            tables.add(target, ranks, addition)
        else:
            arrivals = addition.arrivals
            interrupted.append(interruptions(trace, arrivals, ranks, replications, seed))
    rows, extra = _extra(trace, perturbation, interrupted)
    return Deltas(
        constant=tables.constant,
        law=tables.law,
        pool=np.stack(tables.pools),
        seed=seed % (1 << 31),
        extra_row=rows,
        extra=extra,
        event=or_empty(perturbation.event, 3),
        message_costs=or_empty(recorded.message_costs, 2),
        least_latency=_least(recorded.latency),
        least_per_byte=_least(recorded.per_byte),
    )


def or_empty(table: Floats | None, columns: int) -> Floats:
    """Return a table, row after row as the kernel is compiled for, or one without rows."""
    return np.empty((0, columns)) if table is None else np.ascontiguousarray(table)


def _least(cost: float | None) -> float:
    return -math.inf if cost is None else -float(cost)


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
    trace: Trace, perturbation: Perturbation, interrupted: list[tuple[Ints, Floats]]
) -> tuple[Ints, Floats]:
    """Return the events before which more is added, rising, and how much in each replication."""
    offsets, delays = trace.events.offsets, []
    for extra in perturbation.extra:
        _check_rank(trace, extra.rank)
        count = int(offsets[extra.rank + 1] - offsets[extra.rank])
        if not 0 <= extra.event < count:
            raise ParcastError(
                f"{trace.where}: extra names event {extra.event} of rank {extra.rank}, which has "
                f"{count} events from 0 on"
            )
        delays.append((int(offsets[extra.rank]) + extra.event, float(extra.delta)))
    events, deltas = np.array(delays, np.float64).reshape(-1, 2).T
    sources = [(events.astype(np.int64), deltas[:, None])]
    if perturbation.removed is not None:
        sources.append((perturbation.removed[0], perturbation.removed[1][:, None]))
    sources += interrupted
    rows: Ints = np.concatenate([rows for rows, _ in sources])
    width = max(values.shape[1] for _, values in sources)
    values = [np.broadcast_to(columns, (len(columns), width)) for _, columns in sources]
    order = np.argsort(rows, kind="stable")
    return rows[order], np.concatenate(values)[order]
