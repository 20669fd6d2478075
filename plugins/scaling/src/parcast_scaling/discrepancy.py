"""How far the truth may lie off any sum of terms: scatter of single sizes, and drift with distance.

Both are Gaussian in the logarithm of the time. Scatter is independent at each size. Drift is
fractional Brownian motion over the doublings of p and of n: the farther two sizes are apart, the
more a code may differ from its sum of terms. How large both are is inferred: sizes that follow a
sum of terms over many doublings speak for little drift beyond them.
"""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_scaling.mechanisms import Floats
from parcast_scaling.particles import courses, row_sums
from parcast_scaling.prior import Prior

Integers = NDArray[np.int64]

#: So many sizes are few enough for a matrix of each particle.
_FEW = 24

#: Eigenvalues below this part of the largest are of rounding.
_ROUNDING = 1e-12


@attrs.frozen(kw_only=True)
class Observed:
    """Measured sizes, a row for each: the mean logarithm of its times, and how sure that is."""

    p: Floats
    n: Floats
    logs: Floats  #: of seconds, a mean of the repeats
    variance: Floats  #: of these, by the repeats
    noise: float  #: standard deviation of one run's logarithm

    @property
    def reference(self) -> tuple[float, float]:
        """The largest p and its n, where shares are stated."""
        last = int(np.lexsort((self.n, self.p))[-1])
        return float(self.p[last]), float(self.n[last])


@attrs.frozen(kw_only=True)
class Discrepancy:
    """Covariances of what is measured, for each scatter and drift that a particle may have."""

    observed: Observed
    prior: Prior

    @cached_property
    def deviations(self) -> Floats:
        """Standard deviations of scatter and drift, shape (levels^2, 2)."""
        scatter, drift = self.prior.deviations(self.observed.noise)
        return np.stack([axis.ravel() for axis in np.meshgrid(scatter, drift, indexing="ij")], 1)

    @cached_property
    def course(self) -> tuple[Floats, Floats]:
        """Each term over its value at the reference, and how far each size is from it."""
        observed = self.observed
        course = courses(self.prior.terms, observed.p, observed.n, observed.reference)
        return course, np.log(observed.p / observed.reference[0])

    @cached_property
    def _covariance(self) -> Floats:
        kernel = self._kernel(self._places(self.observed.p, self.observed.n))
        scatter, drift = (self.deviations[:, axis, None, None] for axis in (0, 1))
        variances = np.diag(self.observed.variance)[None]
        covariance: Floats = scatter**2 * np.eye(len(kernel)) + drift**2 * kernel + variances
        return covariance

    @cached_property
    def inverse(self) -> Floats:
        """Inverses of the covariances, shape (levels^2, sizes, sizes)."""
        return np.asarray(np.linalg.inv(self._covariance), dtype=np.float64)

    @cached_property
    def _constants(self) -> tuple[Floats, Floats]:
        """The precision of the mean of all sizes, and the logarithm of what normalizes."""
        total = self.inverse.sum(axis=(1, 2))
        _, logs = np.linalg.slogdet(self._covariance)
        return total, -0.5 * (logs + np.log(total))

    def likelihood(self, residuals: Floats, level: Integers) -> Floats:
        """Return logarithms, a common scale integrated out under a flat prior of its logarithm."""
        weighted = self._weighted(residuals, level)
        total, constant = (values[level] for values in self._constants)
        squares = row_sums(weighted * residuals) - row_sums(weighted) ** 2 / total
        logs: Floats = constant - 0.5 * squares
        return logs

    def scale(self, residuals: Floats, level: Integers, rng: np.random.Generator) -> Floats:
        """Return a draw of the common scale of each particle."""
        weighted = self._weighted(residuals, level)
        total = self._constants[0][level]
        drawn: Floats = weighted.sum(axis=1) / total
        drawn += rng.standard_normal(len(drawn)) / np.sqrt(total)
        return drawn

    def _weighted(self, residuals: Floats, level: Integers) -> Floats:
        """Return residuals times the inverse of their particle's covariance."""
        weighted: Floats
        if len(self.observed.p) <= _FEW:
            weighted = np.einsum("mij,mj->mi", self.inverse[level], residuals)
            return weighted
        weighted = np.empty_like(residuals)
        for index in np.unique(level):  # no copy of a large matrix for each particle
            rows = level == index
            weighted[rows] = residuals[rows] @ self.inverse[index]
        return weighted

    def drift(
        self, residuals: Floats, level: Integers, p: Floats, n: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return draws of the drift at other sizes, shape (particles, points).

        Parameters
        ----------
        residuals
            What is measured less the sum of terms, shape (particles, sizes).
        level
            Of the deviations, a particle each.
        """
        places = np.concatenate([self._places(self.observed.p, self.observed.n),
                                 self._places(p, n)])  # fmt: skip
        count = len(self.observed.p)
        kernel = self._kernel(places)
        across, among = kernel[count:, :count], kernel[count:, count:]
        variance = (self.deviations[:, 1] ** 2)[:, None, None]
        gain = variance * np.einsum("qi,lij->lqj", across, self.inverse)
        left = variance * among[None] - np.einsum("lqi,ki->lqk", gain, across) * variance
        roots = _roots(left)
        normal = rng.standard_normal((len(level), len(p)))
        drawn = np.empty((len(level), len(p)))
        for index in np.unique(level):  # few levels, many particles
            rows = level == index
            drawn[rows] = residuals[rows] @ gain[index].T + normal[rows] @ roots[index]
        return drawn

    def _places(self, p: Floats, n: Floats) -> Floats:
        """Return sizes by doublings from the smallest."""
        first = int(np.lexsort((self.observed.n, self.observed.p))[0])
        return np.stack(
            [np.log2(p / self.observed.p[first]), np.log2(n / self.observed.n[first])], axis=1
        )

    def _kernel(self, places: Floats) -> Floats:
        return fractional(places, self.prior.roughness)


def _roots(covariances: Floats) -> Floats:
    """Return the symmetric square root of each covariance.

    There is one alone: signs of eigenvectors, and which stand for equal eigenvalues, differ from
    one processor's linear algebra to another's. Eigenvalues of rounding count as 0, as their roots
    would be a thousand times larger than rounding is.
    """
    values, vectors = np.linalg.eigh(covariances)
    values = np.where(values > _ROUNDING * values[:, -1:], values, 0.0)
    roots: Floats = vectors * np.sqrt(values)[:, None, :] @ vectors.swapaxes(1, 2)
    return roots


def fractional(places: Floats, roughness: float) -> Floats:
    """Return the covariance of fractional Brownian motion that starts at 0.

    ``places`` are by doublings, shape (points, axes).
    """
    start = np.linalg.norm(places, axis=1) ** (2 * roughness)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1) ** (2 * roughness)
    kernel: Floats = 0.5 * (start[:, None] + start[None] - apart)
    return kernel
