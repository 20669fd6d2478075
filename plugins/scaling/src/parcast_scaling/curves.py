"""Draws of the curve of time over p, from what is inferred of a code."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from parcast_scaling.discrepancy import Observed
from parcast_scaling.evidence import Posterior, infer
from parcast_scaling.mechanisms import Floats, binding
from parcast_scaling.prior import Prior

#: The seed of all draws, where nobody names another.
SEED = 2026

#: No faster than this, in seconds, at p processes and work n.
Bound = Callable[[Floats, Floats], Floats]


@attrs.frozen(kw_only=True)
class Curves:
    """Draws of the curve at some sizes."""

    p: Floats
    n: Floats
    logs: Floats  #: of seconds, shape (draws, points)
    seen: Floats  #: the same as sizes show them that are measured as often as the others
    smooth: Floats  #: the same without the scatter of single sizes
    parts: Floats  #: of each kind of part in the time, shape (draws, points, kinds)
    kinds: tuple[str, ...]  #: what binds where a kind is the largest
    naming: Floats  #: the weight of each draw where what binds is named
    first: Floats  #: logarithm of the rate per process at the smallest measured size, by draw


def curves(
    observed: Observed,
    p: Floats,
    n: Floats,
    *,
    prior: Prior | None = None,
    seed: int = SEED,
    bound: Bound | None = None,
    particles: int | None = None,
) -> tuple[Curves, Posterior]:
    """Return draws of the curve, and the explanations that they are of."""
    prior = prior or Prior()
    rng = np.random.default_rng(seed)
    posterior = infer(observed, prior, rng, particles)
    if bound is not None:
        posterior = _within(posterior, observed, bound, rng)
    seconds = posterior.parts(p, n)
    drift = posterior.drift(p, n, rng)
    scatter = posterior.scatter()[:, None] * rng.standard_normal(drift.shape)
    noise = np.sqrt(np.median(observed.variance)) * rng.standard_normal(drift.shape)
    smooth = np.log(np.maximum(seconds.sum(axis=-1), 1e-300)) + drift
    smooth = _lighter(smooth, np.log2(p / observed.p.max()), prior.tails)
    low = np.log(np.maximum(bound(p, n), 1e-300))[None] if bound is not None else -np.inf
    at, size = observed.p[:1], observed.n[:1]
    start = np.log(posterior.parts(at, size).sum(axis=-1))[:, 0]
    kinds = binding(prior.terms)
    by_kind = np.stack([seconds[..., list(terms)].sum(axis=-1) for terms in kinds.values()], -1)
    drawn = Curves(
        p=p,
        n=n,
        logs=np.maximum(smooth + scatter, low),
        seen=np.maximum(smooth + scatter + noise, low),
        smooth=np.maximum(smooth, low),
        parts=by_kind,
        kinds=tuple(kinds),
        naming=prior.impartial(posterior.particles.has),
        first=np.log(size / at) - start,
    )
    return drawn, posterior


def _lighter(logs: Floats, doublings: Floats, tails: float) -> Floats:
    """Return draws with lighter tails where they are far from what is measured.

    The middle half stays. What lies beyond it keeps a part of how far it does: all of it at twice
    the largest measured p, and ``tails`` of it at four times and beyond.
    """
    low, high = np.quantile(logs, [0.25, 0.75], axis=0)
    middle = np.clip(logs, low, high)
    part = 1 - (1 - tails) * np.clip(doublings - 1, 0, 1)
    drawn: Floats = middle + part * (logs - middle)
    return drawn


def _within(
    posterior: Posterior, observed: Observed, bound: Bound, rng: np.random.Generator
) -> Posterior:
    """Return only explanations that are nowhere faster than the machine, as far as measured."""
    seconds = posterior.parts(observed.p, observed.n).sum(axis=-1)
    slow = (seconds >= 0.9 * bound(observed.p, observed.n)[None]).all(axis=1)
    rows = np.flatnonzero(slow)
    if len(rows) == 0:
        return posterior
    return posterior.take(rng.choice(rows, len(slow)))
