"""Which mechanisms the measured times leave open, and with what amounts: weighted by evidence.

Particles are whole explanations: which terms a code has, the share of each at the largest measured
size, the exponent of its divided work, and how far measured times lie off any such sum. They start
as draws of the prior and are brought to the posterior by tempering (Del Moral, Doucet & Jasra
2006), so that explanations stay in proportion to their evidence: Bayesian model averaging.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_scaling.discrepancy import Discrepancy, Observed
from parcast_scaling.mechanisms import Floats
from parcast_scaling.particles import Particles, relative_parts, relative_sums
from parcast_scaling.prior import Prior

#: Explanations that are followed at once.
PARTICLES = 2000

#: Moves of all particles at each temperature. With half as many, kinds of mechanism that times
#: hardly tell apart are out of proportion to their evidence by a tenth.
_MOVES = 24


@attrs.frozen(kw_only=True)
class Posterior:
    """Particles in proportion to their evidence, and the scale of each."""

    particles: Particles
    scale: Floats  #: logarithm of seconds at the reference, the largest measured size
    discrepancy: Discrepancy
    evidence: float  #: logarithm of the marginal likelihood

    def parts(self, p: Floats, n: Floats) -> Floats:
        """Return the seconds of each term, shape (particles, points, terms)."""
        parts = relative_parts(
            self.particles, self.discrepancy.prior.terms, p, n, self.discrepancy.observed.reference
        )
        seconds: Floats = np.exp(self.scale)[:, None, None] * parts
        return seconds

    def deviations(self, p: Floats, n: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return draws of how far the truth lies off each explanation: drift, and scatter of sizes.

        Both are logarithms, their shape is (particles, points). What a measured size scatters is
        known but for the noise of its runs.
        """
        observed = self.discrepancy.observed
        residuals = _residuals(self.particles, self.discrepancy) - self.scale[:, None]
        drift = self.discrepancy.drift(residuals, self.particles.level, p, n, rng)
        spread = self.scatter()
        scatter = spread[:, None] * rng.standard_normal(drift.shape)
        for point, row in np.argwhere((p[:, None] == observed.p) & (n[:, None] == observed.n)):
            scattered = spread**2 / (spread**2 + observed.variance[row])
            scatter[:, point] *= np.sqrt(1 - scattered)
            scatter[:, point] += scattered * (residuals[:, row] - drift[:, point])
        return drift, scatter

    def exposed(self) -> Floats:
        """Return the part of the time that is not computed alone, at the reference, by particle."""
        p, n = (np.array([value]) for value in self.discrepancy.observed.reference)
        parts = self.parts(p, n)[:, 0]
        alone = np.array([term.alone for term in self.discrepancy.prior.terms])
        exposed: Floats = parts[:, ~alone].sum(axis=1) / parts.sum(axis=1)
        return exposed

    def rises(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return draws of what sudden rises add to the logarithm, shape (particles, points)."""
        observed = self.discrepancy.observed
        largest = observed.p.max()
        measured = float(np.log2(largest / observed.p.min()))
        return self.discrepancy.prior.rises.draw(
            self.exposed(), measured, np.log2(p / largest), rng
        )

    def scatter(self) -> Floats:
        """Return the standard deviation of single sizes about the curve, by particle."""
        spread: Floats = self.discrepancy.deviations[self.particles.level, 0]
        return spread

    def take(self, rows: NDArray[np.int64]) -> Posterior:
        """Return those particles."""
        return attrs.evolve(self, particles=self.particles.take(rows), scale=self.scale[rows])


def infer(
    observed: Observed, prior: Prior, rng: np.random.Generator, particles: int | None = None
) -> Posterior:
    """Return the explanations of measured times.

    Parameters
    ----------
    observed
        Two distinct sizes at least.
    prior
        What is known of codes before any is measured.
    rng
        The same generator gives the same answer.
    particles
        How many are followed; 2000 where it is not stated.
    """
    discrepancy = Discrepancy(observed=observed, prior=prior)
    explanations = prior.draw(particles or PARTICLES, rng)
    logs = _likelihood(explanations, discrepancy)
    heat, evidence = 0.0, 0.0
    while heat < 1:
        step = _next_step(logs, 1 - heat)
        weights = np.exp(step * (logs - logs.max()))
        evidence += float(np.log(weights.mean()) + step * logs.max())
        heat += step
        rows = _resample(weights, rng)
        explanations, logs = explanations.take(rows), logs[rows]
        for _ in range(_MOVES):
            explanations, logs = _move(explanations, logs, heat, discrepancy, rng)
    residuals = _residuals(explanations, discrepancy)
    return Posterior(
        particles=explanations,
        scale=discrepancy.scale(residuals, explanations.level, rng),
        discrepancy=discrepancy,
        evidence=evidence,
    )


def _residuals(particles: Particles, discrepancy: Discrepancy) -> Floats:
    """Return measured less explained logarithms, shape (particles, sizes)."""
    sums = np.maximum(relative_sums(particles, *discrepancy.course), 1e-300)  # no time at all
    residuals: Floats = discrepancy.observed.logs[None] - np.log(sums)
    return residuals


def _likelihood(particles: Particles, discrepancy: Discrepancy) -> Floats:
    return discrepancy.likelihood(_residuals(particles, discrepancy), particles.level)


def _next_step(logs: Floats, left: float) -> float:
    """Return the step of temperature that leaves about half of the particles effective."""
    low, high = 0.0, left
    if _effective(logs, high) >= 0.5 * len(logs):
        return left
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _effective(logs, middle) > 0.5 * len(logs) else (low, middle)
    return max(low, 1e-6)


def _effective(logs: Floats, step: float) -> float:
    weights = np.exp(step * (logs - logs.max()))
    return float(weights.sum() ** 2 / (weights**2).sum())


def _resample(weights: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return rows in proportion to their weights, systematically."""
    edges = np.cumsum(weights / weights.sum())
    places = (rng.random() + np.arange(len(weights))) / len(weights)
    rows: NDArray[np.int64] = np.minimum(np.searchsorted(edges, places), len(weights) - 1)
    return rows


def _move(
    particles: Particles,
    logs: Floats,
    heat: float,
    discrepancy: Discrepancy,
    rng: np.random.Generator,
) -> tuple[Particles, Floats]:
    """Return particles after one step of Metropolis each."""
    proposed, ratio = discrepancy.prior.propose(particles, rng)
    new = _likelihood(proposed, discrepancy)
    accept = np.log(rng.random(len(logs))) < heat * (new - logs) + ratio
    return particles.where(accept, proposed), np.where(accept, new, logs)
