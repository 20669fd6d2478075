"""Whether a transition has its tokens."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel.layout import (
    INHIBITOR_AT,
    INHIBITOR_PLACE,
    INHIBITOR_WEIGHT,
    MARKING,
    PRE_AT,
    PRE_PLACE,
    PRE_WEIGHT,
)


def enabling(m: Any, t: int, without: int) -> int:
    """Return how often a transition is enabled, one input place left aside."""
    for k in range(m[m[INHIBITOR_AT] + t], m[m[INHIBITOR_AT] + t + 1]):
        if m[m[MARKING] + m[m[INHIBITOR_PLACE] + k]] >= m[m[INHIBITOR_WEIGHT] + k]:
            return 0
    degree = -1
    for k in range(m[m[PRE_AT] + t], m[m[PRE_AT] + t + 1]):
        place, weight = m[m[PRE_PLACE] + k], m[m[PRE_WEIGHT] + k]
        if place == without:
            continue
        tokens = m[m[MARKING] + place]
        if tokens < weight:
            return 0
        if weight > 1:
            tokens //= weight
        if degree < 0 or tokens < degree:
            degree = tokens
    return 1 if degree < 0 else degree
