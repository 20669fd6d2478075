"""All messages of a program: what each takes on its way, and what it shares there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Costs
from parcast.program.matching import CODE, Columns
from parcast.program.unroll import Pool
from parcast_petri.nets.net import Link
from parcast_petri.programs.dealing import Dealing
from parcast_petri.programs.flows import ALONE, Flows
from parcast_petri.programs.networks import Routes, Wires


@attrs.frozen(eq=False)
class Crossings:
    """The messages that a program sends, then those that processes fetch of pools."""

    src: NDArray[Any]  #: ranks
    dst: NDArray[Any]
    index: list[int]  #: by operation: its message, or the first of those that it fetches
    routes: Routes
    shared: Sequence[int | None]  #: the class of each, where links are shared in max-min fair rates
    links: tuple[Link, ...]  #: of all classes

    @classmethod
    def of(
        cls, table: Columns, costs: Costs, networks: Sequence[Wires], *, fair: bool,
        dealing: Dealing | None = None,
    ) -> Crossings:  # fmt: skip
        """Return the messages of a program.

        Parameters
        ----------
        table, costs, networks
            Its operations, what they are charged, and what messages pass.
        fair
            Whether they share links fairly.
        dealing
            Who takes which task of its pools; None: anybody may take any.
        """
        sends = np.flatnonzero(table.dst >= 0)
        fetches = np.flatnonzero(table.op == CODE["pool"])
        fetched = []
        for id_, rank in zip(fetches.tolist(), table.rank_of(fetches).tolist(), strict=True):
            number, pool = pool_of(table, id_)
            fetched.append(fetched_bytes(pool)[fetched_tasks(number, pool, rank, dealing)])
        counts = np.array([len(sizes) for sizes in fetched], np.int64)
        takers = np.repeat(table.rank_of(fetches), counts)
        src = np.append(table.rank_of(sends), np.zeros_like(takers))
        dst = np.append(table.dst[sends], takers)
        size = np.concatenate([table.amount[sends], *fetched])
        index = np.zeros(len(table.op), np.int64)
        index[sends] = np.arange(len(sends))
        index[fetches] = len(sends) + np.cumsum(counts) - counts
        routes = Routes.of(costs, networks, src, dst, size)
        if not fair:
            return cls(src, dst, index.tolist(), routes, [None] * len(src), ())
        flows = Flows.of(costs, src, dst, size)
        shared = [None if number == ALONE else number for number in flows.number.tolist()]
        transfer = np.where(flows.number == ALONE, routes.transfer, flows.work).tolist()
        routes = attrs.evolve(routes, transfer=transfer)
        return cls(src, dst, index.tolist(), routes, shared, flows.links)


def pool_of(table: Columns, id_: int) -> tuple[int, Pool]:
    """Return the number of an operation's pool, and the pool."""
    unrolled = table.unrolled
    number: int = unrolled.blocks[int(table.order[id_])].arguments["pool"]
    return number, unrolled.pools[number]


def fetched_tasks(number: int, pool: Pool, rank: int, dealing: Dealing | None) -> NDArray[np.int64]:
    """Return the tasks that a process may fetch, and behind them the word that there is none."""
    if dealing is None:
        return np.arange(pool.tasks + 1)
    return np.append(dealing.tasks(number, rank), pool.tasks)


def fetched_bytes(pool: Pool) -> NDArray[np.float64]:
    """Return the bytes of each task of a pool, and of the word that there is none."""
    return np.append(np.broadcast_to(pool.bytes, pool.tasks), 0.0)
