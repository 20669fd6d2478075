"""A long vector summed over all processes along a binary tree, written out by hand.

Stands for reductions whose combining is real work. Each process makes its vector, then in round
k the processes whose k-th bit is the lowest one set send theirs to the one without it, which
adds the two; process 0 has the sum in the end.

source: textbook algorithm (binomial tree)
n: assumed: a vector of 8 MiB
work: assumed: operations to make one element
"""


def program(rank, size, n=2**20, work=100):
    compute(work * n)
    for k in range(ceil(log2(size))):
        if rank % 2 ** (k + 1) == 2**k:
            send(rank - 2**k, 8 * n)
        elif rank % 2 ** (k + 1) == 0 and rank + 2**k < size:
            recv(rank + 2**k)
            compute(n)
