"""Parallel sorting by regular sampling, index vector replicated.

source: van Gemund 2003, section 4.5
N: assumed: 806400, so many that many numbers of processors divide it; the paper has 819200
c: assumed: a quicksort constant as a profile would give it
"""


def psrs(P, N=806400, c=1.4):
    assert N >= 2
    assert N % P == 0
    B = N // P
    X = array((P, B), (block, whole))
    Y = array((P, B), (block, whole))
    sample = array((P, P), replicated)
    pivot = array(P, replicated)
    index = array((P, B), replicated)
    for p in forall(P):
        X[p, :].sort()  # pamela: operations = c*B*log2(B)
    for p in forall(P):
        for s in range(P):
            sample[p, s] = X[p, s * (B // P)]
    sample.sort()  # pamela: operations = P*P*log2(P*P)
    for s in range(P):
        pivot[s] = sample[s, 0]
    for p in forall(P):
        for i in range(B):
            index[p, i] = bisect(pivot, X[p, i])  # pamela: operations = log2(P)
    for p in forall(P):
        for i in range(B):
            Y[index[p, i], i] = X[p, i]  # pamela: owner = (p + i) % P, stride = 1
    for p in forall(P):
        Y[p, :].sort()  # pamela: operations = B*log2(P)
