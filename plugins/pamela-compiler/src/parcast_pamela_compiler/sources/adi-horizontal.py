"""Alternating direction implicit integration, vertical phase; each processor has whole rows.

source: van Gemund 2003, sections 3.6 and 4.3
N: assumed: 1344, so many that many numbers of processors divide it; the paper has 1024
"""


def adi(P, N=1344):
    assert N >= 3
    A = array((N, N), (block, whole))
    for i in range(1, N - 1):
        for j in forall(N):
            A[i, j] = 0.5 * (A[i - 1, j] + A[i + 1, j])
