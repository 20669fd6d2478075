"""The computation of real runs: updates of the logistic map, over as much memory as is asked.

A machine's rate is measured with another kernel (`parcast_mpi.measuring.kernels`), so that a
prediction from that rate is put to a test here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parcast.plugins import compile_kernel

#: Elements that are updated together, again and again, in the first-level cache.
TILE = 256

#: Operations of one update of one element, x = r x (1 - x).
FLOPS = 3

#: Bytes of memory traffic of one element: read and written once.
BYTES = 16

#: Elements of a rank's memory, beyond caches; more traffic passes over them again.
ELEMENTS = 1 << 25


def _update(x: NDArray[np.float64], rounds: int) -> None:
    """Update every element ``rounds`` times."""
    for _ in range(rounds):
        for i in range(x.size):
            v = x[i]
            x[i] = 3.7 * v * (1.0 - v)


def _update_twice(x: NDArray[np.float64]) -> None:
    """Update every element twice while it is at hand."""
    for i in range(x.size):
        v = x[i]
        v = 3.7 * v * (1.0 - v)
        x[i] = 3.7 * v * (1.0 - v)


def _mirror(x: NDArray[np.float64]) -> None:
    """Read and write every element."""
    for i in range(x.size):
        x[i] = 1.0 - x[i]


def _sweep(x: NDArray[np.float64], elements: int, updates: int) -> int:
    """Touch ``elements`` once each, tile by tile, with the updates dealt evenly to the tiles.

    A tile comes from memory in one pass that does up to two updates of each element, as a stencil
    computes with what it reads; the rest is done in the cache. Elements in excess of the array
    pass over it again. Returns how many updates were done.
    """
    tiles = (elements + TILE - 1) // TILE
    updated = 0
    for tile in range(tiles):
        start = (tile * TILE) % x.size
        size = min(TILE, elements - tile * TILE)
        due = updates * (tile + 1) // tiles - updated
        part = x[start : start + size]
        rounds, remainder = due // size, due % size
        if rounds == 0:
            update(part[:remainder], 1)
            mirror(part[remainder:])
        else:
            update_twice(part[:remainder])
            update(part[remainder:], 1)
            update(part, rounds - 1)
        updated += due
    return updated


update = compile_kernel(_update, "parcast-mpi")
update_twice = compile_kernel(_update_twice, "parcast-mpi")
mirror = compile_kernel(_mirror, "parcast-mpi")
sweep = compile_kernel(_sweep, "parcast-mpi")


class Kernel:
    """Computes: its calls do as many operations, and move as many bytes, as they are told."""

    def __init__(self, *, memory: bool) -> None:
        start = np.linspace(0.1, 0.9, TILE)
        self._tile = start.copy()
        self._memory = np.full(ELEMENTS, 0.3) if memory else self._tile
        update(self._tile, 1)
        if memory:
            sweep(self._memory, TILE, TILE)

    def compute(self, flops: float, bytes_: float) -> None:
        """Do ``flops`` operations that move ``bytes_`` from and to memory."""
        updates = round(flops / FLOPS)
        if bytes_ >= BYTES:
            sweep(self._memory, int(bytes_ // BYTES), updates)
        else:
            update(self._tile, updates // TILE)
            update(self._tile[: updates % TILE], 1)
