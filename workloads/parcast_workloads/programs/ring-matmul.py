"""Ring matrix multiplication: one block of rows per process.

Stands for systolic algorithms on a ring. C = A B for matrices of order n in double precision:
a process holds n/size rows of A and of C, and the blocks of rows of B go round the ring, each
process passing on the one it has just received before it computes with it.

source: textbook algorithm (ring form of dense matrix multiplication)
n: assumed: a matrix of 1.8 MB
"""


def program(rank, size, n=480):
    block = 8 * n * n / size                       # bytes of a block of B
    flops = 2 * n**3 / size**2                     # its part of the product
    if size > 1:
        sent = isend((rank + 1) % size, block)
    compute(flops)
    for step in range(size - 1):
        recv((rank - 1) % size)
        wait(sent)
        if step < size - 2:
            sent = isend((rank + 1) % size, block)
        compute(flops)
