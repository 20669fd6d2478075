"""Draws of the curve beyond what is measured: explanations, and how far off any of them may be."""

from __future__ import annotations

import numpy as np

from parcast_scaling.evidence import Observed, Posterior
from parcast_scaling.mechanisms import Floats
from parcast_scaling.prior import Prior


def drifts(
    posterior: Posterior,
    observed: Observed,
    prior: Prior,
    p: Floats,
    n: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return how far the truth lies off each explanation: scatter of sizes, and drift.

    Both are logarithms, of shape (particles, points). The drift begins at the last measured size
    and grows with the doublings, the same way at all p of a draw; the time may jump upwards at one.
    """
    count = len(posterior.particles)
    misfit = np.exp(posterior.particles.misfit)
    doublings = np.log2(p)
    high, low = np.log2(observed.p.max()), np.log2(observed.p.min())
    above = np.maximum(doublings - high, 0)
    beyond = above + np.maximum(low - doublings, 0)
    shared = _not_divided(posterior, p, n)
    spread = np.sqrt(
        prior.drift**2
        + (prior.drift_of_misfit * misfit[:, None]) ** 2
        + (prior.drift_of_shared * shared) ** 2
    )
    direction = rng.standard_t(prior.tails, count)[:, None] + prior.rise * shared
    drift = spread * direction * (beyond**prior.drift_growth)[None]
    # one jump at an exponential distance, of a size of its own
    place = rng.exponential(1 / prior.jump, count)
    size = np.abs(rng.standard_normal(count)) * prior.jump_size
    drift = drift + np.where(place[:, None] < above[None], size[:, None], 0.0)
    scatter = misfit[:, None] * rng.standard_normal((count, len(p)))
    return scatter, drift


def _not_divided(posterior: Posterior, p: Floats, n: Floats) -> Floats:
    """Return which part of the time is not divided work: what the network and waiting decide."""
    parts = posterior.parts(p, n)
    shared: Floats = 1 - parts[..., 0] / np.maximum(parts.sum(axis=-1), 1e-300)
    return shared
