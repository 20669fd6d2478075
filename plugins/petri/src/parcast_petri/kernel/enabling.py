"""Whether a transition has its tokens."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k


def enabling(m: Any, t: int, without: int) -> int:
    """Return how often a transition is enabled, one input place left aside."""
    marking, inhibitors, inputs = m[k.MARKING], m[k.INHIBITOR_AT] + t, m[k.PRE_AT] + t
    for i in range(m[inhibitors], m[inhibitors + 1]):
        if m[marking + m[m[k.INHIBITOR_PLACE] + i]] >= m[m[k.INHIBITOR_WEIGHT] + i]:
            return 0
    degree = -1
    for i in range(m[inputs], m[inputs + 1]):
        place, weight = m[m[k.PRE_PLACE] + i], m[m[k.PRE_WEIGHT] + i]
        if place == without:
            continue
        tokens = m[marking + place]
        if tokens < weight:
            return 0
        if weight > 1:
            tokens //= weight
        if degree < 0 or tokens < degree:
            degree = tokens
    return 1 if degree < 0 else degree
