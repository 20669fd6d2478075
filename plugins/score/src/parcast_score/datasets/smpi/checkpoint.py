"""Everybody computes; process 0 gathers the state and writes it, and all go on together."""


def program(rank, size, n=100000, steps=3):
    for step in range(steps):
        compute(1e7 * (1 + (rank + step) % 3))
        if rank > 0:
            send(0, n, tag=1)
        else:
            for source in range(1, size):
                recv(source, tag=1)
            compute(2.0 * n * size)
        barrier()
