"""The law of the time that a demand takes on one shared core, by its transform.

In work time the other jobs are a branching process with immigration. With phase-type demands
(alpha, S), s0 = -S 1, arrival rate lambda and (v, w) = expm(x [[S - sI, s0], [-lambda alpha,
lambda]]) 1 the transform of the time beyond the demand x is (1 - rho)/(w - rho beta v) on a
node in its steady state, beta the phases of jobs under way, and 1/w on an idle one.

Where k jobs are there at first, outlast the demand, and no other comes, the time is (k + 1) x: it
takes each of these values with a positive probability, and its density jumps there. No sum of waves
converges beside a jump, so the transform is split. One eigenvalue of the matrix, z =
lambda (1 - P(s)) with P that of a busy period, is right of -s, and all others left of it; with
the part of the first in front the transform is G_0/(1 - Q e^-sx), the sum of the G_0 Q^k e^-ksx,
each of which is that of a smooth function that begins at k x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from parcast_petri.theory.distribution import Distribution
from parcast_petri.theory.inversion import LEAST_TERMS, Array, Complex, inverted, points
from parcast_petri.theory.phases import Jobs

#: So many entries of matrices are held at a time.
_ENTRIES = 1_000_000
#: With a mean so many standard deviations long the law is taken as normal, which it is within some
#: thousandths of one.
_NORMAL = 500


@attrs.frozen(eq=False)
class SharedCore:
    """One core that Poisson arrivals of phase-type demands share with one process."""

    jobs: Jobs

    def spread(self, demand: float) -> float:
        """Return the standard deviation of the time of a long demand."""
        jobs = self.jobs
        return math.sqrt(demand * jobs.rate * jobs.second_moment / (1 - jobs.utilization) ** 3)

    def atoms(self, demand: float, *, idle: bool) -> tuple[float, float]:
        """Return the probability that no job shares the core, and a ratio.

        The probabilities of ``(k + 1) * demand`` are the first times the k-th power of the second.
        """
        jobs = self.jobs
        alone = math.exp(-jobs.rate * demand)
        if idle:
            return alone, 0.0
        rho = jobs.utilization
        return (1 - rho) * alone, rho * jobs.lasting(demand) * alone

    def parts(self, demand: float, s: Complex, *, idle: bool) -> tuple[Complex, Complex]:
        """Return G_0 and Q of the transform of the time beyond the demand, at each s."""
        jobs, rho = self.jobs, self.jobs.utilization
        before, after = jobs.resolvents(jobs.busy(s))
        initial = np.zeros(len(jobs.start)) if idle else rho * jobs.residual
        weight = (1 - jobs.rate * before.sum(axis=1)) / (
            1 - jobs.rate * (before * after).sum(axis=1)
        )
        z = jobs.rate * (1 - before @ jobs.exits)
        whole = 1.0 if idle else 1 - rho
        first = whole * np.exp(-demand * z) / ((1 - after @ initial) * weight)
        lag = np.empty_like(first)
        renewed, values = jobs.rate * before, 1 - after * weight[:, None]
        for chunk in np.array_split(np.arange(len(s)), 1 + len(s) * len(initial) ** 2 // _ENTRIES):
            propagated = jobs.propagated(demand, renewed[chunk], values[chunk])
            lag[chunk] = ((renewed[chunk] - initial) * propagated).sum(axis=1)
        return np.asarray(first, np.complex128), -lag * first / whole

    def probability(self, demand: float, times: Array, *, idle: bool = False) -> Array:
        """Return the probabilities that a demand is done by these times."""
        times = np.asarray(times, float)
        if self._normal(demand):
            from scipy.special import ndtr

            mean = demand / (1 - self.jobs.utilization)
            return np.asarray(ndtr((times - mean) / self.spread(demand)), np.float64)
        last = max(float(times.max(initial=0.0)), demand * (1 + 1e-9))
        return Distribution(self, demand, last, idle).probability(times)

    def _normal(self, demand: float) -> bool:
        return demand / (1 - self.jobs.utilization) > _NORMAL * self.spread(demand)

    def distribution(self, demand: float, level: float, *, idle: bool = False) -> Distribution:
        """Return the distribution up to a time by which a demand is done with this probability."""
        beyond = self.spread(demand) + demand / (1 - self.jobs.utilization) - demand
        while self._nearly(demand, beyond, idle=idle) < level:
            beyond *= 2
        while (distribution := Distribution(self, demand, demand + beyond, idle)).by(
            distribution.last
        ) < level:
            beyond *= 2
        return distribution

    def _nearly(self, demand: float, beyond: float, *, idle: bool) -> float:
        """Return about the probability to end by then: jumps nearby are smoothed."""
        t = np.array([beyond])
        s = points(t, max(LEAST_TERMS, math.ceil(2 * beyond / self.spread(demand))))
        first, ratio = self.parts(demand, s.ravel(), idle=idle)
        atom, _ = self.atoms(demand, idle=idle)
        whole = first / (1 - ratio * np.exp(-demand * s.ravel())) - atom
        return atom + float(inverted(whole.reshape(s.shape) / s, t)[0])

    def quantile(self, demand: float, level: float, *, idle: bool = False) -> float:
        """Return the time by which a demand is done with this probability."""
        return self.quantiles(demand, [level], idle=idle)[0]

    def quantiles(
        self, demand: float, levels: Sequence[float], *, idle: bool = False
    ) -> list[float]:
        """Return the times by which a demand is done with these probabilities."""
        if self._normal(demand):
            from scipy.special import ndtri

            mean = demand / (1 - self.jobs.utilization)
            return [mean + float(ndtri(level)) * self.spread(demand) for level in levels]
        distribution = self.distribution(demand, max(levels), idle=idle)
        return [distribution.quantile(level) for level in levels]


def shared_core(rates: Array, laws: list[tuple[Array, Array]]) -> SharedCore:
    """Return the core that classes of phase-type demands share."""
    orders = [len(start) for start, _ in laws]
    phases = np.zeros((sum(orders), sum(orders)))
    at, starts = 0, []
    for rate, (start, block) in zip(rates, laws, strict=True):
        phases[at : at + len(start), at : at + len(start)] = block
        starts.append(start * rate / rates.sum())
        at += len(start)
    return SharedCore(Jobs(float(rates.sum()), np.concatenate(starts), phases))
