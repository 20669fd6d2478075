"""Everybody computes and then sends to everybody, in turn around the ring."""


def program(rank, size, n=20000, steps=3):
    for step in range(steps):
        compute(1e7 * (1 + (rank + step) % 2))
        for k in range(1, size):
            sendrecv((rank + k) % size, n, (rank - k) % size)
