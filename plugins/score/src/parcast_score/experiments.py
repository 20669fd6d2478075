"""What a prediction lacks, by asking again: with more in it, or with less.

A rule is set beside the rules that have something more; a solver is asked again without what its
machine's messages cost. Either counts if it takes enough off the median at the same points, and if
the points agree (exchanging the two at each point by chance seldom does as well), or if many more
points have an answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from parcast import Registry
from parcast_score.board import Score
from parcast_score.board import score as ask
from parcast_score.statistics import CHANCE, DRAWS, LEVELS, LIMIT, WORTH, median_of

#: What rules have that others have not, by name: told where it helps.
_MORE: Mapping[str, Mapping[str, str]] = {
    "last-value": {
        "ideal": "that time goes as work over size",
        "scaling": "that time changes with size",
    },
    "ideal": {
        "work-line": "a fixed cost beside work over size",
        "power-law": "another power of size than one",
        "scaling": "terms that do not shrink as size grows",
    },
    "power-law": {"scaling": "terms that a power of size does not have"},
    "work-line": {"scaling": "terms that a fixed cost and a rate do not have"},
    "extra-p": {"scaling": "more than one term"},
}

#: Rules that go through no more points than they have numbers, which blind points can be given to.
_FITTED = frozenset({"power-law", "work-line", "extra-p"})

#: Settings with which a solver is asked again without a part, the smaller parts first.
_LESS: Mapping[str, Mapping[str, Any]] = {
    "what messages take to start": {"network.startup": 0},
    "what the bytes of messages take": {"network.bandwidth": "1e9 GB/s"},
    "what messages take": {"network.startup": 0, "network.bandwidth": "1e9 GB/s"},
}

#: Points that two must both have answered to be compared.
_FEWEST = 5

#: What is left out besides must take so much more off the median.
_POINT = 0.01

#: An interval that holds so much less than it states is none that says what is left open.
_SLACK = 0.05


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

    def __str__(self) -> str:
        gained = f", and {self.gained} more have an answer" if self.gained else ""
        return (
            f"the median is {100 * self.after:.3g} %, not {100 * self.before:.3g} %, at the same "
            f"{self.points} points{gained}"
        )


def better(score: Score, rival: Score) -> Better | None:
    """Return that a rival is nearer at the points that both answered; None where it is not."""
    gain = _compared(score, rival)
    if gain is None or gain.points < _FEWEST or gain.after > (1 - WORTH) * gain.before:
        return None
    return gain if gain.gained or _by_chance(_pairs(score, rival)) <= CHANCE else None


def _compared(score: Score, rival: Score) -> Better | None:
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


def with_more(score: Score, beside: Sequence[Score]) -> list[str]:
    """Return what a rule does not have and a rule beside it has, where that is nearer."""
    parts = _MORE.get(score.predictor, {})
    gains = [
        (gain.after, f"what is missing is {parts[rival.predictor]}: by {rival.predictor} {gain}")
        for rival in beside
        if rival.predictor in parts and (gain := better(score, rival))
    ]
    return [min(gains)[1]] if gains else []


def uncertain(score: Score, beside: Sequence[Score]) -> list[str]:
    """Return which rule that has something more is nearest, where chance may do as well."""
    parts = _MORE.get(score.predictor, {})
    gains = [
        (gain.after, rival.predictor, gain)
        for rival in beside
        if rival.predictor in parts and (gain := _compared(score, rival)) and gain.is_nearer
    ]
    if not gains:
        return []
    _, name, gain = min(gains, key=lambda item: item[:2])
    return [
        f"what is missing may be {parts[name]}, which chance does not rule out: by {name} {gain}"
    ]


def asked_again(registry: Registry) -> Callable[[Score], list[str]]:
    """Return a function that asks again, with less or with more, and says what that shows."""
    less = without(registry)

    def experiment(score: Score) -> list[str]:
        return less(score) if score.by_solver else given_all(registry, score)

    return experiment


def given_all(registry: Registry, score: Score) -> list[str]:
    """Return whether a rule's form fits, by giving it the blind points as well."""
    dataset = score.dataset
    if score.predictor not in _FITTED or not score.blind.answered:
        return []
    seeing = attrs.evolve(dataset, calibrating=(*dataset.calibrating, *dataset.blind), blind=())
    seen = ask(registry, seeing, score.predictor).answers
    logs = [
        again.log_error
        for first, again in zip(score.answers, seen, strict=True)
        if first.blind and first.log_error is not None and again.log_error is not None
    ]
    after = median_of(logs)
    shown = f"given the blind points, too, its median at them is {100 * after:.3g} %"
    if after <= LIMIT:
        return [f"what is missing is in the data, as its form fits: {shown}"]
    return [f"what is missing is in its form, which does not fit all points: {shown}"]


def without(registry: Registry) -> Callable[[Score], list[str]]:
    """Return a function that asks a solver again without a part, and says which one is too dear."""

    def experiment(score: Score) -> list[str]:
        modeling = score.dataset.modeling
        if modeling is None:
            return []
        best: Better | None = None
        sentence = ""
        for part, settings in _LESS.items():
            fixed = attrs.evolve(modeling, fixed={**modeling.fixed, **settings})
            dataset = attrs.evolve(score.dataset, modeling=fixed)
            gain = better(score, ask(registry, dataset, score.predictor))
            if gain and (best is None or gain.after < best.after - _POINT):
                stated = ", ".join(f"{name}={value}" for name, value in settings.items())
                best, sentence = gain, f"{part} is too much: without it ({stated}) {gain}"
        return [sentence] if sentence else []

    return experiment


def left_open(score: Score) -> list[str]:
    """Return that the calibrating points leave it open, where the stated intervals hold."""
    inside, points = score.blind.coverage[90]
    low, high = LEVELS[90]
    if points < _FEWEST or inside < (high - low - _SLACK) * points:
        return []
    interval = "the 90 % interval, which says what the calibrating points leave open"
    return [f"what is missing is in the data: {interval}, holds at {inside} of {points}"]
