"""The law of the time that a demand takes on one shared core, by its transform.

In work time the other jobs are a branching process with immigration. With phase-type demands
(alpha, S), s0 = -S 1, arrival rate lambda and (v, w) = expm(x [[S - sI, s0], [-lambda alpha,
lambda]]) 1 the transform of the time beyond the demand x is (1 - rho)/(w - rho beta v) on a
node in its steady state, beta the phases of jobs under way, and 1/w on an idle one.

Where k jobs are there at first, outlast the demand, and no other comes, the time is (k + 1) x: it
takes each of these values with a positive probability, and its density jumps there. No sum of waves
converges beside a jump, so the transform is taken apart. One eigenvalue of the matrix, z =
lambda (1 - P(s)) with P that of a busy period, is right of -s, and all others left of it; with
the part of the first in front the transform is G_0/(1 - Q e^-sx), the sum of the G_0 Q^k e^-ksx,
each of which is that of a smooth function that begins at k x.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from parcast_petri.theory.inversion import (
    AVERAGED,
    LEAST_TERMS,
    Array,
    Complex,
    inverted,
    points,
)
from parcast_petri.theory.phases import Jobs, exponentials

#: Terms of the sum that are smaller are left out, and jumps of which the sum of waves shows less.
_NOTHING, _UNSEEN = 1e-11, 1e-8
#: Times so near a multiple of the demand, relative to themselves, are that multiple.
_ROUNDING = 1e-12
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

    def undisturbed(self, demand: float, *, idle: bool) -> float:
        """Return the probability that no job shares the core."""
        return self.atoms(demand, idle=idle)[0]

    def parts(self, demand: float, s: Complex, *, idle: bool) -> tuple[Complex, Complex]:
        """Return G_0 and Q of the transform of the time beyond the demand, at each s."""
        jobs, rho = self.jobs, self.jobs.utilization
        before, after = jobs.resolvents(jobs.busy(s))
        known = np.zeros(len(jobs.start)) if idle else rho * jobs.residual
        weight = (1 - jobs.rate * before.sum(axis=1)) / (
            1 - jobs.rate * (before * after).sum(axis=1)
        )
        z = jobs.rate * (1 - before @ jobs.exits)
        whole = 1.0 if idle else 1 - rho
        first = whole * np.exp(-demand * z) / ((1 - after @ known) * weight)
        lag = np.empty_like(first)
        for few in np.array_split(np.arange(len(s)), 1 + len(s) * len(known) ** 2 // _ENTRIES):
            matrix = jobs.phases + jobs.rate * jobs.exits[:, None] * before[few, None, :]
            rest = exponentials(demand * matrix) @ (1 - (after * weight[:, None])[few])[:, :, None]
            lag[few] = ((jobs.rate * before[few] - known)[:, None, :] @ rest)[:, 0, 0]
        return np.asarray(first, np.complex128), -lag * first / whole

    def probability(self, demand: float, times: Array, *, idle: bool = False) -> Array:
        """Return the probabilities that a demand is done by these times."""
        beyond = np.asarray(times, float) - demand
        mean, spread = demand / (1 - self.jobs.utilization), self.spread(demand)
        if mean > _NORMAL * spread:
            from scipy.special import ndtr

            return np.asarray(ndtr((beyond + demand - mean) / spread), np.float64)
        found, near = np.zeros_like(beyond), beyond < demand * self.smooth_from(demand)
        found[near] = self._summed(demand, beyond[near], idle=idle)
        if not near.all():
            found[~near] = self._whole(demand, beyond[~near], idle=idle)
        return np.clip(found, 0.0, 1.0)

    def smooth_from(self, demand: float) -> float:
        """Return the multiple of the demand from which on no jump shows in a sum of waves.

        Of a jump at the part v of a time the sum shows sin(pi v/2)^m/(pi n), by m averages of n
        terms and more.
        """
        ratio = self.jobs.utilization * math.exp(-self.jobs.rate * demand)
        part = np.linspace(0.01, 1, 100)
        shown = np.sin(math.pi / 2 * part) ** AVERAGED / (math.pi * LEAST_TERMS)
        powers = np.log(np.minimum(1.0, _UNSEEN / shown)) / math.log(max(ratio, 1e-300))
        return float((powers / part).max()) + 1

    def _summed(self, demand: float, beyond: Array, *, idle: bool) -> Array:
        """Return P(time beyond the demand <= t), one multiple of the demand after another."""
        atom, ratio = self.atoms(demand, idle=idle)
        most = 1 + math.floor(beyond.max(initial=0.0) / demand * (1 + _ROUNDING))
        since = beyond[:, None] - demand * np.arange(most)
        slack = _ROUNDING * (beyond + demand)[:, None]
        later = since > slack
        grid, which = np.unique(np.round(since[later] / demand / _ROUNDING), return_inverse=True)
        t = grid * demand * _ROUNDING
        index = np.zeros(since.shape, np.int64)
        index[later] = which
        found = np.zeros_like(beyond)
        for k, term in enumerate(self._terms(demand, t, atom, ratio, idle=idle)):
            if k == most:
                break
            found += np.where(since[:, k] >= -slack[:, 0], atom * ratio**k, 0.0)
            if len(t):
                found += np.where(later[:, k], term[index[:, k]], 0.0)
        return found

    def _terms(
        self, demand: float, t: Array, atom: float, ratio: float, *, idle: bool
    ) -> Iterator[Array]:
        """Yield what each term is at times after it began, without its atom, while it is any."""
        terms = self._waves(demand, t)
        s = points(t, terms)
        parts = self.parts(demand, s.ravel(), idle=idle)
        term, factor = (one.reshape(s.shape) for one in parts)
        while True:
            found = inverted((term - atom) / s, t)
            yield found
            if atom < _NOTHING and np.abs(found).max(initial=0.0) < _NOTHING:
                return
            term, atom = term * factor, atom * ratio

    def _whole(self, demand: float, t: Array, *, idle: bool) -> Array:
        """Return P(time beyond the demand <= t) by one transform."""
        atom, _ = self.atoms(demand, idle=idle)

        def transform(s: Complex) -> Complex:
            first, ratio = self.parts(demand, s, idle=idle)
            return np.asarray(first / (1 - ratio * np.exp(-demand * s)) - atom, np.complex128)

        terms, found = self._waves(demand, t), np.empty_like(t)
        for few in np.array_split(np.arange(len(t)), 1 + len(t) * terms // 100_000):
            s = points(t[few], terms)
            found[few] = inverted(transform(s.ravel()).reshape(s.shape) / s, t[few])
        return atom + found

    def _waves(self, demand: float, t: Array) -> int:
        """Return how many terms the inversion needs."""
        last = float(t.max(initial=0.0))
        return max(LEAST_TERMS, math.ceil(2 * last / self.spread(demand)))

    def quantile(self, demand: float, level: float, *, idle: bool = False) -> float:
        """Return the time by which a demand is done with this probability."""
        from scipy.optimize import brentq

        if level <= self.undisturbed(demand, idle=idle):
            return demand

        def over(time: float) -> float:
            return float(self.probability(demand, np.array([time]), idle=idle)[0]) - level

        last = demand / (1 - self.jobs.utilization) + self.spread(demand)
        while over(last) < 0:
            last = demand + 2 * (last - demand)
        found = float(brentq(over, demand, last, rtol=1e-10))
        multiple = demand * round(found / demand)  # where the probability jumps over the level
        return multiple if abs(found - multiple) <= 1e-9 * found else found


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
