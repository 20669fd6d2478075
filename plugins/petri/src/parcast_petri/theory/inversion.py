"""Functions of time from their Laplace transforms, by Euler summation.

Abate & Whitt, Numerical inversion of Laplace transforms of probability distributions, ORSA Journal
on Computing 7, 1995: the error is some 1e-8 of what is inverted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

_A = 18.4
#: How many sums Euler's summation averages, and how many terms stand before at least.
AVERAGED, LEAST_TERMS = 12, 40


def points(times: Array, terms: int = LEAST_TERMS) -> Complex:
    """Return where a transform is needed for each of some times: an array of times by terms.

    A function that rises within a small part of its time needs more terms than one over that part.
    """
    k = np.arange(terms + AVERAGED + 1)
    nodes: Complex = np.asarray((_A + 2j * math.pi * k) / (2 * times[:, None]), np.complex128)
    return nodes


def weights(times: Array, terms: int = LEAST_TERMS) -> Array:
    """Return the factors of a transform's real parts at the points of each time."""
    waves = np.ones(terms + AVERAGED + 1)
    waves[0] = 0.5
    ends = np.cumsum([math.comb(AVERAGED, j) for j in range(AVERAGED)]) / 2**AVERAGED
    waves[-AVERAGED:] = 1 - ends
    waves *= (-1.0) ** np.arange(len(waves))
    return np.asarray(math.exp(_A / 2) / times[:, None] * waves)


def inverted(values: Complex, times: Array) -> Array:
    """Return the function at some times from its transform at their points."""
    sums: Array = (values.real * weights(times, values.shape[1] - AVERAGED - 1)).sum(axis=1)
    return sums
