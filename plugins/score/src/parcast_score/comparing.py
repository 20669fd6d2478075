"""Two predictions at the same points: which is nearer, and whether chance would do as well.

One counts as nearer if it takes enough off the median, and if the points agree (exchanging the two
at each point by chance seldom does as well), or if many more points have an answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs

from parcast_score.board import Score
from parcast_score.statistics import CHANCE, DRAWS, WORTH, median_of

#: Points that two must both have answered to be compared.
FEWEST = 5


@attrs.frozen
class Better:
    """That a prediction with something more, or less, is nearer at the same points."""

    points: int
    before: float  #: the median absolute error
    after: float
    gained: int = 0  #: how many more points have an answer, where they are many

    @property
    def is_nearer(self) -> bool:
        """Whether the median is less at all."""
        return self.after < self.before

    @property
    def is_worth(self) -> bool:
        """Whether enough is off the median to count, if it is no chance."""
        return self.after <= (1 - WORTH) * self.before

    def __str__(self) -> str:
        gained = f", and {self.gained} more have an answer" if self.gained else ""
        return (
            f"the median is {100 * self.after:.3g} %, not {100 * self.before:.3g} %, at the same "
            f"{self.points} points{gained}"
        )


def better(score: Score, rival: Score) -> Better | None:
    """Return that a rival is nearer at the points that both answered; None where it is not."""
    gain = compared(score, rival)
    if gain is None or gain.points < FEWEST or not gain.is_worth:
        return None
    return gain if gain.gained or _by_chance(_pairs(score, rival)) <= CHANCE else None


def compared(score: Score, rival: Score) -> Better | None:
    """Return both medians at the points that both answered; None where there are none."""
    pairs = _pairs(score, rival)
    if not pairs:
        return None
    before, after = (median_of(logs) for logs in zip(*pairs, strict=True))
    gained = rival.blind.answered - score.blind.answered
    many = gained >= WORTH * score.blind.answered
    return Better(len(pairs), before, after, gained if many else 0)


def _pairs(score: Score, rival: Score) -> list[tuple[float, float]]:
    return [
        (first.log_error, second.log_error)
        for first, second in zip(score.answers, rival.answers, strict=True)
        if first.blind and first.log_error is not None and second.log_error is not None
    ]


def _by_chance(pairs: Sequence[tuple[float, float]]) -> float:
    """Return how often as much is gained where it is by chance which of the two is which."""
    gains = [abs(first) - abs(second) for first, second in pairs]
    draw = random.Random(len(gains))  # noqa: S311  (no secret; the same each time)
    as_good = sum(
        sum(gain * draw.choice((-1, 1)) for gain in gains) >= sum(gains) for _ in range(DRAWS)
    )
    return (as_good + 1) / (DRAWS + 1)
