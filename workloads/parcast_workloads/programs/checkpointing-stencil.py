"""A stencil in strips that writes its whole state every so many steps.

Stands for simulations that save checkpoints. The n by n grid of doubles is cut into strips of
rows; a step exchanges one row with each neighbor by sendrecv and updates the strip. After every
``interval`` steps all processes write the grid to one shared file together.

source: textbook algorithm (Jacobi in strips, collective checkpoints)
n: assumed: a grid of 134 MB
steps: assumed: five checkpoints
interval: assumed: a checkpoint every tenth step
"""


def program(rank, size, n=4096, steps=50, interval=10):
    points = n * n / size
    edge = 8 * n
    for step in range(steps):
        if size > 1:
            region("exchange")
            sendrecv((rank + 1) % size, edge, (rank - 1) % size)
            sendrecv((rank - 1) % size, edge, (rank + 1) % size)
        region("update")
        compute(5 * points)
        if step % interval == interval - 1:
            region("checkpoint")
            write(8 * points, file="shared", collective=True)
