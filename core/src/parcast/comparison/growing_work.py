"""Speedups of workloads whose work grows with the number of processes."""

from __future__ import annotations

import attrs

from parcast.model.query import Query
from parcast.results.best import work_of

#: Work that grows by less is that of being parallel, not of a larger problem.
_LARGER = 1.5


def scaled(query: Query, speedup: float, *, at_most: bool) -> str | None:
    """Return a note on a speedup whose times are of unlike work; None where work does not grow.

    The scaled speedup is how many times as much work is done in a second as by one process (J. L.
    Gustafson, Reevaluating Amdahl's law, 1988).

    Parameters
    ----------
    query
        The question.
    speedup
        The time of one process over that of the query's p.
    at_most
        Whether the time is a lower bound.
    """
    mapping = query.mapping if isinstance(query.mapping, str) else query.mapping[:1]
    before = work_of(attrs.evolve(query, p=1, d=1, mapping=mapping))
    after = work_of(query)
    growth = min((after[name] / before[name] for name in before if name in after), default=1.0)
    if growth < _LARGER:
        return None
    return (
        f"the work is {growth:.3g} times that of one process: scaled by it, the speedup is "
        f"{'at most ' * at_most}{growth * speedup:.3g}, the efficiency "
        f"{100 * growth * speedup / query.p:.3g} %"
    )
