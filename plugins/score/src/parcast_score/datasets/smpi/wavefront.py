"""Sweeps from one corner of a grid of processes, a power of two, to the other."""


def program(rank, size, n=40000, sweeps=8):
    across = 2 ** floor(log2(size) / 2 + 0.001)
    along = size // across
    row = rank // along
    column = rank % along
    for sweep in range(sweeps):
        if row > 0:
            recv(rank - along, tag=0)
        if column > 0:
            recv(rank - 1, tag=1)
        compute(1e6)
        if row < across - 1:
            send(rank + along, n, tag=0)
        if column < along - 1:
            send(rank + 1, n, tag=1)
