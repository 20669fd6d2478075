"""Computations whose operations are counted, to measure rates with."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from parcast.plugins import compile_kernel

Floats = NDArray[np.float64]

#: Operations of one element of `poly1`: ten multiplications and ten additions.
POLY1_FLOPS = 20

#: Bytes of memory traffic of one element of `scale`.
SCALE_BYTES = 16

#: Rows of the matrices of `product`.
ROWS = 1024

#: Bytes of memory traffic of one element of `add` and `triad`: two read, one fetched and written.
ADD_BYTES = 32


def _poly1(x: Floats, y: Floats, passes: int) -> None:
    """Evaluate a polynomial of degree ten by Horner's rule, after POLY1 of the Genesis suite."""
    for _ in range(passes):
        for i in range(x.size):
            v = x[i]
            p = 0.5 * v + 0.4
            p = p * v + 0.3
            p = p * v + 0.2
            p = p * v + 0.1
            p = p * v + 0.9
            p = p * v + 0.8
            p = p * v + 0.7
            p = p * v + 0.6
            p = p * v + 0.5
            y[i] = p * v + 0.4


def _scale(x: Floats, factor: float) -> None:
    """Read and write every element once."""
    for i in range(x.size):
        x[i] = factor * x[i]


def _add(a: Floats, b: Floats, c: Floats) -> None:
    """Write the sum of two vectors, as STREAM does."""
    for i in range(a.size):
        a[i] = b[i] + c[i]


def _triad(a: Floats, b: Floats, c: Floats, factor: float) -> None:
    """Write the sum of one vector and another times a factor, as STREAM does."""
    for i in range(a.size):
        a[i] = b[i] + factor * c[i]


def product() -> float:
    """Multiply two matrices of `ROWS` rows; return how many operations that takes."""
    left, right, result = _matrices()
    np.matmul(left, right, out=result)
    return 2.0 * ROWS**3


@cache
def _matrices() -> Floats:
    return np.full((3, ROWS, ROWS), 0.5)


poly1 = compile_kernel(_poly1, "parcast-mpi")
scale = compile_kernel(_scale, "parcast-mpi")
add = compile_kernel(_add, "parcast-mpi")
triad = compile_kernel(_triad, "parcast-mpi")
