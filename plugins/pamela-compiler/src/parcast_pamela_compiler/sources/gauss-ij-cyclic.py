"""Gaussian elimination, columns dealt cyclically, i-j loops.

source: van Gemund 2003, section 4.4
N: published: section 4.4, 512
"""


def gauss(P, N=512):
    assert N >= 2
    A = array((N, N), (whole, cyclic))
    pivot = array(N, replicated)
    for k in range(N - 1):
        for i in range(k + 1, N):
            pivot[i] = A[i, k] / A[k, k]
        for i in range(k + 1, N):
            for j in forall(k + 1, N):
                A[i, j] -= pivot[i] * A[k, j]
