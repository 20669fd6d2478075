"""The solution of a problem as a value: best fit, rank, scatter and intervals."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from parcast_fit.identifiability import Rank
from parcast_fit.problem import Problem
from parcast_fit.search import SearchResult


@attrs.frozen
class Interval:
    """Ends in searched coordinates; infinite where the data set no limit before a bound."""

    low: float
    high: float


@attrs.frozen(kw_only=True)
class Solution:
    """Where the search ended, and what is known there."""

    problem: Problem  #: in units that are sensible there
    best: SearchResult
    rank: Rank  #: with the anchor, where there is one
    measured: Rank  #: of the measurements alone
    spare: int  #: measurements beyond what is determined
    scatter: float
    exact: tuple[str, ...]  #: parameters whose derivatives the solver gave
    kind: str
    intervals: Mapping[int, Interval]
