"""A matrix transposed; each processor has a block of columns.

source: assumed: every processor exchanges with all others
N: assumed: 1344, so many that many numbers of processors divide it
"""


def transpose(P, N=1344):
    A = array((N, N), (whole, block))
    B = array((N, N), (whole, block))
    for j in forall(N):
        for i in range(N):
            B[i, j] = A[j, i]
