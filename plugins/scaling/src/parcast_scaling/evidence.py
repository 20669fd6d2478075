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

from parcast_scaling.mechanisms import Floats
from parcast_scaling.particles import Particles, relative_parts
from parcast_scaling.prior import Prior

#: Explanations that are followed at once.
PARTICLES = 3000

#: Moves of all particles at each temperature.
_MOVES = 6


@attrs.frozen(kw_only=True)
class Observed:
    """Measured sizes, a row for each: the mean logarithm of its times, and how sure that is."""

    p: Floats
    n: Floats
    logs: Floats  #: of seconds, a mean of the repeats
    variance: Floats  #: of these, by the repeats
    noise: float  #: standard deviation of one run's logarithm


@attrs.frozen(kw_only=True)
class Posterior:
    """Particles in proportion to their evidence, and the scale of each."""

    particles: Particles
    scale: Floats  #: logarithm of seconds at the reference
    reference: tuple[float, float]  #: p and n there
    evidence: float  #: logarithm of the marginal likelihood

    def parts(self, p: Floats, n: Floats) -> Floats:
        """Return the seconds of each term, shape (particles, points, terms)."""
        parts = relative_parts(self.particles, p, n, self.reference)
        seconds: Floats = np.exp(self.scale)[:, None, None] * parts
        return seconds


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
        How many are followed; 3000 where it is not stated.
    """
    last = int(np.lexsort((observed.n, observed.p))[-1])
    reference = (float(observed.p[last]), float(observed.n[last]))
    explanations = prior.draw(particles or PARTICLES, observed.noise, rng)
    logs = _likelihood(explanations, observed, reference)
    heat, evidence = 0.0, 0.0
    while heat < 1:
        step = _next_step(logs, 1 - heat)
        weights = np.exp(step * (logs - logs.max()))
        evidence += float(np.log(weights.mean()) + step * logs.max())
        heat += step
        rows = _resample(weights, rng)
        explanations, logs = explanations.take(rows), logs[rows]
        for _ in range(_MOVES):
            explanations, logs = _move(explanations, logs, heat, observed, reference, prior, rng)
    return Posterior(
        particles=explanations,
        scale=_scale(explanations, observed, reference, rng),
        reference=reference,
        evidence=evidence,
    )


def _residuals(
    particles: Particles, observed: Observed, reference: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Return measured less explained logarithms, and the weight of each."""
    sums = relative_parts(particles, observed.p, observed.n, reference).sum(axis=-1)
    residuals = observed.logs[None] - np.log(np.maximum(sums, 1e-300))  # no time at all
    weights = 1 / (observed.variance[None] + np.exp(2 * particles.misfit)[:, None])
    return residuals, weights


def _likelihood(particles: Particles, observed: Observed, reference: tuple[float, float]) -> Floats:
    """Return logarithms, the scale integrated out under a flat prior of its logarithm."""
    residuals, weights = _residuals(particles, observed, reference)
    total = weights.sum(axis=1)
    squares = (weights * residuals**2).sum(axis=1) - (weights * residuals).sum(axis=1) ** 2 / total
    logs: Floats = 0.5 * (np.log(weights).sum(axis=1) - np.log(total) - squares)
    return logs


def _scale(
    particles: Particles,
    observed: Observed,
    reference: tuple[float, float],
    rng: np.random.Generator,
) -> Floats:
    residuals, weights = _residuals(particles, observed, reference)
    total = weights.sum(axis=1)
    scale: Floats = (weights * residuals).sum(axis=1) / total
    scale += rng.standard_normal(len(scale)) / np.sqrt(total)
    return scale


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
    observed: Observed,
    reference: tuple[float, float],
    prior: Prior,
    rng: np.random.Generator,
) -> tuple[Particles, Floats]:
    """Return particles after one step of Metropolis each."""
    proposed, ratio = prior.propose(particles, observed.noise, rng)
    new = _likelihood(proposed, observed, reference)
    accept = np.log(rng.random(len(logs))) < heat * (new - logs) + ratio
    return particles.where(accept, proposed), np.where(accept, new, logs)
