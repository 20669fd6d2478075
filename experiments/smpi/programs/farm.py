"""Workers ask a master for tasks until none is left; here nobody has to attend."""


def program(rank, size, n=30000, each=10):
    if rank > 0:
        for task in pool(range(each * size), bytes=n):
            compute(4e6 * (1 + task % 5))
