"""A master deals tasks to workers in turn, and takes each result as it comes.

Stands for task farms whose master does not care who answers: dealing is fixed in advance as in
master-worker, but results are received with recv(ANY), the earliest first, so that one slow
worker does not hold up the others' results.

source: textbook pattern (task farm, static assignment, results as they come)
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
            recv(ANY)
            compute(result)                        # one operation for each byte of it
    else:
        for task in range(rank - 1, tasks, size - 1):
            recv(0)
            compute(work)
            isend(0, result)
        waitall()
