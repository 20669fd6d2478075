"""What is known of codes before any of their times: which terms, what shares, how far off."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_scaling.mechanisms import MECHANISMS, WORK, Floats, Mechanism, binding
from parcast_scaling.particles import Bools, Particles, row_sums, shares
from parcast_scaling.rises import Rises

#: How often each kind of step is proposed.
_STEPS = (0.22, 0.12, 0.44, 0.06, 0.07, 0.09)

#: How often what two terms have together is proposed to be of the one alone, and of the other.
_ALONE = 0.2

#: The odds of each kind of mechanism where what binds is named.
_NAMED = 0.15

#: Where scatter and drift are tried, in standard deviations of their logarithm.
_NODES = np.linspace(-2.0, 3.5, 10)


@attrs.frozen(kw_only=True)
class Prior:
    """What holds of codes in general."""

    scatter: float = 0.02  #: median standard deviation of single sizes about a curve, relative
    scatter_spread: float = 0.9  #: of its logarithm
    noise_part: float = 0.4  #: scatter is at least about this part of one run's noise
    drift: float = 0.03  #: median standard deviation over one doubling, relative
    drift_spread: float = 1.0  #: of its logarithm
    drift_of_noise: float = 0.4  #: which part of one run's noise adds to it
    shift: float = 0.7  #: how much larger drift is where nothing is divided work, in its spread
    roughness: float = 0.75  #: the drift over d doublings is as d to this power
    divided_spread: float = 0.02  #: of the divided work's exponent about 1
    crowded: float = 0.9  #: median of the contention's exponent
    crowded_spread: float = 0.45  #: of its logarithm
    rises: Rises = Rises()  #: sudden ones, beyond what is measured
    tails: float = 0.65  #: what part of the tails is left at four times what is measured
    terms: tuple[Mechanism, ...] = MECHANISMS  #: divided work first, contention last

    @property
    def weights(self) -> Floats:
        """Of the share of each term."""
        return np.array([term.weight for term in self.terms])

    @property
    def chances(self) -> Floats:
        """Of each term, that a code has it."""
        return np.array([term.chance for term in self.terms])

    def impartial(self, has: Bools) -> Floats:
        """Return weights of explanations under which each kind of mechanism has the same odds.

        Which kinds are common helps to predict, and so does what cannot be told apart; but what
        binds is named by the times alone, and the more terms it takes, the less it is believed.
        Divided work, which most codes have, and terms that a program proposes keep their odds.
        """
        odds, logs = self._odds(), np.zeros(len(self.terms))
        for kind, places in binding(self.terms).items():
            if kind != WORK and self.terms[places[0]] in MECHANISMS:
                logs[list(places)] = np.log(_NAMED / len(places)) - odds[list(places)]
        total = has @ logs
        weights: Floats = np.exp(total - total.max())
        return weights

    def draw(self, count: int, rng: np.random.Generator) -> Particles:
        """Return explanations drawn from it."""
        has = rng.random((count, len(self.terms))) < self.chances
        has[~has.any(axis=1), 0] = True
        sizes = self._sizes(count, rng)
        share = shares(has, sizes)
        divided = 1 + self.divided_spread * rng.standard_t(3, count)
        crowded = self.crowded * np.exp(self.crowded_spread * rng.standard_normal(count))
        level = self._levels(share[:, 0], rng)
        return Particles(
            has=has,
            sizes=sizes,
            share=share,
            divided=divided,
            crowded=crowded,
            level=level,
            drift=self._drift_logs(level, share[:, 0]),
        )

    def propose(self, particles: Particles, rng: np.random.Generator) -> tuple[Particles, Floats]:
        """Return a step from each explanation, and the logarithm of how the prior takes to it.

        A step changes one share, has a term come or go, shares out anew what two have, changes an
        exponent, or draws anew how far off times are.
        """
        count = len(particles)
        kind = rng.choice(len(_STEPS), count, p=_STEPS)
        sizes = particles.sizes.copy()
        comes = np.flatnonzero(kind == 1)
        # sizes of absent terms are drawn anew: nothing measured is about them
        sizes[comes] = np.where(particles.has[comes], sizes[comes], self._sizes(len(comes), rng))
        step = _Step(particles.has.copy(), sizes, _any_of(particles.has, rng))
        ratio = self._walk(step, kind == 0, rng)
        ratio += self._toggle(step, rng.integers(0, len(self.terms), count), kind == 1)
        ratio += self._share_out(step, kind == 2, rng)
        divided, crowded = particles.divided.copy(), particles.crowded.copy()
        rows = np.flatnonzero(kind == 3)
        divided[rows] += (self.divided_spread * rng.standard_normal(count))[rows]
        ratio[rows] += _student_ratio(particles.divided[rows], divided[rows], self.divided_spread)
        rows = np.flatnonzero(kind == 4)
        crowded[rows] *= np.exp((0.4 * rng.standard_normal(count))[rows])
        ratio[rows] += _normal_ratio(
            np.log(particles.crowded[rows]), np.log(crowded[rows]),
            np.log(self.crowded), self.crowded_spread,
        )  # fmt: skip
        anew = np.flatnonzero(kind == 5)
        level = particles.level.copy()
        # drawn as for divided work alone, which the ratio corrects
        level[anew] = self._levels(np.ones(len(anew)), rng)
        alone = self._node_logs(np.ones(1))[0]
        ratio += alone[particles.level % len(_NODES)] - alone[level % len(_NODES)]
        none = ~step.has.any(axis=1)
        step.has[none, 0] = True
        share = shares(step.has, step.sizes)
        drift = self._drift_logs(level, share[:, 0])
        ratio += drift
        ratio -= particles.drift
        proposed = Particles(
            has=step.has,
            sizes=step.sizes,
            share=share,
            divided=divided,
            crowded=crowded,
            level=level,
            drift=drift,
        )
        return proposed, np.where(none, -np.inf, ratio)

    def _walk(self, step: _Step, where: Bools, rng: np.random.Generator) -> Floats:
        """Change the share of one term that the code has."""
        count, rows = len(where), np.flatnonzero(where)
        length = rng.standard_normal(count) * np.where(rng.random(count) < 0.5, 1.2, 0.25)
        term = step.present[rows]
        before = step.sizes[rows, term]
        after = before + length[rows]
        step.sizes[rows, term] = after
        ratio = np.zeros(count)
        ratio[rows] = self.weights[term] * (after - before) - np.exp(after) + np.exp(before)
        return ratio

    def _toggle(self, step: _Step, term: NDArray[np.int64], where: Bools) -> Floats:
        """Have a term come or go."""
        rows = np.flatnonzero(where)
        places, ratio = (rows, term[rows]), np.zeros(len(where))
        ratio[rows] = np.where(step.has[places], -1, 1) * self._odds()[term[rows]]
        step.has[places] ^= True
        return ratio

    def _share_out(self, step: _Step, where: Bools, rng: np.random.Generator) -> Floats:
        """Share out anew what a term and another have together, to both or to one of them."""
        rows, count = np.flatnonzero(where), len(self.terms)
        first = step.present[rows]
        second = (first + rng.integers(1, count, len(where))[rows]) % count
        paired = step.has[rows, second]
        sizes = np.exp(np.stack([step.sizes[rows, first], step.sizes[rows, second]]))
        total = sizes[0] + np.where(paired, sizes[1], 0.0)
        drawn, between = rng.random(len(where))[rows], rng.random(len(where))[rows]
        part = np.where(drawn < _ALONE, 1.0, np.where(drawn < 2 * _ALONE, 0.0, between))
        others = np.maximum(step.has[rows].sum(axis=1) - 1 - paired, 0)
        apart = np.log(total) - np.log(1 - 2 * _ALONE) + np.log(2 / (others + 2))
        alone = -np.log(_ALONE) - np.log(others + 1)
        ratio = np.zeros(len(where))
        for sign, share in ((1, part), (-1, sizes[0] / total)):
            logs = np.where((share > 0) & (share < 1), apart, alone)
            for term, size in ((first, share * total), (second, (1 - share) * total)):
                logs += self._size_logs(term, size)
            ratio[rows] += sign * logs
        for term, size in ((first, part * total), (second, (1 - part) * total)):
            step.has[rows, term] = size > 0
            step.sizes[rows, term] = np.log(np.maximum(size, 1e-300))
        return ratio

    def _size_logs(self, term: NDArray[np.int64], size: Floats) -> Floats:
        """Return the logarithm of the density of sizes of terms, and of terms of none."""
        constants = np.array([math.lgamma(weight) for weight in self.weights])
        density = (self.weights[term] - 1) * np.log(np.maximum(size, 1e-300)) - constants[term]
        logs: Floats = np.where(size > 0, density + self._odds()[term], 0.0)
        return logs

    def _odds(self) -> Floats:
        odds: Floats = np.log(self.chances / (1 - self.chances))
        return odds

    def deviations(self, noise: float) -> tuple[Floats, Floats]:
        """Return the standard deviations of scatter and of drift that are tried."""
        scatter = np.hypot(self.scatter, self.noise_part * noise)
        drift = np.hypot(self.drift, self.drift_of_noise * noise)
        return (
            scatter * np.exp(self.scatter_spread * _NODES),
            drift * np.exp(self.drift_spread * _NODES),
        )

    def _levels(self, divided: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return draws of which scatter and drift, for a share of divided work each."""
        drawn = []
        for logs in (self._node_logs(np.ones(1)), self._node_logs(divided)):
            edges = np.cumsum(np.exp(logs), axis=1)
            below = rng.random(len(divided))[:, None] > edges
            drawn.append(np.minimum(below.sum(axis=1), len(_NODES) - 1))
        level: NDArray[np.int64] = drawn[0] * len(_NODES) + drawn[1]
        return level

    def _drift_logs(self, level: NDArray[np.int64], divided: Floats) -> Floats:
        """Return the logarithm of the probability of the drift."""
        logs: Floats = self._node_logs(divided)[np.arange(len(level)), level % len(_NODES)]
        return logs

    def _node_logs(self, divided: Floats) -> Floats:
        """Return the logarithm of the probability of each node, shape (particles, nodes)."""
        logs = -0.5 * (_NODES[None] - self.shift * (1 - divided)[:, None]) ** 2
        normalized: Floats = logs - np.log(row_sums(np.exp(logs)))[:, None]
        return normalized

    def _sizes(self, count: int, rng: np.random.Generator) -> Floats:
        shape = (count, len(self.terms))
        draws = rng.standard_gamma(np.broadcast_to(self.weights, shape))
        sizes: Floats = np.log(np.maximum(draws, 1e-30))
        return sizes


@attrs.frozen
class _Step:
    """A step on its way: arrays that are changed in place, and the terms that each row is about."""

    has: Bools
    sizes: Floats
    present: NDArray[np.int64]  #: a term that the code has


def _any_of(which: Bools, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a term of each row, one of those that are true as likely as another."""
    chosen: NDArray[np.int64] = (which * rng.random(which.shape)).argmax(axis=1)
    return chosen


def _student_ratio(before: Floats, after: Floats, spread: float) -> Floats:
    """Return the logarithm of the ratio of Student's density of 3 degrees about 1."""
    ratio: Floats = np.log1p(((before - 1) / spread) ** 2 / 3)
    ratio -= np.log1p(((after - 1) / spread) ** 2 / 3)
    return 2 * ratio


def _normal_ratio(before: Floats, after: Floats, center: float, spread: float) -> Floats:
    """Return the logarithm of the ratio of Gauss's density."""
    ratio: Floats = ((before - center) ** 2 - (after - center) ** 2) / (2 * spread**2)
    return ratio
