"""Gaussian elimination, columns in blocks, j-i loops.

source: van Gemund 2003, section 4.4
N: assumed: 1344, so many that many numbers of processors divide it; the paper has 512
"""


def gauss(P, N=1344):
    assert N >= 4
    A = array((N, N), (whole, block))
    pivot = array(N, replicated)
    for k in range(N - 1):
        for i in range(k + 1, N):
            pivot[i] = A[i, k] / A[k, k]
        for j in forall(k + 1, N):
            for i in range(k + 1, N):
                A[i, j] -= pivot[i] * A[k, j]
