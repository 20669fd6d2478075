"""The variance of the time on one shared core, for any law of demands.

Yashkov's formula: Var = 2/(1 - rho)^2 times the integral from 0 to x of (x - u)(1 - W(u)), W the
distribution of the waiting time in the same queue served first come, first served.
"""

from __future__ import annotations

import math

import numpy as np

from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.theory.inversion import Array, Complex, inverted, points

#: Demands so many times as long as jobs last are taken as endless: the error is as small.
_ENDLESS = 1e6


def standard_deviation(load: Load, demand: float) -> float:
    """Return the standard deviation of the time that a demand takes on one core.

    The integral is found from its transform (1 - w(s))/s^3, w that of the waiting time by Pollaczek
    and Khinchine; the error is some 1e-8 of the result, up to 1e-5 where the demand is of a million
    jobs.
    """
    lasting = load.second_moment_rate / load.utilization
    if load.scheduling == "priority" or demand > _ENDLESS * lasting:
        return load.spread(demand)
    rho, t = load.utilization, np.array([demand])
    s = points(t)
    left = sum(
        share * _residual(law, s[0], demand)
        for share, law in zip(load.shares, load.demands, strict=True)
    )
    waits = rho * (1 - left) / (1 - rho * left)
    (integral,) = inverted(waits / s**3, t)
    return math.sqrt(2 * integral) / (1 - rho)


def _residual(law: Law, s: Complex, demand: float) -> Complex:
    """Return the transform of what is left of a time that is under way at a random moment."""
    found: Complex
    match law.law, law.parameters:
        case "const" | "sampled", values:
            found = -sum(np.expm1(-s * one) for one in values) / (s * sum(values))
        case "exp" | "erlang" | "gamma", _:
            shape, mean = law.parameters if len(law.parameters) == 2 else (1.0, law.mean)
            found = -np.expm1(-shape * np.log1p(s * mean / shape)) / (s * mean)
        case "hyper", _:
            shares, means = law.branches()
            found = (shares * means / (1 + s[:, None] * means)).sum(axis=1) / law.mean
        case _:
            found = _integrated(law, s, demand)
    return found


def _integrated(law: Law, s: Complex, demand: float) -> Complex:
    """Return the same by Gauss and Legendre's rule, in steps that no wave of e^-su outruns."""
    ends = law.parameters if law.law == "uniform" else ()
    if law.law == "pareto":
        ends = (law.mean * (1 - 1 / law.parameters[0]),)
    last = 5 * demand  # where e^-su is below 1e-20
    edges = np.concatenate(
        [[0.0], ends, law.mean * np.geomspace(1e-6, 1e6, 121), np.linspace(0, last, 401)]
    )
    edges = np.unique(edges[edges <= last])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2
    u = ((edges[1:] + edges[:-1])[:, None] / 2 + half * nodes).ravel()
    found: Complex = np.exp(-s[:, None] * u) @ (tail(law, u) * (half * weights).ravel()) / law.mean
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
