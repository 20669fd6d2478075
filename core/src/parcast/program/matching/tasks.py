"""Messages that tasks of pools send: how many there are to whom, whoever sends them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from parcast.errors import InvalidPointError
from parcast.program.source.operations import ANY
from parcast.program.unroll.blocks import Pool, Unrolled

#: A process and a tag.
Inbox = tuple[int, int]


def sent_by_tasks(pool: Pool) -> Counter[Inbox]:
    """Return how many messages the tasks of a pool send to each process and tag."""
    sent: Counter[Inbox] = Counter()
    for block in pool.work.blocks:
        if block.op == "send":
            count = len(pool.work.ranks_of(block))
            ends = (
                np.broadcast_to(block.arguments[name], count).tolist() for name in ("dst", "tag")
            )
            sent.update(zip(*ends, strict=True))
    return sent


def check_tasks(unrolled: Unrolled, eager_limit: float) -> None:
    """Refuse messages of tasks that wait for their receive, or that nobody takes from anybody.

    Raises
    ------
    InvalidPointError
        Naming the line and the process.
    """
    if not any(block.op == "send" for pool in unrolled.pools for block in pool.work.blocks):
        return
    takes = {
        (rank, tag)
        for block in unrolled.blocks
        if block.op == "recv"
        for rank, source, tag in zip(
            unrolled.ranks_of(block).tolist(),
            *(
                np.broadcast_to(block.arguments[name], len(unrolled.ranks_of(block))).tolist()
                for name in ("src", "tag")
            ),
            strict=True,
        )
        if source == ANY
    }
    for pool in unrolled.pools:
        for block in pool.work.blocks:
            if block.op != "send":
                continue
            at = f"{unrolled.line(block.site)}: at p={unrolled.size} a task sends"
            largest = float(np.max(block.arguments["bytes"]))
            if largest > eager_limit:
                raise InvalidPointError(
                    f"{at} {largest:.15g} bytes, which wait for their receive, and a task waits "
                    f"for nobody; send at most network.eager_limit = {eager_limit:.15g} B"
                )
        for to, tag in sent_by_tasks(pool).keys() - takes:
            site = next(block.site for block in pool.work.blocks if block.op == "send")
            raise InvalidPointError(
                f"{unrolled.line(site)}: at p={unrolled.size} tasks send to rank {to} (tag {tag}), "
                "which does not take that tag by recv(ANY), as who does a task is not known before"
            )
