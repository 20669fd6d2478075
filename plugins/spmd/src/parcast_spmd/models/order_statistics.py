"""Order statistics: the mean of the largest of several independent times, for any law."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from parcast.quantities import Distribution
from parcast_spmd.mva.mva_kernels import Floats


@functools.lru_cache(maxsize=4096)
def mean_maximum(law: Distribution, count: int) -> float:
    """Return E[max] of ``count`` independent values: mean times h(c) of section 3.5.

    Closed for constants, uniform, exponential and sampled values. Otherwise the integral of
    1 - F(t)^count by quadrature in log t, to about 12 digits.

    Parameters
    ----------
    law
        Any distribution of the core, of values of 0 or more.
    count
        How many, at least 1.
    """
    parameters = law.parameters
    if count == 1 or law.variance == 0:
        return law.mean
    if law.law == "exp":
        return parameters[0] * harmonic(count)
    if law.law == "uniform":
        return parameters[0] + (parameters[1] - parameters[0]) * count / (count + 1)
    if law.law == "sampled":
        return _of_samples(sorted(parameters), count)
    return law.mean * _integral(law.scaled(1 / law.mean), count)


def harmonic(count: int, after: float = 0.0) -> float:
    """Return 1/(1 + a) + ... + 1/(n + a) with a = ``after``, 0 or more.

    Where a = 0 it is H_n, the mean maximum of n exponentials (equation 5). Terms below 100 are
    summed from the smallest, those beyond by Euler and Maclaurin.
    """
    few = min(count, max(0, 100 - int(min(after, 100.0))))
    near = sum(1.0 / (i + after) for i in range(few, 0, -1))
    if few == count:
        return near
    low, high = few + after, count + after
    return near + math.log1p((count - few) / low) + _harmonic_rest(high) - _harmonic_rest(low)


def _harmonic_rest(x: float) -> float:
    s = 1.0 / (x * x)
    return 0.5 / x - s * (1 / 12 - s * (1 / 120 - s / 252))


def highest_mean(mean: float, variance: float, count: int) -> float:
    """Return what E[max] of ``count`` independent values never exceeds, whatever their law.

    Hartley and David 1954: mean + deviation (n - 1) / sqrt(2 n - 1).
    """
    return mean + math.sqrt(variance) * (count - 1) / math.sqrt(2 * count - 1)


def _of_samples(ascending: list[float], count: int) -> float:
    """Return the mean maximum of draws with replacement; the i-th is it with a known chance."""
    size = len(ascending)
    return math.fsum(
        value * ((i / size) ** count - ((i - 1) / size) ** count)
        for i, value in enumerate(ascending, 1)
    )


def _integral(law: Distribution, count: int) -> float:
    """Return the integral of P(max > t), for a law of mean 1."""
    import numpy as np
    from scipy.integrate import quad

    survival = _SURVIVAL[law.law]

    def beyond(s: Any) -> Any:
        """Return P(max > e^s)."""
        with np.errstate(divide="ignore", under="ignore"):
            return -np.expm1(count * np.log1p(-survival(np.exp(s), *law.parameters)))

    grid = np.linspace(-80.0, 80.0, 3201)
    tail = beyond(grid)
    low = max(0, int(np.argmax(tail < 1)) - 1)
    weight = tail * np.exp(grid)
    high = int(np.flatnonzero(weight > 1e-18 * weight.max())[-1]) + 1
    pieces = np.linspace(grid[low], grid[min(high, grid.size - 1)], 17)
    total = math.exp(grid[low])
    for start, end in itertools.pairwise(pieces.tolist()):
        total += quad(lambda s: beyond(s) * math.exp(s), start, end, epsabs=0, epsrel=1e-12)[0]
    return total


def _of_gamma(times: Floats, shape: float, mean: float) -> Floats:
    from scipy.special import gammaincc

    survival: Floats = gammaincc(shape, times * shape / mean)
    return survival


def _of_lognormal(times: Floats, mean: float, std: float) -> Floats:
    import numpy as np
    from scipy.special import erfc

    spread = math.log1p((std / mean) ** 2)
    centered = np.log(times / mean) + spread / 2
    survival: Floats = 0.5 * erfc(centered / math.sqrt(2 * spread))
    return survival


def _of_weibull(times: Floats, shape: float, scale: float) -> Floats:
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        survival: Floats = np.exp(-((times / scale) ** shape))
    return survival


#: P(T > t) by law.
_SURVIVAL: Mapping[str, Callable[..., Floats]] = {
    "erlang": _of_gamma,
    "gamma": _of_gamma,
    "lognormal": _of_lognormal,
    "weibull": _of_weibull,
}
