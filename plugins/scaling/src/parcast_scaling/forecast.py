"""The curve of time over p as a distribution: bands, where it bends, what binds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_scaling.curves import SEED, Bound, Curves, curves
from parcast_scaling.evidence import Posterior
from parcast_scaling.faster import faster_than_p
from parcast_scaling.mechanisms import WORK, Floats
from parcast_scaling.prior import Prior
from parcast_scaling.rise_texts import rise_sentence
from parcast_scaling.rises import Rises
from parcast_scaling.scope import Scope
from parcast_scaling.times import Run, as_runs, check, doubtful_copies, doubtful_steps, observe

#: The ends of bands, and the quantiles that they are.
_ENDS = ("low99", "low90", "low50", "median", "high50", "high90", "high99")
_LEVELS = (0.005, 0.05, 0.25, 0.5, 0.75, 0.95, 0.995)

#: A doubling of p that makes the rate less than this many times higher is past the knee.
_WORTH = 0.5  #: as a power of 2: sqrt(2)


@attrs.frozen(kw_only=True)
class Band:
    """What the time of a size may be."""

    p: float
    n: float
    median: float  #: seconds
    low50: float
    high50: float
    low90: float
    high90: float
    low99: float
    high99: float
    efficiency: float  #: the median; of the rate per process at the smallest measured size
    below: float  #: the probability that the efficiency is under the target
    binds: str  #: what takes the largest part of the time
    binds_chance: float  #: the probability of that

    def holds(self, run: Run) -> bool:
        """Tell whether a run is of this size."""
        return run.p == self.p and math.isclose(run.n, self.n, rel_tol=1e-9)


@attrs.frozen(kw_only=True)
class Knee:
    """Where another doubling makes a code less than 1.41 times as fast."""

    median: float | None  #: of the draws that have one as far as asked; None where none has
    low90: float | None  #: of all draws; None where beyond what is asked
    high90: float | None
    chance: float  #: the probability that it is no farther than asked
    binds: str  #: what takes the largest part there besides the divided work
    binds_chance: float


@attrs.frozen(kw_only=True)
class Forecast:
    """The answer to measured times."""

    where: str
    runs: tuple[Run, ...]
    target: float  #: of the efficiency
    bands: tuple[Band, ...]
    knee: Knee
    noise: float  #: relative standard deviation of one run
    misfit: float  #: of sizes about any sum of terms, the median
    scope: Scope = Scope()  #: beside the times
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"schema": 1, "source": self.where, **attrs.asdict(self)}


def predict(
    points: Iterable[Any], query: Iterable[Any], *, seed: int = SEED, scope: Scope | None = None
) -> tuple[Band, ...]:
    """Return the band of each size that is asked.

    Parameters
    ----------
    points
        Measured runs: ``Run`` values, or tuples ``(p, seconds)`` or ``(p, seconds, n)`` with the
        work n where it differs. Repeated sizes are repeated runs; two distinct sizes are needed.
    query
        Sizes: p, or tuples ``(p, n)``.
    seed
        The same seed gives the same bands.
    scope
        Whose network the runs have, and whether they are of communication alone.

    Raises
    ------
    FileError
        If a value is no number above 0, or there are fewer than two sizes.
    """
    runs = as_runs(points)
    check(runs, "points", needed=2)
    sizes = [item if isinstance(item, Sequence) else (item, 1.0) for item in query]
    p, n = (np.array([float(item[axis]) for item in sizes]) for axis in (0, 1))
    prior = Prior(rises=Rises(scope=scope or Scope()))
    drawn, _ = curves(observe(runs), p, n, prior=prior, seed=seed)
    return bands(drawn, 0.5)


def forecast(
    runs: Sequence[Run],
    p: Sequence[float],
    *,
    work: Callable[[Floats], Floats] = np.ones_like,
    target: float = 0.5,
    where: str = "the times given",
    seed: int = SEED,
    bound: Bound | None = None,
    prior: Prior | None = None,
) -> Forecast:
    """Return bands at ``p``, the knee up to the largest of them, and what binds.

    Parameters
    ----------
    runs
        Measured runs of three distinct sizes at least.
    p
        Sizes to predict.
    work
        The work at sizes that are predicted: 1 in strong scaling, p in weak.
    target
        The efficiency whose probability is asked.
    bound
        Seconds that the machine needs at least, of p and work.
    prior
        What is known before; that of codes in general where it is not stated.

    Raises
    ------
    FileError
        If there are too few sizes, or units are mixed up.
    """
    check(runs, where)
    observed = observe(runs)
    sizes = np.array(sorted(set(map(float, p))))
    grid = _grid(min(sizes.min(), observed.p.min()), max(sizes.max(), observed.p.max()))
    together = np.concatenate([sizes, grid])
    drawn, posterior = curves(
        observed, together, work(together), prior=prior, seed=seed, bound=bound
    )
    curve = drawn.at(slice(0, len(sizes)))
    misfit = float(np.median(posterior.scatter()))
    return Forecast(
        where=where,
        runs=tuple(runs),
        target=target,
        bands=bands(curve, target),
        knee=knee(drawn.at(slice(len(sizes), None))),
        noise=observed.noise,
        misfit=misfit,
        scope=posterior.discrepancy.prior.rises.scope,
        remarks=(
            *doubtful_steps(runs),
            *doubtful_copies(runs, where),
            *_remarks(posterior, misfit, curve),
            *faster_than_p(runs, observed.noise),
        ),
    )


def _grid(low: float, high: float) -> Floats:
    """Return sizes by half doublings."""
    steps = max(2, math.ceil(2 * math.log2(high / low)) + 1)
    return np.geomspace(low, high, steps)


def bands(drawn: Curves, target: float) -> tuple[Band, ...]:
    """Return the bands of draws, for a target of the efficiency."""
    levels = np.exp(np.quantile(drawn.seen, _LEVELS, axis=0))
    rate = np.log(drawn.n / drawn.p)[None] - drawn.logs
    efficiency = np.exp(rate - drawn.first[:, None])
    words = drawn.kinds
    winners = drawn.parts.argmax(axis=-1)
    answers = []
    for index in range(len(drawn.p)):
        counts = np.bincount(winners[:, index], drawn.naming, len(words))
        answers.append(
            Band(
                p=float(drawn.p[index]),
                n=float(drawn.n[index]),
                **dict(zip(_ENDS, map(float, levels[:, index]), strict=True)),
                efficiency=float(np.median(efficiency[:, index])),
                below=float((efficiency[:, index] < target).mean()),
                binds=words[int(counts.argmax())],
                binds_chance=float(counts.max() / counts.sum()),
            )
        )
    return tuple(answers)


def knee(drawn: Curves) -> Knee:
    """Return where the slope of the rate falls under a half, of draws on a grid of rising p.

    Its median is of the draws that have a knee on the grid: with those beyond, it would lie beyond
    as well where they are half, and too far out where they are fewer.
    """
    positions = knee_positions(drawn.p, drawn.smooth, drawn.n)
    bends = np.isfinite(positions)
    low, high = (_level(positions, level) for level in (0.05, 0.95))
    place = np.searchsorted(np.log2(drawn.p), positions).clip(1, len(drawn.p) - 1) - 1
    binds, chance = _binds(drawn, place)
    return Knee(
        low90=low,
        median=_level(positions[bends], 0.5) if bends.any() else None,
        high90=high,
        chance=float(bends.mean()),
        binds=binds,
        binds_chance=chance,
    )


def knee_positions(p: Floats, logs: Floats, n: Floats | float = 1.0) -> Floats:
    """Return the logarithm to the base 2 of each draw's knee, infinite where it is beyond.

    ``logs`` are of seconds at rising ``p`` and work ``n``, shape (draws, points).
    """
    x = np.log2(p)
    rate = np.log2(n) - logs / math.log(2)
    slopes = np.diff(rate, axis=1) / np.diff(x)[None]
    middles = (x[1:] + x[:-1]) / 2
    bent = slopes < _WORTH
    place = bent.argmax(axis=1)
    before = np.maximum(place - 1, 0)
    rows = np.arange(len(place))
    rise = slopes[rows, before] - slopes[rows, place]
    part = (slopes[rows, before] - _WORTH) / np.where(rise > 0, rise, 1.0)
    inner = (place > 0) & (rise > 0)
    at = middles[place]
    at = np.where(inner, middles[before] + np.clip(part, 0, 1) * (at - middles[before]), at)
    return np.where(bent.any(axis=1), at, np.inf)


def _level(positions: Floats, level: float) -> float | None:
    value = float(np.sort(positions)[int(level * (len(positions) - 1))])
    return 2**value if math.isfinite(value) else None


def _binds(drawn: Curves, place: NDArray[np.int64]) -> tuple[str, float]:
    """Return what takes most besides the divided work at each draw's knee."""
    words = drawn.kinds
    parts = drawn.parts[np.arange(len(place)), place].copy()
    parts[:, words.index(WORK)] = 0
    counts = np.bincount(parts.argmax(axis=1), drawn.naming, len(words))
    total = counts.sum()
    counts[words.index(WORK)] = 0  # of draws that have nothing else
    return words[int(counts.argmax())], float(counts.max() / total)


def _remarks(posterior: Posterior, misfit: float, curve: Curves) -> tuple[str, ...]:
    remarks = []
    largest = float(posterior.discrepancy.observed.p.max())
    far = curve.p > largest
    if far.any():
        nearest = int(np.argmax(far))
        scope = posterior.discrepancy.prior.rises.scope
        exposed = float(np.median(posterior.exposed()))
        remarks.append(rise_sentence(scope, curve.seen[:, nearest], curve.p[nearest], exposed))
        spread = np.diff(np.quantile(curve.seen, [0.05, 0.95], axis=0), axis=0)[0]
        wide = far & (spread > math.log(3))
        if wide.any():
            remarks.append(
                "nothing measured rules out a time that is far from the median at "
                f"p={curve.p[wide.argmax()]:g}: the 90 % band is wider than threefold there"
            )
    if misfit > 0.15:
        remarks.append(
            f"no sum of terms follows the times better than about {100 * misfit:.0f} %: sizes "
            "differ in more than p, or the machine was busy"
        )
    return tuple(remarks)
