"""Every process writes n bytes into a file of its own."""


def program(rank, size, n=1073741824):
    write(n)
