"""Replications: how often to repeat a random run, and what the repetitions say."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import ParcastError, SolveError


@attrs.frozen
class Estimate:
    """The mean of a random number and how sure it is."""

    mean: float
    std: float  #: of one replication
    ci: tuple[float, float]  #: holds the true mean with probability ``confidence``
    count: int
    confidence: float = 0.95
    converged: bool = True  #: the interval is as narrow as it was asked to be

    @classmethod
    def of(cls, values: ArrayLike, confidence: float = 0.95) -> Estimate:
        """Return the estimate from independent values, its interval by Student's t.

        Raises
        ------
        ParcastError
            If there are fewer than two values, or the confidence is not between 0 and 1.
        """
        sample = np.asarray(values, dtype=float)
        if len(sample) < 2:
            raise ParcastError(f"{len(sample)} replications give no interval; take 2 or more")
        beyond = sample - sample[0]  # equal values then have a deviation of exactly 0
        mean, std = float(sample[0] + beyond.mean()), float(beyond.std(ddof=1))
        half = student_t(confidence, len(sample) - 1) * std / math.sqrt(len(sample))
        return cls(mean, std, (mean - half, mean + half), len(sample), confidence)


@attrs.frozen(eq=False)
class Replications:
    """The values of replications 0, 1, 2, … and the estimate of their mean."""

    values: NDArray[np.float64]
    estimate: Estimate

    def quantiles(self, *levels: float) -> dict[float, float]:
        """Return the quantile of the values at each level, as a prediction takes them."""
        return {level: float(np.quantile(self.values, level)) for level in levels}


def replicate(
    sample: Callable[[Sequence[int]], ArrayLike],
    *,
    tolerance: float = 0.01,
    confidence: float = 0.95,
    least: int = 10,
    most: int = 10_000,
) -> Replications:
    """Return replications, so many that the half width is at most ``tolerance`` of the mean.

    The width is looked at after ``least`` replications and whenever there are half as many
    again, as looking after each one would stop too early too often.

    Parameters
    ----------
    sample
        Gives a value for each replication number it is given. Drawing from
        ``generator(seed, number)`` gives every design the same random numbers.
    tolerance
        Half width of the interval over the absolute mean.
    confidence
        Of the interval, between 0 and 1.
    least, most
        How many replications there may be; with ``most`` the estimate may not be converged.

    Raises
    ------
    SolveError
        If ``sample`` does not give one finite number for each replication.
    ParcastError
        If the tolerance, the confidence, ``least`` or ``most`` cannot be kept.
    """
    if not 2 <= least <= most:
        raise ParcastError(f"least={least}, most={most}: take 2 <= least <= most replications")
    if not tolerance >= 0:
        raise ParcastError(f"tolerance={tolerance} must be 0 or more")
    values, count = np.empty(0), least
    while True:
        values = np.append(values, _drawn(sample, range(len(values), count)))
        estimate = Estimate.of(values, confidence)
        half = (estimate.ci[1] - estimate.ci[0]) / 2
        converged = half <= tolerance * abs(estimate.mean)
        if converged or count == most:
            return Replications(values, attrs.evolve(estimate, converged=converged))
        count = min(most, count + count // 2)


def paired(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Estimate:
    """Return the estimate of how much more ``first`` takes than ``second``.

    Both are the values of replications 0, 1, 2, …; those that only one has are left out. With
    the same random numbers in both designs the interval is narrower than of two separate runs.
    """
    ours, theirs = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    common = min(len(ours), len(theirs))
    return Estimate.of(ours[:common] - theirs[:common], confidence)


def generator(seed: int, replication: int, *stream: int | str) -> np.random.Generator:
    """Return the random numbers of one replication, or of one stream within it.

    They depend on the arguments alone, and differ wherever any argument does.
    """
    names = [name if isinstance(name, str) else int(name) for name in (seed, replication, *stream)]
    digest = hashlib.sha256(json.dumps(names).encode()).digest()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest))))


def student_t(confidence: float, freedom: int) -> float:
    """Return the t that Student's variable stays within, -t .. t, with this probability.

    Within 1e-9 of the exact value up to a confidence of 0.999. Beyond 400 degrees of freedom
    by Abramowitz & Stegun 26.7.5.

    Raises
    ------
    ParcastError
        If the confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ParcastError(f"confidence={confidence} must be between 0 and 1")
    if freedom > 400:
        return _expanded(NormalDist().inv_cdf((1 + confidence) / 2), freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if _probability(middle, freedom) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan(low)


def _probability(angle: float, freedom: int) -> float:
    """Return P(|T| <= sqrt(freedom) tan(angle)), Abramowitz & Stegun 26.7.3 and 26.7.4."""
    odd, cosine = freedom % 2, math.cos(angle)
    term, total = cosine if odd else 1.0, 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= cosine**2 * (k - 1) / k
    total *= math.sin(angle)
    return (angle + total) * 2 / math.pi if odd else total


def _expanded(x: float, freedom: int) -> float:
    return (
        x
        + (x**3 + x) / (4 * freedom)
        + (5 * x**5 + 16 * x**3 + 3 * x) / (96 * freedom**2)
        + (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / (384 * freedom**3)
        + (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / (92160 * freedom**4)
    )


def _drawn(sample: Callable[[Sequence[int]], ArrayLike], numbers: range) -> NDArray[np.float64]:
    sampled = sample(numbers)
    try:
        values = np.asarray(sampled, dtype=float)
    except (TypeError, ValueError):
        raise SolveError(f"replications must give numbers, not {type(sampled).__name__}") from None
    if values.shape != (len(numbers),):
        raise SolveError(f"{len(numbers)} replications gave values of shape {values.shape}")
    if len(wrong := np.flatnonzero(~np.isfinite(values))):
        number = numbers[int(wrong[0])]
        raise SolveError(f"replication {number} gave {values[wrong[0]]}; it must be finite")
    return values
