"""Items pass through all processes."""


def program(rank, size, n=200000, items=40):
    for item in range(items):
        if rank > 0:
            recv(rank - 1)
        compute(1e6 * (1 + (rank + item) % 3))
        if rank < size - 1:
            send(rank + 1, n)
