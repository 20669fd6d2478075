"""Codes that become faster than the processes they are given, as where caches hold their part."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from parcast_scaling.times import Run

#: A rate that grows more than p to this power is told; repeats and layouts move it by less.
_POWER = 1.02

#: Public times of codes whose last doubling was so, at twice and four times the largest measured p:
#: how many there are, and how many lie under the 90 % band (``experiments/scaling/judge.py``).
_COUNTED = {"twice": (76, 17), "four times": (69, 26)}


def faster_than_p(runs: Sequence[Run], noise: float) -> tuple[str, ...]:
    """Return a sentence where the rate grew more than p from the last size but one to the last."""
    rates: dict[float, list[float]] = defaultdict(list)
    for run in runs:
        rates[run.p].append(run.n / run.seconds)
    before, last = sorted(rates)[-2:]
    growth = median(rates[last]) / median(rates[before])
    if growth < (last / before) ** _POWER or math.log(growth * before / last) < 2 * noise:
        return ()
    counted = " and ".join(
        f"{low} of {times} at {factor}" for factor, (times, low) in _COUNTED.items()
    )
    sentence = (
        f"from p={before:g} to {last:g} the rate grew {growth:.3g}-fold, more than p, as where a "
        "part fits into caches: times of such codes are often under the 90 % band, of public ones "
        f"{counted} the largest measured p"
    )
    return (sentence,)
