"""bcast of n bytes, over and over."""


def program(rank, size, n=8, steps=2):
    for step in range(steps):
        bcast(n)
