"""What is said of sudden rises: what is known, what was counted, and the chance."""

from __future__ import annotations

import math

import numpy as np

from parcast.quantities import format_seconds
from parcast_scaling.mechanisms import Floats
from parcast_scaling.rises import counted_like
from parcast_scaling.scope import Scope

#: Chances from here on are stated.
_LEAST = 5e-4

_HINT = "; whose network it is, --network or --on can say: on clouds times rise oftener"


def rise_sentence(scope: Scope, draws: Floats, p: float, exposed: float) -> str:
    """Return what is known of sudden rises at a size, and of those on public systems.

    Parameters
    ----------
    scope
        Beside the times.
    draws
        Logarithms of the time there.
    exposed
        The part of the time that is not computed alone, which tells where nobody says it what the
        times are of.
    """
    public = counted_like(scope, exposed)
    hint = _HINT if len(public) > 1 else ""
    counted = " and ".join(
        f"{kind.twofold} of {kind.times} public times of {kind.what}" for kind in public
    )
    twofold, threefold = (_chance(draws, times) for times in (2, 3))
    return (
        f"nothing measured rules out a sudden rise at p={p:g}, where a network may be full or a "
        f"library take another algorithm: {counted} are more than twice what was predicted at one "
        f"doubling; here the chance of that is {twofold}, of threefold {threefold}, and 1 % of "
        f"times take more than {format_seconds(math.exp(np.quantile(draws, 0.99)))}{hint}"
    )


def _chance(draws: Floats, times: float) -> str:
    chance = float((draws > np.median(draws) + math.log(times)).mean())
    return f"{100 * chance:.1f} %" if chance > _LEAST else "under 0.1 %"
