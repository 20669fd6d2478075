"""Windows of messages from the first half of the processes to the second, each with an answer."""


def program(rank, size, n=8, window=64, steps=2):
    for step in range(steps):
        if rank < size // 2:
            for k in range(window):
                isend(rank + size // 2, n)
            waitall()
            recv(rank + size // 2)
        else:
            for k in range(window):
                irecv(rank - size // 2)
            waitall()
            send(rank - size // 2, 4)
