"""The triad of STREAM: all processes of a node move n bytes each."""


def program(rank, size, n=240000000):
    compute(0, n)
