"""Steps of equal work, each ended by a sum over all processes.

Stands for iterative solvers and data-parallel training, where nobody goes on before all have
contributed. Strong scaling: the work of a step is shared by the processes, the bytes are not.

source: textbook pattern (bulk-synchronous steps)
steps: assumed: long enough to repeat its pattern
work: assumed: 0.1 s for a step at 10 GFLOP/s on one process
data: assumed: a sum of 1 MiB
"""


def program(rank, size, steps=100, work=1e9, data=2**20):
    for step in range(steps):
        compute(work / size)
        allreduce(data)
