"""Conjugate gradients for a Poisson equation, by mpi4py: each rank has some rows of the grid.

    mpiexec -n 4 python gradients.py ROWS STEPS [SLOW SECONDS]

Rank SLOW computes nothing of use for so long in each step. Rank 0 prints the norm of the residual.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from mpi4py import MPI

rows, steps = int(sys.argv[1]), int(sys.argv[2])
slow, seconds = (int(sys.argv[3]), float(sys.argv[4])) if len(sys.argv) > 3 else (-1, 0.0)
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
above, below = (other if 0 <= other < size else MPI.PROC_NULL for other in (rank - 1, rank + 1))


def applied(field: np.ndarray) -> np.ndarray:
    """Return the Laplacian of a field, whose edges come from the neighbours."""
    padded = np.zeros((field.shape[0] + 2, field.shape[1] + 2))
    padded[1:-1, 1:-1] = field
    requests = [
        comm.Irecv(padded[0], above, 1), comm.Irecv(padded[-1], below, 2),
        comm.Isend(padded[1], above, 2), comm.Isend(padded[-2], below, 1),
    ]  # fmt: skip
    MPI.Request.Waitall(requests)
    return (4 * padded[1:-1, 1:-1] - padded[:-2, 1:-1] - padded[2:, 1:-1]
            - padded[1:-1, :-2] - padded[1:-1, 2:])  # fmt: skip


def dot(one: np.ndarray, other: np.ndarray) -> float:
    """Return the product of two fields, summed over all ranks."""
    total = np.empty(1)
    comm.Allreduce(np.array([np.vdot(one, other)]), total)
    return float(total[0])


solution = np.zeros((rows, rows * size))
residual = np.ones_like(solution)
direction, left = residual.copy(), dot(residual, residual)
for _ in range(steps):
    until = time.perf_counter() + seconds
    while rank == slow and time.perf_counter() < until:
        pass
    product = applied(direction)
    share = left / dot(direction, product)
    solution += share * direction
    residual -= share * product
    before, left = left, dot(residual, residual)
    direction = residual + left / before * direction
if rank == 0:
    sys.stdout.write(f"{left**0.5:.9f}\n")
