"""Measured repetitions as an answer: median, its interval, parts that sum."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import pytest

from parcast import Parts
from parcast_mpi.host import Load, read_ticks
from parcast_mpi.running.answer import MeasuredRun, collect, median_interval, prediction


def coverage(n: int, k: int) -> float:
    """Return how often x_(k) .. x_(n+1-k) holds the median, by counting all of 2**n halves."""
    return sum(math.comb(n, below) for below in range(k, n - k + 1)) / 2**n


@pytest.mark.parametrize("n", [6, 7, 10, 11, 25, 100])
def test_the_interval_is_the_narrowest_that_covers(n: int) -> None:
    low, high = median_interval(range(n, 0, -1))
    assert low + high == n + 1
    assert coverage(n, int(low)) >= 0.95 > coverage(n, int(low) + 1)


def test_few_values_give_the_whole_range() -> None:
    for values in combinations_with_replacement(range(3), 4):
        assert median_interval(values) == (min(values), max(values))


def test_parts_are_means_over_ranks_and_sum_to_the_median() -> None:
    answers = [
        {"repetitions": [[t, [t / 2, t / 2, 0.0, 0.0]] for t in (3.0, 1.0, 2.0, 10.0)]},
        {"repetitions": [[t, [t / 4, 0.0, t / 4, t / 2]] for t in (3.0, 1.0, 2.0, 10.0)]},
    ]
    times, parts = collect(answers)
    found = prediction(MeasuredRun(times, parts, "MPI", Load(0.5, 0.0), None))
    assert found.time == 2.5
    assert found.parts == Parts(0.9375, 0.625, 0.3125, 0.625)
    assert found.ci == (1.0, 10.0)
    assert found.binding == "processor"
    assert found.notes[0] == "median of 4 repetitions, from 1 to 10 s"
    assert "busy before the run" in found.notes[1]


def test_ticks_are_read_as_the_kernel_writes_them() -> None:
    first = read_ticks("cpu  100 0 50 1000 10 5 5 20 7 0\ncpu0 1 2 3\n")
    second = read_ticks("cpu  160 0 70 1080 10 5 5 40 7 0\n")
    assert (first.busy, first.steal, first.total) == (160, 20, 1190)
    found = second.since(first)
    assert found.busy == pytest.approx(80 / 180)
    assert found.steal == pytest.approx(20 / 180)
    assert read_ticks("cpu 1 2 3 4\n").total == 10  # kernels before 2.6
