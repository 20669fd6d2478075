"""The variance of the time on one shared core, for any law of demands.

Yashkov's formula: Var = 2/(1 - rho)^2 times the integral from 0 to x of (x - u)(1 - W(u)), W the
distribution of the waiting time in the same queue served first come, first served.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from parcast_petri.laws import Law
from parcast_petri.load import Load

Array = NDArray[np.float64]
_STEPS = 4000


def standard_deviation(load: Load, demand: float) -> float:
    """Return the standard deviation of the time that a demand takes on one core.

    The waiting time's distribution is found from its renewal equation on a grid; the error is
    some 1e-5 of the result, and up to 1e-3 where demands are of few values.
    """
    if load.scheduling == "priority":
        return load.spread(demand)
    u = np.linspace(0, demand, _STEPS + 1)
    waiting = _waits_longer(load, u)
    integral = np.trapezoid((demand - u) * waiting, u)
    return math.sqrt(2 * integral) / (1 - load.utilization)


def _waits_longer(load: Load, u: Array) -> Array:
    """Return V = 1 - W at each point: V = rho (1 - R) + rho V * r, r the residual density."""
    rho, h = load.utilization, u[1] - u[0]
    rates, middle = load.rates(), (u[1:] + u[:-1]) / 2
    density = (
        np.sum([r * tail(law, u) for r, law in zip(rates, load.demands, strict=True)], 0) / rho
    )
    inside = np.sum([r * tail(law, middle) for r, law in zip(rates, load.demands, strict=True)], 0)
    reached = np.concatenate([[0.0], np.cumsum(inside * h / rho)])
    left = rho * np.maximum(1 - reached, 0)
    found = np.empty_like(u)
    found[0] = rho
    backward = density[::-1]
    for n in range(1, len(u)):
        inner = found[1:n] @ backward[len(u) - n : len(u) - 1]
        done = left[n] + rho * h * (inner + found[0] * density[n] / 2)
        found[n] = done / (1 - rho * h * density[0] / 2)
    return found


def tail(law: Law, u: Array) -> Array:
    """Return the probability that a time is longer than each of these."""
    from scipy import special

    found: Array
    match law.law, law.parameters:
        case "const" | "sampled", values:
            ordered = np.sort(values)
            found = 1 - np.searchsorted(ordered, u, side="right") / len(ordered)
        case "exp", (mean,):
            found = np.exp(-u / mean)
        case "uniform", (least, most):
            found = np.clip((most - u) / max(most - least, 1e-300), 0, 1)
        case "erlang" | "gamma", (shape, mean):
            found = special.gammaincc(shape, u * shape / mean)
        case "lognormal", (mean, std):
            spread = math.sqrt(math.log1p((std / mean) ** 2))
            with np.errstate(divide="ignore"):
                z = (np.log(u) - math.log(mean) + spread**2 / 2) / spread
            found = special.ndtr(-z)
        case "weibull", (shape, scale):
            found = np.exp(-((u / scale) ** shape))
        case "pareto", (shape, mean):
            scale = mean * (shape - 1) / shape
            found = np.where(u < scale, 1.0, (scale / np.maximum(u, scale)) ** shape)
        case "hyper", _:
            shares, means = law.branches()
            found = np.exp(-u[:, None] / means) @ shares
        case _:
            count, stage, fewer = law.stages()
            short = special.gammaincc(max(count - 1, 1e-300), u / stage)
            found = fewer * short + (1 - fewer) * special.gammaincc(count, u / stage)
    return found
