"""Jacobi iteration on a square grid: four neighbors, and a residual every tenth step.

Stands for explicit solvers of partial differential equations. The n by n grid of doubles is
cut into dims(size, 2, ...) blocks, as equal as can be (a fraction of a row counts as one); each
step exchanges the edges, then updates every point with 5 operations and 16 bytes of traffic.
A sum over all processes tells every tenth step how far the iteration is.

source: textbook algorithm (five-point Jacobi with block decomposition)
n: assumed: a grid of 134 MB
steps: assumed: long enough to repeat its pattern
"""


def program(rank, size, n=4096, steps=100):
    across = dims(size, 2, 0)                      # blocks in a column of the grid
    along = dims(size, 2, 1)                       # blocks in a row of it
    row = rank // along
    column = rank % along
    points = n * n / size
    for step in range(steps):
        if row > 0:
            isend(rank - along, 8 * n / along)
            irecv(rank - along)
        if row < across - 1:
            isend(rank + along, 8 * n / along)
            irecv(rank + along)
        if column > 0:
            isend(rank - 1, 8 * n / across)
            irecv(rank - 1)
        if column < along - 1:
            isend(rank + 1, 8 * n / across)
            irecv(rank + 1)
        if size > 1:
            waitall()
        compute(5 * points, bytes=16 * points)
        if step % 10 == 9:
            allreduce(8)
