"""How much work keeps an efficiency as p grows: isoefficiency (Grama, Gupta & Kumar 1993)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from parcast_scaling.evidence import infer
from parcast_scaling.mechanisms import Floats
from parcast_scaling.prior import Prior
from parcast_scaling.times import Run, observe

#: Work that is tried, relative to that of a process at the largest size: by eighths of a doubling.
_TRIED = 2.0 ** np.arange(-6, 6.01, 0.125)

#: Points of the surface along each axis.
_STEPS = 16


@attrs.frozen(kw_only=True)
class NeededWork:
    """The work at a p that keeps the efficiency; None where none that is tried does."""

    p: float
    n: float | None  #: the median
    low90: float | None
    high90: float | None


@attrs.frozen(kw_only=True)
class Surface:
    """Medians over p and n, shape (n, p); drift beyond what is measured is left out."""

    p: Floats
    n: Floats
    seconds: Floats
    efficiency: Floats  #: over that at the smallest measured p and its least work


@attrs.frozen(kw_only=True)
class WorkAndSize:
    """What follows where runs differ in their work n as well as in p."""

    needed: tuple[NeededWork, ...]
    surface: Surface


def isoefficiency(
    runs: Sequence[Run], p: Sequence[float], target: float, *, seed: int
) -> WorkAndSize:
    """Return the work that keeps an efficiency at each p, and the surface over p and n.

    The efficiency is of the work per process and second, over that at the smallest measured p and
    its least work. Drift beyond what is measured is left out: it has no known dependence on work.

    Parameters
    ----------
    runs
        Measured, with different work.
    p
        Sizes, 1 or more.
    target
        The efficiency.
    """
    observed = observe(runs)
    posterior = infer(observed, Prior(), np.random.default_rng(seed))
    least_p, least_n = observed.p[:1], observed.n[:1]
    first = least_n / least_p / posterior.parts(least_p, least_n).sum(axis=-1)

    def seconds(sizes: Floats, work: Floats) -> Floats:
        drawn: Floats = posterior.parts(sizes, work).sum(axis=-1)
        return drawn

    last_p, last_n = observed.reference
    answers = []
    for size in p:
        work = last_n / last_p * size * _TRIED
        enough = work / size / seconds(np.full_like(work, size), work) / first >= target
        needed = np.where(enough.any(axis=1), work[enough.argmax(axis=1)], np.inf)
        low, middle, high = (_level(needed, level) for level in (0.05, 0.5, 0.95))
        answers.append(NeededWork(p=float(size), n=middle, low90=low, high90=high))
    sizes = np.geomspace(observed.p.min(), max(*p, last_p), _STEPS)
    works = np.geomspace(observed.n.min() / 2, 2 * max(observed.n.max(), last_n), _STEPS)
    columns = [seconds(np.full_like(works, size), works) for size in sizes]
    rates = [works / size / drawn / first for size, drawn in zip(sizes, columns, strict=True)]
    surface = Surface(
        p=sizes,
        n=works,
        seconds=np.median(columns, axis=1).T,
        efficiency=np.median(rates, axis=1).T,
    )
    return WorkAndSize(needed=tuple(answers), surface=surface)


def _level(needed: Floats, level: float) -> float | None:
    value = float(np.sort(needed)[int(level * (len(needed) - 1))])
    return value if np.isfinite(value) else None
