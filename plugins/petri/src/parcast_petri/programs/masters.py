"""Masters of pools: whom they answer when is fixed before the net is built.

Who asks first is decided by the plain run of ``docs/program.md``; so the net has ordinary messages,
and its times are those of that run.
"""

from __future__ import annotations

import numpy as np

from parcast.errors import UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import Matched, match_unrolled
from parcast.program.reference import frozen
from parcast_petri.machine.links import Traffic
from parcast_petri.programs.nodes import Nodes

NOTE = "whom the master of a pool answers when is fixed, as the plain run of the program has it"


def has_master(program: Matched) -> bool:
    """Return whether a process attends to some pool."""
    return any(pool.master is not None for pool in program.native.pools)


def dealt(query: Query, program: Matched, nodes: Nodes) -> tuple[Matched, frozenset[int]]:
    """Return a program in which the messages of masters name their partners, and who was chosen.

    These are sends whose messages were taken as those that were there first. Who takes one goes on
    behind all who ask for a disk at that time; where nobody accesses files, none is named.

    Raises
    ------
    UnsupportedError
        If other pools have no master, or the machine's load decides who asks first.
    """
    where = query.workload.name
    if any(pool.master is None for pool in program.native.pools):
        raise UnsupportedError(
            f"{where} has pools with a master and without, which no net here has; give all one"
        )
    if nodes.loads or query.machine.part("traffic", Traffic) is not None:
        raise UnsupportedError(
            f"{where}: whom a master answers when depends on the load of machine "
            f"{query.machine.name!r}, which no net here has; leave master= out, or the load"
        )
    costs = Costs.of(query, program.unrolled.needs(), WHOLE_NETWORK)
    # the master chooses among the requests of an instant
    if costs.contention in ("endpoint", "bus"):
        raise UnsupportedError(
            f"{where}: what a master sends passes network.contention = {costs.contention!r} in the "
            "order in which he takes messages, which no net here has; state contention 'fair', or "
            "ask emulator"
        )
    fixed = frozen(program.unrolled, costs, timed=())
    matched = match_unrolled(fixed.unrolled, program.algorithms, costs.eager_limit)
    if not any(block.op in ("read", "write") for block in fixed.unrolled.blocks):
        return matched, frozenset()
    return matched, frozenset(matched.matching.received_from[np.array(fixed.took_any)].tolist())


def refuse_sending_tasks(program: Matched) -> None:
    """Refuse tasks that send messages, where no master's choice says who does them.

    Raises
    ------
    UnsupportedError
        Naming the line.
    """
    for pool in program.native.pools:
        for block in pool.work.blocks:
            if block.op == "send":
                raise UnsupportedError(
                    f"{program.native.line(block.site)}: a task sends a message, and no net here "
                    "knows before who does it; name a master, or ask emulator"
                )
