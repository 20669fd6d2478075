"""Draws of the curve of time over p, from what is inferred of a code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

    def at(self, which: slice) -> Curves:
        """Return the same at some of the sizes."""
        return attrs.evolve(
            self,
            p=self.p[which],
            n=self.n[which],
            logs=self.logs[:, which],
            seen=self.seen[:, which],
            smooth=self.smooth[:, which],
            parts=self.parts[:, which],
        )


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
    rng = np.random.default_rng(seed)
    posterior = infer(observed, prior or Prior(), rng, particles)
    if bound is not None:
        posterior = _within(posterior, observed, bound, rng)
    return draw(posterior, p, n, rng, bound), posterior


def draw(
    posterior: Posterior,
    p: Floats,
    n: Floats,
    rng: np.random.Generator,
    bound: Bound | None = None,
    *,
    curve_only: bool = False,
) -> Curves:
    """Return a draw of the curve from each explanation.

    With ``curve_only`` tails are not drawn in, and there are no sudden rises.
    """
    observed, prior = posterior.discrepancy.observed, posterior.discrepancy.prior
    seconds = posterior.parts(p, n)
    drift, scatter = posterior.deviations(p, n, rng)
    noise = np.sqrt(np.median(observed.variance)) * rng.standard_normal(drift.shape)
    smooth = np.log(np.maximum(seconds.sum(axis=-1), 1e-300)) + drift
    if not curve_only:
        smooth = _lighter(smooth, lighter_part(prior, p, observed.p.max()))
        smooth = smooth + posterior.rises(p, rng)
    low = np.log(np.maximum(bound(p, n), 1e-300))[None] if bound is not None else -np.inf
    at, size = observed.p[:1], observed.n[:1]
    start = np.log(posterior.parts(at, size).sum(axis=-1))[:, 0]
    kinds = binding(prior.terms)
    by_kind = np.stack([seconds[..., list(terms)].sum(axis=-1) for terms in kinds.values()], -1)
    return Curves(
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


def lighter_part(prior: Prior, p: Any, largest: float) -> Any:
    """Return which part of the tails is left at p: all of it up to twice the largest measured p."""
    return 1 - (1 - prior.tails) * np.clip(np.log2(p / largest) - 1, 0, 1)


def _lighter(logs: Floats, part: Floats) -> Floats:
    """Return draws of whose outer quarters a part is left, beyond the middle half."""
    low, high = np.quantile(logs, [0.25, 0.75], axis=0)
    middle = np.clip(logs, low, high)
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
