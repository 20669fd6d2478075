"""Collective buffering: what passes between processes where some access a file for all others."""

from __future__ import annotations

from parcast import Query
from parcast.model import WHOLE_NETWORK, Costs, Messages, traffic_of


def accesses(query: Query) -> int:
    """Return how many accesses one access by all together is."""
    aggregators = query.machine.storage.aggregators
    return 1 if aggregators is None else min(aggregators, query.p)


def exchange(io_bytes: float, query: Query, stated: float | None) -> float:
    """Return the seconds in which aggregators gather what all have, or hand it out.

    All messages leave at once; of their transfers the part w queues, as of a burst's messages, and
    an aggregator takes one after another.

    Parameters
    ----------
    io_bytes
        Of all processes; each has an equal share.
    query
        The machine, with its aggregators, and p.
    stated
        w; None: that of the links.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number that messages need.
    """
    if (aggregators := query.machine.storage.aggregators) is None or aggregators >= query.p:
        return 0.0
    import numpy as np

    from parcast.program.matching import aggregator_of

    costs, ranks = Costs.of(query, ["messages"], WHOLE_NETWORK), np.arange(query.p)
    owner, n = aggregator_of(query.p, aggregators), io_bytes / query.p
    sending = owner != ranks
    pairs = ranks[sending], owner[sending]
    traffic = traffic_of([Messages.of(*pairs, n)], costs, query.p)
    level = traffic.level if stated is None else stated
    queuing = traffic.transfer * (1 + level * (query.p - 1))
    alone = float(np.max(costs.transfer(*pairs, n)))
    taken = int(np.bincount(owner).max()) - 1
    return float(
        costs.sending(n)
        + np.max(costs.latency(*pairs, n))
        + max(alone, queuing)
        + taken * costs.receiving(n)
    )
