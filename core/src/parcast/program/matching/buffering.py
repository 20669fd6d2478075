"""Collective buffering: processes that access a shared file for others, as in MPI-IO."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast.program.matching.collectives import Groups, Step, groups, steps
from parcast.program.unroll.blocks import Ranks

_LINEAR = {"gatherv": "linear", "scatterv": "linear"}


def aggregator_of(processes: int, aggregators: int) -> Ranks:
    """Return which process accesses shared files for each of them, the first of its run."""
    of_run = min(aggregators, processes)
    run = np.arange(processes) * of_run // processes
    return -(-run * processes // of_run)


def buffered(op: str, among: Groups, amount: Any, aggregators: int) -> list[Step]:
    """Return what processes do between the two barriers of a collective access.

    They are cut into runs of consecutive ranks, as equal as can be, the first of each its
    aggregator: to ``write``, it gathers what the others have and writes all of it; to ``read``, it
    reads for all and hands on. It is the first phase and the second of two-phase I/O
    (Thakur, Gropp & Lusk 1999) where what each process has is one piece of the file, in the order
    of ranks, and the buffer holds it all.

    Parameters
    ----------
    op
        ``read`` or ``write``.
    among
        All processes that take part.
    amount
        Bytes of each process, a number or a column.
    aggregators
        How many there are; as many as processes where these are fewer.
    """
    runs = groups(among.ranks, aggregator_of(len(among.ranks), aggregators))
    column = np.broadcast_to(np.asarray(amount, float), among.ranks.shape)
    leading = np.flatnonzero(runs.position == 0)
    access = Step(
        op,
        among.ranks[leading],
        {"bytes": np.add.reduceat(column, leading), "file": "shared", "collective": False},
    )
    if op == "write":
        return [*steps("gatherv", _LINEAR, runs, amount, 0), access]
    return [access, *steps("scatterv", _LINEAR, runs, amount, 0)]
