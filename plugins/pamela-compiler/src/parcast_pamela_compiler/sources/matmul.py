"""Matrix multiplication, rows of A broadcast.

source: van Gemund 2003, section 4.2
N: assumed: 1344, so many that many numbers of processors divide it; the paper has 1024
"""


def matmul(P, N=1344):
    A = array((N, N), (block, whole))
    B = array((N, N), (whole, block))
    C = array((N, N), (whole, block))
    row = array(N, replicated)
    for i in range(N):
        row[:] = A[i, :]
        for j in forall(N):
            for k in range(N):
                C[i, j] += row[k] * B[k, j]
