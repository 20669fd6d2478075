"""A two-dimensional FFT: along the rows, a transpose, along the columns.

Stands for spectral codes, bound by the exchange of everybody with everybody. The n by n array
of complex doubles is cut into strips of rows; between the two sets of n transforms, each of
5 n log2(n) operations, every process sends every other its part of the strip.

source: textbook algorithm (transpose method for the two-dimensional FFT)
n: assumed: an array of 268 MB
repeats: assumed: long enough to repeat its pattern
"""


def program(rank, size, n=4096, repeats=10):
    for repeat in range(repeats):
        compute(5 * n * log2(n) * n / size)
        alltoall(16 * n * n / size**2)
        compute(5 * n * log2(n) * n / size)
