"""Items pass through all processes, one stage each.

Stands for pipelines and wavefronts: every process waits for an item from the one before it,
works on it, and hands it on. The work on an item is shared equally by the stages.

source: textbook pattern (linear pipeline)
items: assumed: enough to fill the pipeline of up to about 100 processes
work: assumed: 0.1 s for an item at 10 GFLOP/s, all stages together
data: assumed: an item of 1 MiB
"""


def program(rank, size, items=100, work=1e9, data=2**20):
    for item in range(items):
        if rank > 0:
            recv(rank - 1)
        compute(work / size)
        if rank < size - 1:
            send(rank + 1, data)
