"""A master deals tasks to workers, in turn and fixed in advance, and collects the results.

Stands for task farms with static dealing: worker 1 gets tasks 0, size - 1, 2 (size - 1), ...
and nobody a task for being free first (that is master-worker-pool). The master receives the
results in the order in which it dealt the tasks. A single process does all tasks itself.

source: textbook pattern (task farm, static assignment)
tasks: assumed: a few for each worker up to about 100 processes
work: assumed: a task of 10 ms at 10 GFLOP/s
data: assumed: a block of 64 KiB for each task
result: assumed: a block of 1 KiB for each result
"""


def program(rank, size, tasks=512, work=1e8, data=65536, result=1024):
    if size == 1:
        for task in range(tasks):
            compute(work)
    elif rank == 0:
        for task in range(tasks):
            send(1 + task % (size - 1), data)
        for task in range(tasks):
            recv(1 + task % (size - 1))
    else:
        for task in range(rank - 1, tasks, size - 1):
            recv(0)
            compute(work)
            isend(0, result)
        waitall()
