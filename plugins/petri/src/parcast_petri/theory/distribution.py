"""The distribution of a demand's time on a shared core, quick to ask at many times.

The transform of the time beyond a demand x is the sum of G_0 Q^k e^-ksx (see `transform`). Each
G_0 Q^k is analytic outside a bounded region, so what it is the transform of, less its jump at 0, is
an entire function of time: a Chebyshev series of some dozens of terms has all digits there are. The
inversion is done at the nodes of the series alone, for all k by one recurrence.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cached_property
from typing import Protocol

import attrs
import numpy as np

from parcast_petri.theory.inversion import LEAST_TERMS, Array, Complex, points, weights

#: Terms smaller than the first are left out; the inversion has errors of some 1e-8, so a series
#: whose last coefficients are together less than the second is long enough.
_NOTHING, _CLOSE = 1e-11, 3e-8
#: Times so near a multiple of the demand, relative to themselves, are that multiple.
_ROUNDING = 1e-12
#: Half the nodes of the first series, and of the last.
_FIRST, _LAST = 32, 2048
#: So many numbers are held at a time: few enough for a processor's cache.
_HELD = 30_000


class Core(Protocol):
    """What a distribution asks of a shared core."""

    def spread(self, demand: float) -> float:
        """Return the standard deviation of a long demand's time."""
        ...

    def atoms(self, demand: float, *, idle: bool) -> tuple[float, float]:
        """Return the probability of the demand's own length, and a ratio."""
        ...

    def parts(self, demand: float, s: Complex, *, idle: bool) -> tuple[Complex, Complex]:
        """Return G_0 and Q at each s."""
        ...


@attrs.frozen(eq=False, slots=False)
class Distribution:
    """When a demand is done, up to a last time."""

    core: Core
    demand: float
    last: float  #: seconds; above the demand
    idle: bool

    @cached_property
    def atoms(self) -> tuple[float, float]:
        """The probability of the demand's own length, and the ratio of one multiple to the next."""
        return self.core.atoms(self.demand, idle=self.idle)

    @cached_property
    def _series(self) -> Array:
        """The Chebyshev series of every term from 0 to the last time: terms by coefficients.

        Nodes are doubled until the last quarter of the coefficients is nothing.
        """
        half = _FIRST
        values = self._terms(np.cos(math.pi / half * np.arange(half + 1)))
        while True:
            mirrored = np.concatenate([values, values[:, -2:0:-1]], axis=1)
            coefficients = np.fft.rfft(mirrored, axis=1).real / half
            coefficients[:, [0, -1]] /= 2
            tail = np.abs(coefficients[:, -half // 4 :]).max(axis=1).sum()
            if tail < _CLOSE or half == _LAST:
                needed = np.abs(coefficients).sum(axis=0) > _NOTHING
                return np.asarray(coefficients[:, : 1 + int(np.flatnonzero(needed).max(initial=0))])
            between = self._terms(np.cos(math.pi / half * (np.arange(half) + 0.5)))
            half *= 2
            both = np.zeros((max(len(values), len(between)), half + 1))
            both[: len(values), ::2], both[: len(between), 1::2] = values, between
            values = both

    def _terms(self, x: Array) -> Array:
        """Return each term, without its jump, at the parts (1 + x)/2 of the time beyond."""
        beyond = self.last - self.demand
        terms: list[Array] = []
        later = 1 + x > 0  # all begin with 0
        t = beyond * (1 + x[later]) / 2
        waves = max(LEAST_TERMS, math.ceil(2 * beyond / self.core.spread(self.demand)))
        s = points(t, waves)
        term, factor = (
            part.reshape(s.shape)
            for part in self.core.parts(self.demand, s.ravel(), idle=self.idle)
        )
        weight = weights(t, waves) / s
        term, level = term * weight, weight.real.sum(axis=1)
        atom, ratio = self.atoms
        for _ in range(1 + math.floor(beyond / self.demand * (1 + _ROUNDING))):
            value = np.zeros(len(x))
            value[later] = term.real.sum(axis=1) - atom * level
            terms.append(value)
            if atom < _NOTHING and np.abs(value).max() < _NOTHING:
                break
            term, atom = term * factor, atom * ratio
        return np.array(terms)

    def probability(self, times: Array) -> Array:
        """Return the probabilities that the demand is done by these times, none after the last."""
        probabilities = np.empty(len(times))
        number = len(self._series)
        for at in range(0, len(times), max(1, _HELD // number)):
            chunk = slice(at, at + max(1, _HELD // number))
            probabilities[chunk] = self._summed(times[chunk])
        return np.clip(probabilities, 0.0, 1.0)

    def _summed(self, times: Array) -> Array:
        k = np.arange(len(self._series))
        since = times[:, None] - self.demand * (k + 1)
        slack = _ROUNDING * times[:, None]
        x = 2 * since / (self.last - self.demand) - 1
        high, low = np.zeros_like(x), np.zeros_like(x)
        for coefficients in self._series.T[:0:-1]:  # Clenshaw's recurrence
            high, low = 2 * x * high - low + coefficients, high
        smooth = x * high - low + self._series[:, 0]
        atom, ratio = self.atoms
        terms = np.where(since > slack, smooth, 0.0) + np.where(since >= -slack, atom * ratio**k, 0)
        return np.asarray(terms.sum(axis=1))

    def by(self, time: float) -> float:
        """Return the probability that the demand is done by this time."""
        return float(self.probability(np.array([time]))[0])

    def quantile(self, level: float) -> float:
        """Return the time by which the demand is done with this probability; the last at most."""
        from scipy.optimize import brentq

        demand, (atom, ratio) = self.demand, self.atoms
        if level <= atom:
            return demand
        multiples = range(1, 1 + math.floor(self.last / demand))
        jumps = int(min(len(multiples), len(self._series)))
        at = bisect_left(multiples[:jumps], level, key=lambda k: self.by(k * demand))
        low, high = multiples[max(0, at - 1)] * demand, self.last
        if at < jumps:
            high = multiples[at] * demand
            if self.by(high) - atom * ratio**at < level:
                return high
        return float(brentq(lambda time: self.by(time) - level, low, high, rtol=1e-10))
