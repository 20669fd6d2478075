"""Blocks go round a ring while each process computes."""


def program(rank, size, n=1000000, steps=20):
    for step in range(steps):
        irecv((rank - 1) % size)
        isend((rank + 1) % size, n)
        compute(5e6 * (1 + (rank * 7 + step) % 4))
        waitall()
