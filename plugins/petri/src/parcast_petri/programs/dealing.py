"""Pools of many tasks: who takes which is fixed before the net is built.

Then a task is a few transitions of one process. In a net that decides it, each is some of every
process. Who asks first is decided by the plain run of ``docs/program.md``; played to its end, the
net shows whether it has the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program import Unrolled
from parcast.program.matching import matched_program
from parcast.program.reference import end_of_instant, takers_of
from parcast_petri.machine.links import Traffic
from parcast_petri.programs.nodes import Nodes

#: From so many operations on, of a net that decides who takes which task, another is tried first.
FEW_OPERATIONS = 20_000

NOTE = "who takes which task of a pool is fixed, as the plain run of the program has it"


@attrs.frozen(eq=False)
class Dealing:
    """Who takes each task of each pool, by the number of the pool."""

    takers: Mapping[int, NDArray[np.int64]]

    @classmethod
    def of(cls, query: Query) -> Dealing:
        """Return who takes which task in the plain run of a program."""
        unrolled = matched_program(query, pools=True).unrolled
        takers = takers_of(unrolled, Costs.of(query, unrolled.needs(), WHOLE_NETWORK))
        return cls({number: np.array(ranks) for number, ranks in takers.items()})

    def tasks(self, number: int, rank: int) -> NDArray[np.int64]:
        """Return the tasks of a pool that a process takes, in their order."""
        takers = self.takers.get(number)
        return np.empty(0, np.int64) if takers is None else np.flatnonzero(takers == rank)

    def is_confirmed(
        self, asked: Mapping[int, Sequence[tuple[int, int]]], times: Sequence[float]
    ) -> bool:
        """Tell whether processes ask in the order in which they take tasks.

        Parameters
        ----------
        asked
            By the number of a pool: each moment of a question, and its process.
        times
            Of each moment.
        """
        return all(
            _in_order([(times[moment], rank) for moment, rank in asked[number]])[: len(takers)]
            == takers.tolist()
            for number, takers in self.takers.items()
        )


def can_be_dealt(query: Query, nodes: Nodes) -> bool:
    """Tell whether a program's net may be built for tasks that are dealt beforehand."""
    program = matched_program(query, pools=True)
    pools = program.native.pools
    return (
        any(pool.master is None for pool in pools)
        and not any(pool.master is not None for pool in pools)
        and not nodes.loads
        and query.machine.part("traffic", Traffic) is None
    )


def net_operations(unrolled: Unrolled, *, dealt: bool = False) -> int:
    """Return how many operations the net of a program has.

    A task is one of each process, if the net decides who takes it.
    """
    count = sum(len(unrolled.ranks_of(block)) for block in unrolled.blocks)
    counted = set[int]()
    for block in unrolled.blocks:
        if block.op != "pool":
            continue
        number = block.arguments["pool"]
        pool = unrolled.pools[number]
        if pool.master is not None:  # each task is one of the process that does it
            count += pool.work.count() + 4 * (pool.tasks + pool.workers)
        elif not dealt:
            count += len(unrolled.ranks_of(block)) * (pool.work.count() + pool.tasks)
        elif number not in counted:
            count += pool.work.count() + pool.tasks
            counted.add(number)
    return count


def _in_order(asked: list[tuple[float, int]]) -> list[int]:
    """Return who asked, in the order of time; of one instant, of ranks."""
    until, instant, ranks = -1.0, 0, defaultdict[int, list[int]](list)
    for time, rank in sorted(asked):
        if time > until:
            until, instant = end_of_instant(time), instant + 1
        ranks[instant].append(rank)
    return [rank for of_instant in ranks.values() for rank in sorted(of_instant)]
