"""What the messages of a phase take on machines whose messages differ by more than their bytes."""

from __future__ import annotations

import attrs
import numpy as np

from parcast import Query
from parcast.model import (
    WHOLE_NETWORK,
    Costs,
    Messages,
    PhaseValues,
    Traffic,
    traffic_of,
)


def traffic_of_phase(phase: PhaseValues, query: Query) -> Traffic:
    """Return what a burst's messages take.

    They go to the right and to the left in turn, as where the phase becomes a program.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number that the messages need.
    """
    ranks, count = np.arange(query.p), phase.messages or 1.0
    to_right = count if count <= 1 else count / 2
    messages = Messages.of(
        np.concatenate([ranks, ranks]),
        np.concatenate([ranks + 1, ranks - 1]) % query.p,
        phase.bytes / count,
        np.repeat([to_right, count - to_right], query.p),
    )
    traffic = traffic_of([messages], Costs.of(query, ["messages"], WHOLE_NETWORK), query.p)
    return traffic if phase.messages else attrs.evolve(traffic, fixed=0.0)
