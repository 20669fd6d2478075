"""The time of jobs that split into tasks: exact for two alike, else within proven bounds."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from parcast_spmd.mixed.network import MixedNetwork, Split
from parcast_spmd.mixed.stations import Floats

#: Branches whose sets are summed for the maximum of independent times
_MOST_SETS = 12


def cycle_bounds(
    network: MixedNetwork, c: int, of_job: Floats, of_visit: Floats
) -> tuple[float, float]:
    """Return bounds of the time of a job: equal where nothing is split."""
    members = list(network.chains[c].members)
    spent = of_job[:, members].sum(axis=1)
    low = high = 0.0
    for split in network.splits:
        if split.chain == c:
            branches = [math.fsum(spent[list(branch)]) / split.visits for branch in split.branches]
            least, most = _longest(network, split, branches, of_visit[:, members])
            low += split.visits * least
            high += split.visits * most
            for branch in split.branches:
                spent[list(branch)] = 0.0
    rest = math.fsum(spent)
    return rest + low, rest + high


def _longest(
    network: MixedNetwork, split: Split, branches: list[float], of_visit: Floats
) -> tuple[float, float]:
    """Return bounds on the mean of the longest branch.

    Responses at single servers that take exponential times in turn are exponential, and those of
    tasks that arrive together are associated, so that the maximum of independent ones is not
    less (Nelson and Tantawi 1988; Baccelli, Makowski and Shwartz 1989). Else it is their sum. Two
    alike that a Poisson process feeds have (12 - load) / 8 of one's mean (Nelson and Tantawi).
    """
    simple = all(
        len(branch) == 1
        and (center := network.centers[branch[0]]).type == "queue"
        and (center.order, center.servers, center.speeds) == ("turns", 1, ())
        and all(time is None or time.exponential for time in center.service)
        and np.count_nonzero(of_visit[branch[0]]) == 1
        for branch in split.branches
    )
    if not simple or len(branches) > _MOST_SETS:
        return max(branches), math.fsum(branches)
    poisson = all(network.feeds[branch[0]].renewal is None for branch in split.branches)
    if len(branches) == 2 and poisson and math.isclose(*branches, rel_tol=1e-12):
        mean = max(t.mean for t in network.centers[split.branches[0][0]].service if t is not None)
        exact = (12 - (1 - mean / branches[0])) / 8 * branches[0]
        return exact, exact
    most = math.fsum(
        (-1) ** (size + 1) / math.fsum(1 / time for time in chosen)
        for size in range(1, len(branches) + 1)
        for chosen in combinations(branches, size)
    )
    return max(branches), most
