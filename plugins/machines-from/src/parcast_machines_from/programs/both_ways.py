"""Windows of messages both ways between two processes, each with an answer."""


def program(rank, size, n=8, window=64, steps=2):
    for step in range(steps):
        for k in range(window):
            irecv(1 - rank)
        for k in range(window):
            isend(1 - rank, n)
        waitall()
        if rank == 0:
            recv(1)
        else:
            send(0, 4)
