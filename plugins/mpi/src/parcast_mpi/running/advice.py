"""What a real run costs and takes for granted, told without running: for ``parcast advise``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from parcast import Assumption, Query

#: Measured: seconds until MPI has started the ranks and they have ended.
_STARTED = 1.0

#: Jobs that run or wait, in the mean of the last minute, on an idle host.
_IDLE = 0.5


def cost(query: Query) -> float:
    """Return the seconds of all repetitions, if they compute at the machine's rate; no less."""
    rate = query.machine.processor.rate
    work = 0.0
    unrolled = query.workload.content.at(query)
    for block in unrolled.blocks:
        each = block.arguments.get("flops", 0) / rate if rate else 0.0
        each = each + block.arguments.get("seconds", 0)
        ranks = unrolled.size if block.ranks is None else len(block.ranks)
        work += float(np.sum(np.broadcast_to(each, ranks)))
    repeated = getattr(query.options, "repetitions", 10) + getattr(query.options, "warmup", 2)
    return _STARTED + repeated * work / min(query.p, os.cpu_count() or 1)


def assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what a measured time takes for granted."""
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    yield Assumption(
        "nothing else runs on this host", f"its load is {load:.1f}" if load > _IDLE else ""
    )
    yield Assumption(
        "every process has a core",
        f"{query.p} processes share {cores}" if query.p > cores else "",
    )
