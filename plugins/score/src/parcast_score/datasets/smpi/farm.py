"""A master deals tasks to whoever asks, one after another, until none is left."""


def program(rank, size, n=30000, each=10):
    for task in pool(range(each * size), bytes=n, master=0):
        compute(4e6 * (1 + task % 5))
