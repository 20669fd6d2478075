"""Every process sends to its right neighbor and receives from its left one."""


def program(rank, size, n=8, steps=4):
    for step in range(steps):
        sendrecv((rank + 1) % size, n, (rank - 1) % size)
