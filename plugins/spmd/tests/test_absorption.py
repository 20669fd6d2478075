"""The exact Markov chain of SIO: published-model references, and its own states in fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import UnsupportedError
from parcast.testing import cases
from parcast_spmd.models.ctmc import MOST_JOBS, absorption, absorption_kernel
from parcast_spmd.models.fork_join import fork_join_sums
from parcast_spmd.models.order_statistics import harmonic

from .reference import CASES

ROWS = CASES["sio_makespan_exact"]["rows"]


@pytest.mark.parametrize("row", ROWS)
def test_the_makespan_equals_the_exact_rational_solution(row) -> None:
    z, x = float(Fraction(row["z"])), float(Fraction(row["x"]))
    found = absorption(row["P"], z, x, row["n_io"])
    assert found.time == pytest.approx(float(row["exact_mean_makespan"]), rel=2e-15)


def solve(matrix, right):
    """Return the solution of a linear system of fractions, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = next(j for j in range(i, len(rows)) if rows[j][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j, row in enumerate(rows):
            if j != i and row[i]:
                rows[j] = [a - row[i] * b for a, b in zip(row, rows[i], strict=True)]
    return [row[-1] for row in rows]


def by_states(jobs, z, x, bursts):
    """Return makespan and queuing of one job from all states at once."""
    states = [(i, k) for i in range(1, jobs + 1) for k in range(i + 1)]
    place = {state: index for index, state in enumerate(states)}
    leave = 1 / Fraction(bursts)
    matrix = [[Fraction(0)] * len(states) for _ in states]
    for (i, k), row in zip(states, matrix, strict=True):
        moves = [(Fraction(i - k) / z, (i, k + 1))]
        if k:
            moves += [(leave / x, (i - 1, k - 1)), ((1 - leave) / x, (i, k - 1))]
        for rate, after in moves:
            row[place[i, k]] += rate
            if rate and after in place:
                row[place[after]] -= rate
    start = place[jobs, 0]
    time = solve(matrix, [Fraction(1)] * len(states))[start]
    return time, solve(matrix, [Fraction(k) for _, k in states])[start] / jobs


@settings(max_examples=cases(20))
@given(
    st.integers(1, 5),
    st.integers(1, 30).map(lambda k: Fraction(k, 7)),
    st.integers(1, 30).map(lambda k: Fraction(k, 11)),
    st.integers(4, 20).map(lambda k: Fraction(k, 4)),
)
def test_both_means_equal_a_solution_of_all_states(jobs, z, x, bursts) -> None:
    found = absorption(jobs, float(z), float(x), float(bursts))
    time, queuing = by_states(jobs, z, x, bursts)
    assert found.time == pytest.approx(float(time), rel=1e-14)
    assert found.queuing == pytest.approx(float(queuing), rel=1e-14)


#: Error of eq. 16 in percent at P = 2, 4, 8, 16, 64, as first tabled by exact rational solution.
ERRORS = {
    (1, 0.01): "0.33 0.52 0.65 0.74 0.97",
    (1, 0.2): "4.8 9.6 16.5 28.3 15.1",
    (1, 5): "3.9 4.0 2.4 1.3 0.3",
    (5, 0.05): "0.30 0.49 0.64 0.82 1.4",
    (5, 0.2): "0.93 1.6 2.3 2.6 1.0",
    (20, 0.2): "0.23 0.39 0.54 0.58 0.23",
    (100, 0.2): "0.05 0.08 0.11 0.11 0.05",
}


@pytest.mark.parametrize(("bursts", "x"), ERRORS)
def test_the_error_of_equation_16_is_the_table_to_its_last_digit(bursts, x) -> None:
    for jobs, wanted in zip((2, 4, 8, 16, 64), ERRORS[bursts, x].split(), strict=True):
        total, _ = fork_join_sums([(jobs, 1.0, x)])[jobs, 1.0, x]
        error = 100 * (bursts * total / absorption(jobs, 1.0, x, bursts).time - 1)
        assert f"{error:.{len(wanted.partition('.')[2])}f}" == wanted


def test_the_compiled_kernel_equals_the_plain_one() -> None:
    import numpy as np

    given = (40, 3.7, 0.3)
    plain = absorption_kernel.plain(*given, *([0.0] * 41 for _ in range(5)))
    fast = absorption_kernel.compiled(*given, *(np.zeros(41) for _ in range(5)))
    assert fast == pytest.approx(plain, rel=1e-14)


@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e6, 1e12])
def test_extreme_ratios_meet_their_limits(ratio) -> None:
    found = absorption(6, ratio, 1.0, 3)
    limit = 18.0 if ratio < 1 else ratio * 3 * harmonic(6)
    assert found.time == pytest.approx(limit, rel=1e-5)
    assert 3 <= found.queuing <= 3 * 6


def test_no_delay_and_no_service_are_exact() -> None:
    assert absorption(5, 0.0, 2.0, 4).time == 40
    near = absorption(5, 1e-13, 2.0, 4)
    assert absorption(5, 0.0, 2.0, 4).queuing == pytest.approx(near.queuing, rel=1e-11)
    assert absorption(5, 2.0, 0.0, 4).time == pytest.approx(8 * harmonic(5), rel=1e-15)
    assert absorption(5, 2.0, 0.0, 4).queuing == 0


def test_what_it_cannot_take_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"takes one burst or more per I/O, not 0.5"):
        absorption(5, 1.0, 1.0, 0.5)
    with pytest.raises(UnsupportedError, match=rf"up to {MOST_JOBS} .*, not {MOST_JOBS + 1}"):
        absorption(MOST_JOBS + 1, 1.0, 1.0, 2)
