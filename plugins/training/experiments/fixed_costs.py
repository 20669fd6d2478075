"""Public training results by a fixed cost of a step, which a model has on every system.

A section of docs/training.md, which `published_steps.py` writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from growing_steps import Result, by_series, divided, results

#: Half of a 90 % interval by standard deviations, of Student's law with some 11 values behind it.
WIDTH = 1.8

TEXT = """
## By a fixed cost

A step is a + b times the samples of one accelerator. Its fixed part (updates of weights, what is seen of their
exchange, launches) is the larger the larger the model, as b is, so a / b is taken as the model's on every system: the
median of what all *other* series of the model give, and the smaller sizes of the series itself. The time of the size
before is scaled by it. No number is chosen, but the form was, in sight of these results; intervals are by the errors
of the other series. The part that takes longer is what binds.

| series | accelerators | a / b | measured | predicted | error | 90 % | binds |
|---|---|---|---|---|---|---|---|
{rows}

The median error is {median:.1%} at {count} points, where that of `parcast score mlperf-training -s scaling`, which
sees the smaller sizes of each series alone, is 17.5 %; {inside} of {count} are within their intervals. Series whose
model no other one has are left out. From the smaller sizes of all series alone, where one for each model tells a / b,
the median is 20 %, no better than that of `scaling`: so the rule is none of `parcast score`.
"""  # noqa: E501


@dataclass(frozen=True, slots=True)
class Forecast:
    """A largest size that is predicted."""

    series: str
    sizes: tuple[str, str]
    ratio: float  #: a / b, in samples of one accelerator
    share: float  #: samples of one accelerator
    measured: float
    predicted: float

    @property
    def off(self) -> float:
        """The logarithm of predicted over measured."""
        return math.log(self.predicted / self.measured)

    def row(self, others: Sequence[Forecast]) -> str:
        """Return its line of the table."""
        factor = spread(others)
        low, high = self.predicted / factor, self.predicted * factor
        binds = "fixed cost" if self.ratio > self.share else "samples"
        return (
            f"| {self.series.replace('|', ', ')} | {' to '.join(self.sizes)} | {self.ratio:.2f} "
            f"| {self.measured:.3f} s | {self.predicted:.3f} s "
            f"| {self.predicted / self.measured - 1:+.1%} | {low:.3f} to {high:.3f} s | {binds} |"
        )


def spread(others: Sequence[Forecast]) -> float:
    """Return the factor that a 90 % interval reaches to, by the errors of other forecasts."""
    squares = [forecast.off**2 for forecast in others]
    return math.exp(WIDTH * math.sqrt(sum(squares) / len(squares)))


def fixed_cost(measured: Sequence[Result]) -> float | None:
    """Return a / b by least relative errors, none of them negative; None for one amount of work."""
    shares = np.array([divided(result) for result in measured])
    if len({f"{share:.9g}" for share in shares}) < 2:
        return None
    seconds = np.array([float(result["value"]) for result in measured])
    rows = np.stack([1 / seconds, shares / seconds], axis=1)
    fixed, rate = np.linalg.lstsq(rows, np.ones(len(seconds)), rcond=None)[0]
    if rate <= 0:
        return None
    return max(0.0, float(fixed / rate))


def forecasts(series: Mapping[str, Mapping[int, Sequence[Result]]]) -> list[Forecast]:
    """Return the largest size of each series from the one before and what other series tell."""
    answers = []
    for name, sizes in series.items():
        *_, before, last = sorted(sizes)
        model = sizes[last][0]["application"]
        known = [
            [result for alike in other.values() for result in alike]
            for of, other in series.items()
            if of != name and next(iter(other.values()))[0]["application"] == model
        ]
        if not known:
            continue
        own = [result for size, alike in sizes.items() if size < last for result in alike]
        ratios = [ratio for ratio in map(fixed_cost, [*known, own]) if ratio is not None]
        ratio = median(ratios)
        small = sizes[before][(len(sizes[before]) - 1) // 2]
        for large in sizes[last]:
            growth = (ratio + divided(large)) / (ratio + divided(small))
            predicted = float(small["value"]) * growth
            measured, at = float(large["value"]), (small["size"], large["size"])
            answers.append(Forecast(name, at, ratio, divided(large), measured, predicted))
    return answers


def section() -> str:
    """Return the section of the page."""
    answers = forecasts(by_series(results()))
    rows, inside = [], 0
    for forecast in answers:
        others = [other for other in answers if other.series != forecast.series]
        rows.append(forecast.row(others))
        inside += abs(forecast.off) <= math.log(spread(others))
    errors = [abs(answer.predicted / answer.measured - 1) for answer in answers]
    return TEXT.format(
        rows="\n".join(rows), median=median(errors), count=len(answers), inside=inside
    )


if __name__ == "__main__":
    print(section())
