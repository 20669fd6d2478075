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


@attrs.frozen(kw_only=True)
class NeededWork:
    """The work at a p that keeps the efficiency; None where none that is tried does."""

    p: float
    n: float | None  #: the median
    low90: float | None
    high90: float | None


def isoefficiency(
    runs: Sequence[Run], p: Sequence[float], target: float, *, seed: int
) -> tuple[NeededWork, ...]:
    """Return the work that keeps an efficiency at each p.

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
    at, size = observed.p[:1], observed.n[:1]
    first = size / at / posterior.parts(at, size).sum(axis=-1)
    last_p, last_n = observed.reference
    answers = []
    for each in p:
        work = last_n / last_p * each * _TRIED
        rate = work / each / posterior.parts(np.full_like(work, each), work).sum(axis=-1)
        enough = rate / first >= target
        needed = np.where(enough.any(axis=1), work[enough.argmax(axis=1)], np.inf)
        low, middle, high = (_level(needed, level) for level in (0.05, 0.5, 0.95))
        answers.append(NeededWork(p=float(each), n=middle, low90=low, high90=high))
    return tuple(answers)


def _level(needed: Floats, level: float) -> float | None:
    value = float(np.sort(needed)[int(level * (len(needed) - 1))])
    return value if np.isfinite(value) else None
