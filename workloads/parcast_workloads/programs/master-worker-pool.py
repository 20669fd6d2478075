"""Tasks of unequal length go to whoever is free: a true master and its workers.

Stands for task farms with dynamic dealing: a process asks rank 0 for a task, does it, and asks
again, rank 0 among them. Compare it with master-worker, where dealing is fixed in advance, to see
what dealing on demand gains. Every third task is three times as long as the shortest.

source: textbook pattern (task farm, demand-driven)
tasks: assumed: a few for each process up to about 100
work: assumed: the shortest task takes 5 ms at 10 GFLOP/s, so that the mean is 10 ms
data: assumed: a block of 64 KiB for each task
result: assumed: results of 1 KiB a process are put together at the end
"""


def program(rank, size, tasks=512, work=5e7, data=65536, result=1024):
    for task in pool(range(tasks), bytes=data):
        compute(work * (1 + task % 3))
    gather(result)
