"""The computation of real runs: updates of the logistic map, over as much memory as is asked.

A machine's rate is measured with another kernel (`parcast_mpi.measuring.kernels`), so that a
prediction from that rate is put to a test here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parcast_mpi.compilation import compiled

#: Elements that are updated together, again and again, in the first-level cache.
TILE = 256

#: Operations of one update of one element, x = r x (1 - x).
FLOPS = 3

#: Bytes of memory traffic of one element: read and written once.
BYTES = 16

#: Elements of a rank's memory; a computation with more traffic passes over them again.
ELEMENTS = 1 << 23


def _update(x: NDArray[np.float64], rounds: int, rest: int) -> None:
    """Update every element ``rounds`` times, and the first ``rest`` of them once more."""
    for _ in range(rounds):
        for i in range(x.size):
            v = x[i]
            x[i] = 3.7 * v * (1.0 - v)
    for i in range(rest):
        v = x[i]
        x[i] = 3.7 * v * (1.0 - v)


def _sweep(x: NDArray[np.float64], elements: int, updates: int) -> int:
    """Touch ``elements`` once each, tile by tile, with the updates dealt evenly to the tiles.

    Elements in excess of the array pass over it again. Returns how many updates were done.
    """
    tiles = (elements + TILE - 1) // TILE
    done = 0
    for tile in range(tiles):
        start = (tile * TILE) % x.size
        size = min(TILE, elements - tile * TILE)
        due = updates * (tile + 1) // tiles - done
        part = x[start : start + size]
        if due < size:  # less than one update of each: the others are read and written only
            for i in range(due, size):
                part[i] = 1.0 - part[i]
        update(part, due // size, due % size)
        done += due
    return done


update = compiled(_update)
sweep = compiled(_sweep)


class Kernel:
    """Computes: its calls do as many operations, and move as many bytes, as they are told."""

    def __init__(self, *, memory: bool) -> None:
        start = np.linspace(0.1, 0.9, TILE)
        self._tile = start.copy()
        self._memory = np.full(ELEMENTS, 0.3) if memory else self._tile
        update(self._tile, 1, 1)
        if memory:
            sweep(self._memory, TILE, TILE)

    def compute(self, flops: float, bytes_: float) -> None:
        """Do ``flops`` operations that move ``bytes_`` from and to memory."""
        updates = round(flops / FLOPS)
        if bytes_ >= BYTES:
            sweep(self._memory, int(bytes_ // BYTES), updates)
        else:
            update(self._tile, updates // TILE, updates % TILE)
