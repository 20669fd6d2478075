"""The statements of the programs, and of the benchmark loop of section 4.1, as scalar code.

Vector instructions are switched off (by measured.py, in the environment of numba), so that a
statement takes what it takes by itself, as on the paper's virtual machine.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit


@njit(cache=True)
def matmul_row(c, b, row, i, first, end):
    for k in range(row.size):
        for j in range(first, end):
            c[i, j] += row[k] * b[k, j]


@njit(cache=True)
def adi(a, top, bottom, first, end):
    for i in range(top, bottom):
        for j in range(first, end):
            a[i, j] = 0.5 * (a[i - 1, j] + a[i + 1, j])


@njit(cache=True)
def scale(pivot, a, k):
    for i in range(k + 1, a.shape[0]):
        pivot[i] = a[i, k] / a[k, k]


@njit(cache=True)
def gauss_ji(a, pivot, k, first, end, step):
    for j in range(first, end, step):
        for i in range(k + 1, a.shape[0]):
            a[i, j] -= pivot[i] * a[k, j]


@njit(cache=True)
def gauss_ij(a, pivot, k, first, end, step):
    for i in range(k + 1, a.shape[0]):
        for j in range(first, end, step):
            a[i, j] -= pivot[i] * a[k, j]


@njit(cache=True)
def quicksort(x):
    x.sort()


@njit(cache=True)
def place(index, x, pivot):
    for i in range(x.size):
        low, high = 0, pivot.size
        while low < high:
            middle = (low + high) // 2
            if x[i] < pivot[middle]:
                high = middle
            else:
                low = middle + 1
        index[i] = low


@njit(cache=True)
def merge(y, counts):
    """Merge runs of sorted numbers, the first two into one until one is left."""
    end = counts[0]
    buffer = np.empty_like(y)
    for r in range(1, counts.size):
        i, j, last = 0, end, end + counts[r]
        for o in range(last):
            if j >= last or (i < end and y[i] <= y[j]):
                buffer[o] = y[i]
                i += 1
            else:
                buffer[o] = y[j]
                j += 1
        y[:last] = buffer[:last]
        end = last


@njit(cache=True)
def dijkstra(graph, source, row):
    n = graph.shape[0]
    known = np.zeros(n, np.bool_)
    row[:] = np.inf
    row[source] = 0.0
    for _ in range(n):
        best, near = np.inf, -1
        for i in range(n):
            if not known[i] and row[i] < best:
                best, near = row[i], i
        known[near] = True
        for i in range(n):
            longer = best + graph[near, i]
            row[i] = min(row[i], longer)


@njit(cache=True)
def store(a, v, s, repeats):
    """A[i, j] = V[i] with a stride."""
    for _ in range(repeats):
        for i in range(a.shape[0]):
            for j in range(0, a.shape[1], s):
                a[i, j] = v[i]


@njit(cache=True)
def compute(a, b, v, s, repeats):
    """The statement extended by a multiplication and an addition, and what they read."""
    for _ in range(repeats):
        for i in range(a.shape[0]):
            for j in range(0, a.shape[1], s):
                a[i, j] += v[i] * b[i, j]


def each(call, times):
    """Return the seconds of each call, the first, which compiles, left out."""
    found = []
    for _ in range(times + 1):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found[1:]


def loops(n, nodes, times):
    """Return the seconds of a statement at each stride, of a sort, of a node and of a poll."""
    a, b, v = np.zeros((n, n)), np.ones((n, n)), np.ones(n)
    calls = {}
    for s in (1, 2, 4, 8, 16):
        calls[f"store {s}"] = lambda s=s: store(a, v, s, s)
        calls[f"compute {s}"] = lambda s=s: compute(a, b, v, s, s)
    found = {name: [] for name in calls}
    for _ in range(10 * times):  # rounds, so that a drift of the host touches all alike
        for name, call in calls.items():
            found[name] += [one / n**2 for one in each(call, 1)]
    x = np.random.default_rng(0).random(819_200)
    found["sort"] = each(lambda: quicksort(x.copy()), times)
    graph, row = np.random.default_rng(3).random((nodes, nodes)), np.empty(nodes)
    dijkstra(graph, 0, row)  # compiles
    start = time.perf_counter()
    for source in range(nodes):  # all, one after the other, as the sequential algorithm does
        dijkstra(graph, source, row)
    found["node"] = [(time.perf_counter() - start) / nodes]
    found["poll"] = each(lambda: time.sleep(2e-5), 50)
    return found
