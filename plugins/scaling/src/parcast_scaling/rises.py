"""Sudden rises: a network that is full from the next size on, or another algorithm there.

Nothing measured tells of one. So how often they come and how large they are is counted on public
series, at twice the largest size that calibrates, by what may be known beside the times. A rise
multiplies what the processes do together; what each computes alone goes on as before: so a code
that communicates little hardly feels it.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from parcast_scaling.mechanisms import Floats
from parcast_scaling.scope import Measures, Network, Scope


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
ON_CLOUDS = Counted("collectives on clouds", 9, times=102, twofold=7, threefold=4, mean=0.130)
ON_CLUSTERS = Counted("collectives on clusters", 7, times=133, twofold=6, threefold=3, mean=0.044)
CODES = Counted("codes", 35, times=173, twofold=2, threefold=0, mean=0.019)
#: Of these, those of which half of the time or more is not computed by each process alone.
EXPOSED_CODES = Counted(
    "codes that hardly get faster", 16, times=35, twofold=1, threefold=0, mean=0.013
)

COLLECTIVES = {Network.CLOUD: ON_CLOUDS, Network.CLUSTER: ON_CLUSTERS}

#: Of the time, from where on it is taken for communication.
_HALF = 0.5

#: The families of both count as so many of either, beside its own.
_FAMILIES_OF_BOTH = 2.0


def counted_like(scope: Scope, exposed: float) -> tuple[Counted, ...]:
    """Return the public times that are of the same kind as far as is known.

    Where nobody says whether a code computes, it does so if more than half of its time is not
    ``exposed``: of public collectives in 39 of 40 times it is, of codes in one of five.
    """
    if scope.measures is None:
        measures = Measures.COMMUNICATION if exposed > _HALF else Measures.CODE
    else:
        measures = scope.measures
    if measures == Measures.CODE:
        return (EXPOSED_CODES if exposed > _HALF else CODES,)
    networks = [scope.network] if scope.network else list(Network)
    return tuple(COLLECTIVES[network] for network in networks)


def share_of_rises(network: Network) -> float:
    """Return the share of times more than twofold that a family on a network is expected to have.

    It is the mean of the beta distribution that families leave of the one about the mean of both
    networks. A family counts as one trial, since its series are alike.
    """
    of_both = sum(kind.families * kind.mean for kind in COLLECTIVES.values())
    of_both /= sum(kind.families for kind in COLLECTIVES.values())
    own = COLLECTIVES[network]
    risen = _FAMILIES_OF_BOTH * of_both + own.families * own.mean
    return risen / (_FAMILIES_OF_BOTH + own.families)


@attrs.frozen(kw_only=True)
class Rises:
    """How often rises come, and how large they are.

    They come to what processes only do together as often as :data:`COLLECTIVES` shows, and the more
    seldom the more each computes alone, as :data:`CODES` shows. Where it is known whose network it
    is, they come in each doubling alike: on clusters 2 of 49 times rose after one doubling, and 4
    of 84 after more. Where nobody says it, it is each as likely as families are on it, and the more
    doublings have shown no rise, the less likely the one that rises oftener, and its rate.
    """

    scope: Scope = Scope()
    scale: float = 1.0  #: how many times as often as counted
    least: float = 2.0  #: how many times longer at least
    exponent: float = 2.0  #: Pareto's: more than x times in (least / x)^exponent of the rises

    def rate(self, network: Network, measured: float) -> float:
        """Return the rate per doubling, after so many doublings without a rise.

        Where nobody says whose network it is, its prior is exponential, so that what is counted,
        after one doubling in most cases, is of a higher one.
        """
        share = self.scale * share_of_rises(network)
        if self.scope.network is not None:
            return -math.log1p(-share)
        return share / (1 + share * (measured - 1))

    def likely(self, measured: float) -> dict[Network, float]:
        """Return the probability of each network after so many doublings without a rise."""
        if self.scope.network is not None:
            return {self.scope.network: 1.0}
        weights = {
            network: counted.families * self.rate(network, measured) / self.rate(network, 0)
            for network, counted in COLLECTIVES.items()
        }
        return {network: weight / sum(weights.values()) for network, weight in weights.items()}

    def draw(
        self, exposed: Floats, measured: float, beyond: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return draws of the logarithm of how many times longer, shape (draws, points).

        A draw has one rise at most. Their rate is proportional to what they reach.

        Parameters
        ----------
        exposed
            The part of the time that a rise reaches, of each draw; all where communication alone
            is measured.
        measured
            Doublings of p from the smallest measured size to the largest.
        beyond
            Doublings of p from there to each point; 0 or less where no rise can be.
        """
        count = len(exposed)
        if self.scope.measures == Measures.COMMUNICATION:
            exposed = np.ones(count)
        likely = self.likely(measured)
        edges = np.cumsum(list(likely.values()))
        of_network = np.minimum(np.searchsorted(edges, _spread(count, rng)), len(edges) - 1)
        rates = np.array([self.rate(network, measured) for network in likely])[of_network]
        rate = np.maximum(exposed, 1e-9) * rates
        place = -np.log(_spread(count, rng)) / rate
        factor = self.least * _spread(count, rng) ** (-1 / self.exponent)
        size = np.log1p(exposed * (factor - 1))
        drawn: Floats = np.where(place[:, None] < beyond[None], size[:, None], 0.0)
        return drawn


def _spread(count: int, rng: np.random.Generator) -> Floats:
    """Return draws from 0 to 1, one in each of so many equal parts, in any order."""
    drawn: Floats = (rng.permutation(count) + rng.uniform(1e-9, 1, count)) / count
    return drawn
