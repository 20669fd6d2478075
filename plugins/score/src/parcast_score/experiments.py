"""What a prediction lacks, by asking again: with more in it, or with less.

A rule is set beside the rules that have something more, or asked again with blind points given; a
solver is asked again without what its machine's messages cost, or with parts of it at other speeds
(`parcast_score.speeds`). What counts as nearer is in `parcast_score.comparing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from parcast import Registry
from parcast.model import Dataset, Point
from parcast_score.board import Score, predictions
from parcast_score.board import score as ask
from parcast_score.comparing import FEWEST, Better, better, compared
from parcast_score.speeds import at_other_speeds
from parcast_score.statistics import LEVELS, LIMIT, Answer, median_of

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

#: What is left out besides must take so much more off the median.
_POINT = 0.01

#: An interval that holds so much less than it states is none that says what is left open.
_SLACK = 0.05


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
        if rival.predictor in parts and (gain := compared(score, rival)) and gain.is_nearer
    ]
    if not gains:
        return []
    _, name, gain = min(gains, key=lambda item: item[:2])
    return [
        f"what is missing may be {parts[name]}, which chance does not rule out: by {name} {gain}"
    ]


def asked_again(registry: Registry) -> Callable[[Score], list[str]]:
    """Return a function that asks again, with less or with more, and says what that shows."""
    less, other_speed = without(registry), at_other_speeds(registry)

    def experiment(score: Score) -> list[str]:
        if score.by_solver:
            return [*less(score), *other_speed(score)]
        return [*given_all(registry, score), *given_others(registry, score)]

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


def given_others(registry: Registry, score: Score) -> list[str]:
    """Return whether it helps a rule that states intervals to know how other series go on.

    Each half of the series is asked again with the blind points of the other half given.
    """
    dataset = score.dataset
    names = list(dict.fromkeys(item.point.series for item in dataset.blind))
    if len(names) < FEWEST or not score.blind.coverage[90][1]:
        return []
    again: dict[Point, Answer] = {}
    for half in (set(names[::2]), set(names[1::2])):
        revealed = tuple(item for item in dataset.blind if item.point.series not in half)
        hidden = tuple(item for item in dataset.blind if item.point.series in half)
        seeing = attrs.evolve(dataset, calibrating=(*dataset.calibrating, *revealed), blind=hidden)
        again |= _of_hidden(registry, score.predictor, seeing)
    answers = tuple(again.get(answer.measured.point, answer) for answer in score.answers)
    seen = attrs.evolve(score, answers=answers)
    condition = "given the blind points of the other half of the series, too,"
    if gain := better(score, seen):
        return [f"what is missing is how other series go on: {condition} {gain}"]
    if (gain := compared(score, seen)) and gain.is_worth:
        unsure = "what is missing may be how other series go on, which chance does not rule out"
        return [f"{unsure}: {condition} {gain}"]
    sizes: dict[str, set[float]] = {name: set() for name in names}
    for item in dataset.calibrating:
        sizes.get(item.point.series, set()).add(item.point.size)
    single = sum(len(several) < 2 for several in sizes.values())
    ends = f"the median is {100 * (seen.blind.median or 0):.3g} %"
    count = f"{single} of {len(names)} series calibrate with one size"
    return [f"to know how other series go on does not help: {condition} {ends}; {count}"]


def _of_hidden(registry: Registry, name: str, dataset: Dataset) -> dict[Point, Answer]:
    """Return a rule's answers to blind points; it is not asked about groups that have none."""
    question = dataset.question()
    groups = {item.point.group for item in dataset.blind}
    points = tuple(point for point in question.points if point.group in groups)
    answered = predictions(registry, name, attrs.evolve(question, points=points))
    by_point = dict(zip(points, answered, strict=True))
    return {item.point: Answer(item, by_point[item.point], blind=True) for item in dataset.blind}


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
    if points < FEWEST or inside < (high - low - _SLACK) * points:
        return []
    interval = "the 90 % interval, which says what the calibrating points leave open"
    return [f"what is missing is in the data: {interval}, holds at {inside} of {points}"]
