"""Messages to both neighbors of a ring, and from both."""


def program(rank, size, n=8, steps=4):
    for step in range(steps):
        irecv((rank + 1) % size)
        irecv((rank - 1) % size)
        isend((rank - 1) % size, n)
        isend((rank + 1) % size, n)
        waitall()
