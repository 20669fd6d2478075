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
    found: Complex = np.asarray((_A + 2j * math.pi * k) / (2 * times[:, None]), np.complex128)
    return found


def inverted(values: Complex, times: Array) -> Array:
    """Return the function at some times from its transform at their points."""
    signed = values.real * (-1.0) ** np.arange(values.shape[1])
    signed[:, 0] /= 2
    sums = np.cumsum(signed, axis=1)[:, -AVERAGED - 1 :]
    weights = np.array([math.comb(AVERAGED, j) for j in range(AVERAGED + 1)]) / 2**AVERAGED
    found: Array = math.exp(_A / 2) / times * (sums @ weights)
    return found
