"""Sudden rises: a network that is full from the next size on, or another algorithm there.

Nothing measured tells of one. So how often they come and how large they are is counted on public
series, at twice the largest size that calibrates. A rise multiplies what the processes do together;
what each computes alone goes on as before: so a code that communicates little hardly feels it.
"""

from __future__ import annotations

import attrs
import numpy as np

from parcast_scaling.mechanisms import Floats


@attrs.frozen
class Counted:
    """Public times at twice the largest size that calibrates, of the same kind."""

    what: str
    families: int  #: of one code or operation on one system
    times: int
    twofold: int  #: how many take more than twice the median that is predicted
    threefold: int
    mean: float  #: the share of those more than twofold, each family counted the same


#: Counted by ``experiments/scaling/rises.py`` on the half of the families that the prior is chosen
#: on. The sources: a study of clouds and the trainings in ``series.py``, outputs of codes named
#: there, and the collectives and codes in ``collectives.py``.
COLLECTIVES = Counted("collectives", 16, times=235, twofold=13, threefold=7, mean=0.092)
APPLICATIONS = Counted("applications", 35, times=173, twofold=2, threefold=0, mean=0.019)


@attrs.frozen(kw_only=True)
class Rises:
    """How often rises come, and how large they are: what :data:`COLLECTIVES` shows.

    They come as often as that to what processes only do together, and the more seldom the more each
    computes alone, as :data:`APPLICATIONS` shows.
    """

    chance: float = 0.115  #: of one in a doubling, before any doubling is measured
    least: float = 2.0  #: how many times longer at least
    exponent: float = 2.0  #: Pareto's: more than x times in (least / x)^exponent of the rises

    def draw(
        self, exposed: Floats, measured: float, beyond: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return draws of the logarithm of how many times longer, shape (draws, points).

        A draw has one rise at most. Their rate is proportional to what they reach. It has an
        exponential prior, so that the more doublings have shown none, the fewer are to come.

        Parameters
        ----------
        exposed
            The part of the time that a rise reaches, of each draw.
        measured
            Doublings of p from the smallest measured size to the largest.
        beyond
            Doublings of p from there to each point; 0 or less where no rise can be.
        """
        count = len(exposed)
        rate = np.maximum(exposed, 1e-9) / (1 / self.chance + measured)
        place = -np.log(_spread(count, rng)) / rate
        factor = self.least * _spread(count, rng) ** (-1 / self.exponent)
        size = np.log1p(exposed * (factor - 1))
        drawn: Floats = np.where(place[:, None] < beyond[None], size[:, None], 0.0)
        return drawn


def _spread(count: int, rng: np.random.Generator) -> Floats:
    """Return draws from 0 to 1, one in each of so many equal parts, in any order."""
    drawn: Floats = (rng.permutation(count) + rng.uniform(1e-9, 1, count)) / count
    return drawn
