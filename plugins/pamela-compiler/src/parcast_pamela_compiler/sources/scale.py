"""A vector scaled in parallel.

source: van Gemund 2003, section 3.3
N: assumed: 1000 elements
"""


def scale(P, N=1000, a=2.0):
    X = array(N, cyclic)
    for i in forall(N):
        X[i] = X[i] * a
