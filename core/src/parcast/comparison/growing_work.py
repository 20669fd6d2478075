"""Speedups of workloads whose work grows with the number of processes."""

from __future__ import annotations

from typing import NamedTuple

import attrs

from parcast.model.query import Query
from parcast.results.best import work_of

#: Work that grows by less is that of being parallel, not of a larger problem.
_LARGER = 1.5


class Scaled(NamedTuple):
    """A speedup scaled by how much the work grows, and what is said of it."""

    speedup: float
    note: str


def scaled_speedup(query: Query, speedup: float) -> Scaled | None:
    """Return the scaled speedup of a query; None where the work does not grow."""
    growth = query.once("growth of work", growth_of_work)  # for all solvers
    if growth is None:
        return None
    return Scaled(
        growth * speedup,
        f"the work is {growth:.3g} times that of one process, so speedups compare times of unlike "
        f"work: scaled by it they are {growth:.3g} times as large",
    )


def growth_of_work(query: Query) -> float | None:
    """Return how many times the work of one process a query's is; None where it does not grow.

    So many times its speedup is the scaled one: how many times as much work is done in a second
    as by one process (J. L. Gustafson, Reevaluating Amdahl's law, 1988).
    """
    mapping = query.mapping if isinstance(query.mapping, str) else query.mapping[:1]
    before = work_of(attrs.evolve(query, p=1, d=1, mapping=mapping))
    after = work_of(query)
    growth = min((after[name] / before[name] for name in before if name in after), default=1.0)
    return growth if growth >= _LARGER else None
