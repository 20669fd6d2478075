"""The variance of the time on one shared core, for any law of demands.

Yashkov's formula: Var = 2/(1 - rho)^2 times the integral from 0 to x of (x - u)(1 - W(u)), W the
distribution of the waiting time in the same queue served first come, first served.
"""

from __future__ import annotations

import math

import numpy as np

from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.theory.inversion import Complex, inverted, points

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
    transform: Complex
    match law.law, law.parameters:
        case "const" | "sampled", values:
            transform = -sum(np.expm1(-s * value) for value in values) / (s * sum(values))
        case "exp" | "erlang" | "gamma", _:
            shape, mean = law.parameters if len(law.parameters) == 2 else (1.0, law.mean)
            transform = -np.expm1(-shape * np.log1p(s * mean / shape)) / (s * mean)
        case "hyper", _:
            shares, means = law.branches()
            transform = (shares * means / (1 + s[:, None] * means)).sum(axis=1) / law.mean
        case _:
            transform = _integrated(law, s, demand)
    return transform


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
    transform: Complex = (
        np.exp(-s[:, None] * u) @ (law.tail(u) * (half * weights).ravel()) / law.mean
    )
    return transform
