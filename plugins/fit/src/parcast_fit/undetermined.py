"""Null directions and what is known in spite of them, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from parcast.quantities import student_t
from parcast_fit.design import Candidate, remedy
from parcast_fit.identifiability import Rank, another_fit, determined_combinations
from parcast_fit.intervals import CONFIDENCE
from parcast_fit.problem import Problem
from parcast_fit.result import Combination, Direction
from parcast_fit.search import SearchResult
from parcast_fit.wording import combination_text, combination_value, dimension, direction_sentence


def describe_directions(
    problem: Problem, best: SearchResult, rank: Rank, grid: Sequence[Candidate]
) -> tuple[Direction, ...]:
    """Return every null direction in words, with another fit along it and what breaks it."""
    relative, values = problem.relative(best.inner), problem.values(best.inner)
    directions = []
    for column in rank.null.T:
        alternative = another_fit(problem.model, best.inner, column)
        changes = column * relative
        directions.append(
            Direction(
                sentence=direction_sentence(
                    problem.parameters, values, changes, exact=alternative is not None
                ),
                changes={
                    parameter.name: float(change / np.abs(changes).max())
                    for parameter, change in zip(problem.parameters, changes, strict=True)
                    if change
                },
                alternative=None if alternative is None else problem.model.values(alternative),
                remedy=remedy(grid, problem.model, best.inner, column),
            )
        )
    return tuple(directions)


def describe_combinations(
    problem: Problem, best: SearchResult, rank: Rank, scatter: float, spare: int
) -> tuple[Combination, ...]:
    """Return what is determined of undetermined parameters, with 95 % intervals."""
    if not rank.null.size:
        return ()
    relative, values = problem.relative(best.inner), problem.values(best.inner)
    units = [dimension(parameter) for parameter in problem.parameters]
    t = student_t(CONFIDENCE, spare) if spare > 0 else math.nan
    combinations = []
    for combination in determined_combinations(rank, relative, values, units):
        value = combination_value(combination, values)
        row = np.zeros(len(values))  # of its relative change, by coordinate
        for j, weight in combination.weights:
            row[j] = relative[j] * (weight if combination.product else weight * values[j] / value)
        width = t * scatter * math.sqrt(row @ rank.covariance @ row)
        combinations.append(
            Combination(
                text=combination_text(combination, problem.parameters),
                value=value,
                low=value * math.exp(-width) if spare > 0 else None,
                high=value * math.exp(width) if spare > 0 else None,
                exact=combination.exact,
            )
        )
    return tuple(combinations)
