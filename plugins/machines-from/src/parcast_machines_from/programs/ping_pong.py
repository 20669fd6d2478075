"""A ping-pong: half of a round trip is the time of one message."""


def program(rank, size, n=8, steps=1):
    for step in range(steps):
        if rank == 0:
            send(1, n)
            recv(1)
        if rank == 1:
            recv(0)
            send(0, n)
