"""A barrier, over and over."""


def program(rank, size, n=0, steps=2):
    for step in range(steps):
        barrier()
