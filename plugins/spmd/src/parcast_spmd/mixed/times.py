"""Times of services and between arrivals: mean, variation, and the transform where one is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import attrs

_Values = Mapping[str, float]
_Transform = Callable[[float], float]


#: Phases of one time at the most, as each is a state of its own
MOST_PHASES = 100


@attrs.frozen
class Phases:
    """A time as exponential phases, one after another, by chance."""

    #: Probability to begin with each phase
    start: tuple[float, ...]
    #: Ends of each phase a second
    rates: tuple[float, ...]
    #: Probability that a phase (rows) is followed by another; the rest ends the time
    after: tuple[tuple[float, ...], ...]


@attrs.frozen(kw_only=True)
class Time:
    """A random time, in seconds."""

    mean: float
    #: Variance over the mean squared; None where it is not known here
    variation: float | None
    exponential: bool = False
    #: The mean of exp(-s T) by s, where it is known here
    transform: _Transform | None = attrs.field(default=None, eq=False)
    #: The same as phases, None where it is none of few
    phases: Phases | None = attrs.field(default=None, eq=False)


def exponential(mean: float) -> Time:
    """Return an exponential time."""
    return Time(
        mean=mean,
        variation=1.0,
        exponential=True,
        transform=lambda s: 1.0 / (1.0 + mean * s),
        phases=Phases((1.0,), (1.0 / mean,), ((0.0,),)) if mean else None,
    )


def _exponential(values: _Values) -> Time:
    return exponential(1.0 / values["lambda"])


def _constant(values: _Values) -> Time:
    mean = values["t"]
    return Time(mean=mean, variation=0.0, transform=lambda s: math.exp(-mean * s))


def _erlang(values: _Values) -> Time:
    rate, phases = values["alpha"], values["r"]
    return Time(
        mean=phases / rate,
        variation=1.0 / phases,
        exponential=phases == 1,
        transform=lambda s: (1.0 + s / rate) ** -phases,
        phases=_in_a_row(int(phases), rate) if phases in range(1, MOST_PHASES + 1) else None,
    )


def _in_a_row(count: int, rate: float) -> Phases:
    steps = tuple(tuple(float(j == i + 1) for j in range(count)) for i in range(count))
    return Phases((1.0,) + (0.0,) * (count - 1), (rate,) * count, steps)


def _mixture(values: _Values) -> Time:
    p, first, second = values["p"], values["lambda1"], values["lambda2"]
    mean = p / first + (1 - p) / second
    square = 2 * p / first**2 + 2 * (1 - p) / second**2
    return Time(
        mean=mean,
        variation=square / mean**2 - 1,
        exponential=first == second,
        transform=lambda s: p * first / (first + s) + (1 - p) * second / (second + s),
        phases=Phases((p, 1 - p), (first, second), ((0.0, 0.0), (0.0, 0.0))),
    )


def _coxian(values: _Values) -> Time:
    first, second, leaving = values["lambda0"], values["lambda1"], values["phi0"]
    rest = 1 - leaving
    mean = 1 / first + rest / second
    square = 2 / first**2 + rest * (2 / (first * second) + 2 / second**2)

    def transform(s: float) -> float:
        return first / (first + s) * (leaving + rest * second / (second + s))

    return Time(
        mean=mean,
        variation=square / mean**2 - 1,
        transform=transform,
        phases=Phases((1.0, 0.0), (first, second), ((0.0, rest), (0.0, 0.0))),
    )


def _uniform(values: _Values) -> Time:
    low, high = values["min"], values["max"]
    mean, width = (low + high) / 2, high - low

    def transform(s: float) -> float:
        x = s * width
        return math.exp(-low * s) * (-math.expm1(-x) / x if x > 1e-12 else 1.0)

    return Time(mean=mean, variation=width**2 / 12 / mean**2, transform=transform)


def _pareto(values: _Values) -> Time:
    shape, least = values["alpha"], values["k"]
    if shape <= 1:
        return Time(mean=math.inf, variation=None)
    square = shape * least**2 / (shape - 2) if shape > 2 else math.inf
    mean = shape * least / (shape - 1)
    return Time(mean=mean, variation=square / mean**2 - 1)


#: A time from its parameters, by the last word of JMT's class.
KINDS: Mapping[str, Callable[[_Values], Time]] = {
    "Exponential": _exponential,
    "DeterministicDistr": _constant,
    "Erlang": _erlang,
    "HyperExp": _mixture,
    "CoxianDistr": _coxian,
    "Uniform": _uniform,
    "Pareto": _pareto,
}
