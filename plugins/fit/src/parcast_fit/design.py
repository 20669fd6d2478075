"""What to measure next: what narrows the worst interval, and what breaks a null direction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import attrs
import numpy as np

from parcast.errors import ParcastError
from parcast.model import Query
from parcast_fit.identifiability import Rank
from parcast_fit.model import Model, make_model
from parcast_fit.parameters import Floats
from parcast_fit.problem import Problem

#: A point is told apart from the measured ones where a null direction whose parameters each move
#: the measured by up to a factor e moves it by more than this.
VISIBLE = 1e-3

_PARTS = {
    "compute": "the time in computation",
    "communication": "the time in communication",
    "io": "the time in I/O",
    "synchronization": "the time waiting",
}


@attrs.frozen(kw_only=True)
class Candidate:
    """A point that could be measured, and what its time depends on."""

    p: int
    d: int
    row: Floats  #: derivatives of its logarithm, shape (parameters,)


@attrs.frozen(kw_only=True)
class Next:
    """The point to measure next."""

    p: int
    d: int
    parameter: str  #: the one with the widest interval
    before: float  #: its relative standard error
    after: float  #: with one more measurement there


def candidates(problem: Problem, inner: Floats) -> list[Candidate]:
    """Return the points of a grid around the measured ones that the solver can answer.

    p: what was measured and powers of 2 up to four times the largest; d: what was measured, 1 and
    the machine's own.
    """
    points = []
    for query in _grid(problem.observations.queries):
        try:
            model = make_model(
                problem.registry,
                problem.solver,
                [query],
                problem.parameters,
                problem.settings,
                speedups=problem.speedups,
            )
            row = model.jacobian(inner).matrix[0]
        except ParcastError:  # no such point: too many processes, or no multiple of a group
            continue
        points.append(Candidate(p=query.p, d=query.d, row=row))
    return points


def _grid(queries: Sequence[Query]) -> Iterator[Query]:
    processes = {query.p for query in queries}
    largest = 4 * max(processes)
    processes |= {2**i for i in range(largest.bit_length()) if 2**i <= largest}
    disks = {query.d for query in queries}
    if len(disks) > 1:
        disks |= {1, queries[0].machine.storage.disks}
    for p, d in product(sorted(processes), sorted(disks)):
        mapping = queries[0].mapping
        if isinstance(mapping, str):
            yield attrs.evolve(queries[0], p=p, d=d)


def next_point(
    points: Sequence[Candidate],
    rank: Rank,
    relative: Floats,
    scatter: float,
    names: Sequence[str],
    stuck: Sequence[int],
) -> Next | None:
    """Return the candidate that most reduces the worst relative standard error (E-optimal).

    One more row g changes the covariance C to C - C g g' C / (1 + g' C g); parameters of null
    directions and those ``stuck`` at a bound are left out.
    """
    determined = [j for j in range(len(names)) if j not in {*rank.involved, *stuck}]
    if not determined or not points:
        return None

    def worst(covariance: Floats) -> tuple[int, float]:
        errors = scatter * np.sqrt(np.maximum(np.diag(covariance), 0)) * np.abs(relative)
        j = max(determined, key=lambda k: float(errors[k]))
        return j, float(errors[j])

    def with_point(point: Candidate) -> Floats:
        moved = rank.covariance @ point.row
        return rank.covariance - np.outer(moved, moved) / (1 + point.row @ moved)

    widest, before = worst(rank.covariance)
    best = min(points, key=lambda point: (worst(with_point(point))[1], point.p, point.d))
    after = worst(with_point(best))[1]
    return Next(p=best.p, d=best.d, parameter=names[widest], before=before, after=after)


def remedy(points: Sequence[Candidate], model: Model, inner: Floats, direction: Floats) -> str:
    """Return what would break a null direction: a point, or a part of the time, or nothing."""
    effects = [(abs(float(point.row @ direction)), point) for point in points]
    effect, best = max(effects, key=lambda pair: pair[0], default=(0.0, None))
    if best is not None and effect > VISIBLE:
        return f"measure p={best.p}, d={best.d}, where it changes the answer"
    processes = sorted({point.p for point in points})
    grid = (
        f"no p from {processes[0]} to {processes[-1]} can tell"
        if processes
        else "no point can tell"
    )
    parts = _moved_parts(model, inner, direction)
    if parts:
        return f"{grid}; measure {' or '.join(parts)} apart from the rest"
    return f"{grid}, nor can a part of the time; know one of them from elsewhere"


def _moved_parts(model: Model, inner: Floats, direction: Floats) -> list[str]:
    """Return the parts of the time that move along a null direction, most first."""
    low, high = model.bounds
    h = 1e-3
    inners = [np.clip(inner + sign * h * direction, low, high) for sign in (-1, 1)]
    below, above = model.outcomes(inners)
    moved = dict.fromkeys(_PARTS, 0.0)
    for lower, upper in zip(below, above, strict=True):
        first, second = lower.prediction.parts, upper.prediction.parts
        if first is None or second is None:
            return []
        total = max(first.total, 1e-300)
        for name in moved:
            change = abs(getattr(second, name) - getattr(first, name)) / total / (2 * h)
            moved[name] = max(moved[name], change)
    names = sorted((name for name in moved if moved[name] > 10 * VISIBLE), key=lambda n: -moved[n])
    return [_PARTS[name] for name in names[:2]]
