"""Intervals that hold for all benchmarks of a check at once."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.quantities import generator

#: The part of such checks in which all benchmarks are inside.
LEVEL = 0.90

_DRAWS = 20_000


@attrs.frozen
class Deviation:
    """What a value may be off by, of which its repeats tell a part."""

    share: float  #: of the variance, that of the median of its repeats
    rounds: tuple[float, ...] = ()  #: its repeats, each in a round with those of the others
    table: str = ""  #: whose rounds they are


def critical(deviations: Sequence[Deviation], seed: int = 0) -> float:
    """Return how many standard deviations hold all values at once, with `LEVEL`.

    It is a quantile of the largest of all deviations, drawn by a multiplier bootstrap of the rounds
    (Chernozhukov, Chetverikov & Kato, Ann. Statist. 41, 2013): what one round had faster or slower
    is so for all of its benchmarks together. What repeats do not tell is drawn for each by itself,
    which makes the intervals too wide rather than too narrow (Šidák, J. Am. Stat. Assoc. 62, 1967).
    """
    random = generator(seed, 0, "simultaneous intervals")
    largest = np.zeros(_DRAWS)
    weights: dict[tuple[str, int], NDArray[np.float64]] = {}
    for deviation in deviations:
        drawn = random.standard_normal(_DRAWS)
        rounds = _standardized(deviation.rounds)
        if rounds is not None:
            key = deviation.table, len(rounds)
            if key not in weights:
                weights[key] = random.standard_normal((_DRAWS, len(rounds)))
            share = min(1.0, deviation.share)
            drawn = (1 - share) ** 0.5 * drawn + share**0.5 * (weights[key] @ rounds)
        np.maximum(largest, np.abs(drawn), out=largest)
    return float(np.quantile(largest, LEVEL))


def _standardized(rounds: Sequence[float]) -> NDArray[np.float64] | None:
    """Return the logarithms of rounds less their mean, of length 1; None where they are alike."""
    if len(rounds) < 2 or min(rounds) <= 0:
        return None
    centered = np.log(rounds)
    centered = centered - centered.mean()
    length = float(np.sqrt(centered @ centered))
    return centered / length if length > 0 else None
