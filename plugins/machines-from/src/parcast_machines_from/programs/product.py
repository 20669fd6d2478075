"""A product of matrices of n rows on every process."""


def program(rank, size, n=2048):
    compute(2 * n**3)
