"""One token goes round a ring of processes, as often as asked.

Every message is on the critical path, so what is added to each adds up.

source: Sottile, Chandu & Bader 2006, section 6.1
traversals: published: 10, section 6.1
"""


def program(rank, size, traversals=10):
    if size > 1:
        for lap in range(traversals):
            if rank == 0:
                send(1, 0)
                recv(size - 1)
            else:
                recv(rank - 1)
                send((rank + 1) % size, 0)
