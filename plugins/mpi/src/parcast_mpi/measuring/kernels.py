"""Computations whose operations are counted, to measure rates with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parcast.plugins import compile_kernel

#: Operations of one element of `poly1`: ten multiplications and ten additions.
POLY1_FLOPS = 20

#: Bytes of memory traffic of one element of `scale`.
SCALE_BYTES = 16


def _poly1(x: NDArray[np.float64], y: NDArray[np.float64], passes: int) -> None:
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


def _scale(x: NDArray[np.float64], factor: float) -> None:
    """Read and write every element once."""
    for i in range(x.size):
        x[i] = factor * x[i]


poly1 = compile_kernel(_poly1, "parcast-mpi")
scale = compile_kernel(_scale, "parcast-mpi")
