"""Null directions and what is known in spite of them, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parcast.quantities import student_t
from parcast_fit.design import Candidate, remedy
from parcast_fit.identifiability import Rank, another_fit, known_combinations
from parcast_fit.intervals import CONFIDENCE
from parcast_fit.problem import Problem
from parcast_fit.result import Combination, Direction
from parcast_fit.search import Found
from parcast_fit.wording import (
    combination_text,
    combination_value,
    dimension,
    direction_sentence,
)


def describe_directions(
    problem: Problem, best: Found, rank: Rank, grid: Sequence[Candidate]
) -> tuple[Direction, ...]:
    """Return every null direction in words, with another fit along it and what breaks it."""
    relative, values = problem.relative(best.inner), problem.values(best.inner)
    found = []
    for column in rank.null.T:
        other = another_fit(problem.model, best.inner, column)
        changes = column * relative
        found.append(
            Direction(
                sentence=direction_sentence(
                    problem.parameters, values, changes, exact=other is not None
                ),
                changes={
                    one.name: float(change / np.abs(changes).max())
                    for one, change in zip(problem.parameters, changes, strict=True)
                    if change
                },
                alternative=None if other is None else problem.model.values(other),
                remedy=remedy(grid, problem.model, best.inner, column),
            )
        )
    return tuple(found)


def describe_combinations(
    problem: Problem, best: Found, rank: Rank, scatter: float, spare: int
) -> tuple[Combination, ...]:
    """Return what is determined of undetermined parameters, with 95 % intervals."""
    if not rank.null.size:
        return ()
    relative, values = problem.relative(best.inner), problem.values(best.inner)
    units = [dimension(one) for one in problem.parameters]
    t = student_t(CONFIDENCE, spare) if spare > 0 else math.nan
    made = []
    for known in known_combinations(rank, relative, values, units):
        value = combination_value(known, values)
        row = np.zeros(len(values))  # of its relative change, by coordinate
        for j, weight in known.weights:
            row[j] = relative[j] * (weight if known.product else weight * values[j] / value)
        width = t * scatter * math.sqrt(row @ rank.covariance @ row)
        made.append(
            Combination(
                text=combination_text(known, problem.parameters),
                value=value,
                low=value * math.exp(-width) if spare > 0 else None,
                high=value * math.exp(width) if spare > 0 else None,
                exact=known.exact,
            )
        )
    return tuple(made)
