"""What a solver lacks, by asking again with a part of the machine slower or faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from parcast import Registry
from parcast_score.board import Score
from parcast_score.comparing import better
from parcast_score.solvers import predict_by
from parcast_score.statistics import median_of

#: The numbers of a machine that say how fast a part of it is, and those that are seconds.
_SPEEDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "processors and their memory": (
        ("processor.rate", "nodes.core_bandwidth", "nodes.memory_bandwidth"), (),
    ),
    "messages": (
        ("network.bandwidth", "network.saturation"),
        ("network.startup", "network.overhead", "network.overhead_receive"),
    ),
    "storage": (("storage.bandwidth",), ("storage.startup",)),
}  # fmt: skip

#: How many times as fast a part is tried.
_FASTER = (0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.25, 1.4, 1.6, 2.0)


def at_other_speeds(registry: Registry) -> Callable[[Score], list[str]]:
    """Return a function that asks a solver with a part of the machine slower or faster.

    How many times is chosen for each series by the others, so that no point has a say in its own.
    A solver that fits its work to what is measured has no speed of its own, and a machine that is
    simulated has the speeds that it states: neither is asked.
    """

    def experiment(score: Score) -> list[str]:
        modeling = score.dataset.modeling
        alone = len({answer.measured.point.series for answer in score.answers}) < 2
        if modeling is None or modeling.fit is not None or score.dataset.simulated or alone:
            return []
        gains = []
        for part, (rates, seconds) in _SPEEDS.items():
            numbers = {
                factor: dict.fromkeys(rates, factor) | dict.fromkeys(seconds, 1 / factor)
                for factor in _FASTER
            }
            at = {1.0: score} | {f: _asked_at(registry, score, t) for f, t in numbers.items()}
            chosen, factors = _by_the_others(at)
            gain = better(score, chosen)
            if gain:
                gains.append((gain.after, part, factors, gain))
        if not gains:
            return []
        _, part, factors, gain = min(gains, key=lambda item: item[0])
        spelled = " to ".join(f"{factor:g}" for factor in dict.fromkeys((factors[0], factors[-1])))
        change = (
            f"were they {spelled} times as fast as stated, chosen for each series by the others"
        )
        return [f"what is missing is in {part}: {change}, {gain}"]

    return experiment


def _asked_at(registry: Registry, score: Score, times: Mapping[str, float]) -> Score:
    """Return the score with some numbers of the machine so many times as large."""
    answered = predict_by(registry, score.predictor, score.dataset.question(), times)
    return attrs.evolve(
        score,
        answers=tuple(
            attrs.evolve(answer, prediction=prediction)
            for answer, prediction in zip(score.answers, answered, strict=True)
        ),
    )


def _by_the_others(at: Mapping[float, Score]) -> tuple[Score, list[float]]:
    """Return answers at the speeds that leave the others' series least, and the speeds in order."""
    (first, *_) = scores = list(at.values())
    series = dict.fromkeys(answer.measured.point.series for answer in first.answers)
    best = {name: min(at, key=lambda factor: _off(at[factor], name)) for name in series}
    answers = tuple(
        at[best[several[0].measured.point.series]].answers[index]
        for index, several in enumerate(zip(*(score.answers for score in scores), strict=True))
    )
    return attrs.evolve(first, answers=answers), sorted(set(best.values()))


def _off(score: Score, without: str) -> float:
    """Return the median error at blind points of the other series."""
    return median_of(
        answer.log_error
        for answer in score.answers
        if answer.blind and answer.log_error is not None and answer.measured.point.series != without
    )
