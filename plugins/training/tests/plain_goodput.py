"""A job under failures, interval by interval in plain Python: what the fast simulation is held to.

It steps from checkpoint to checkpoint and draws each failure when the last one struck; it shares
no code with the package.
"""

from __future__ import annotations

import random
from collections.abc import Callable


def plain_finish(
    draw: random.Random,
    *,
    mtbf: float,
    checkpoint: float,
    restart: float,
    parts: list[float],
    spares: int | None = None,
    repair: Callable[[], float] = lambda: 0.0,
) -> tuple[float, int]:
    """Return when all parts are computed and saved, and how many failures there were."""
    clock, failures = 0.0, 0
    failure = draw.expovariate(1 / mtbf)
    returns = [0.0] * (spares or 0)
    for part in parts:
        begin = 0.0
        while True:
            length = begin + part + checkpoint
            if clock + length <= failure:
                clock += length
                break
            clock, failures = failure, failures + 1
            if spares is not None:
                returns.append(clock + repair())
                returns.sort()
                clock = max(clock, returns.pop(0))
            failure = clock + draw.expovariate(1 / mtbf)
            begin = restart
    return clock, failures
