"""Estimators find the truth that synthetic samples were made with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import SolveError
from parcast.quantities import parse_quantity
from parcast.testing import cases
from parcast_mpi.measuring.estimates import (
    LEAST_LOSS,
    Estimate,
    another_round,
    eager_limit,
    fixed_time_quantum,
    interruptions,
    level,
    line,
    of_repeats,
    of_rounds,
    per_byte,
    pieces,
    split_startup,
    thin,
)
from parcast_mpi.measuring.machine_file import quantity
from parcast_mpi.measuring.sampling import SIZES

TIMES = st.floats(1e-8, 1e-3)


@settings(max_examples=cases(20), deadline=None)
@given(startup=TIMES, bandwidth=st.floats(1e6, 1e11))
def test_a_line_without_noise_is_found(startup: float, bandwidth: float) -> None:
    exact = [[startup + n / bandwidth for n in SIZES]] * 3
    found = line(SIZES, exact)
    assert found.startup.value == pytest.approx(startup, rel=1e-6)
    assert found.bandwidth.value == pytest.approx(bandwidth, rel=1e-6)
    assert found.worst < 1e-6


def test_a_noisy_line_is_found_within_its_spread() -> None:
    rng = np.random.default_rng(3)
    exact = np.array([4e-6 + n / 2e9 for n in SIZES])
    misses = []
    for _ in range(40):
        noisy = exact * (1 + rng.exponential(0.05, (7, 5, len(SIZES))))
        noisy[rng.random(noisy.shape) < 0.05] *= 50  # interrupted
        found = line(SIZES, noisy)
        shift = 1 + 0.05 * math.log(2)  # of the median of the noise
        misses.append((found.startup.value - 4e-6 * shift) / found.startup.spread)
        misses.append((found.bandwidth.value - 2e9 / shift) / found.bandwidth.spread)
    assert np.mean(np.abs(misses) < 2.5) > 0.9
    assert 0.2 < np.std(misses) < 2


def test_a_line_that_would_begin_below_zero_begins_at_zero() -> None:
    found = line([1, 2, 4], [[1.0, 3.0, 7.0]] * 3)
    assert found.startup.value == 0
    assert 1 / found.bandwidth.value == pytest.approx((1 + 2 / 3 + 4 / 7) / (1 + 4 / 9 + 16 / 49))


def test_times_that_fall_are_no_line() -> None:
    with pytest.raises(SolveError, match="the times do not grow with the bytes"):
        line([0, 1, 2], [[3.0, 2.0, 1.0]] * 3)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([1, 1, 1], None),
        ([1, 1, 9], 20),
        ([1, 9, 9], 10),
        ([9, 9, 9], 0),
        ([1, 9, 1], 10),  # once one has waited, longer ones are not known not to
    ],
)
def test_the_eager_limit_is_where_sends_begin_to_wait(
    times: list[float], expected: int | None
) -> None:
    rows = [times, times, [9, 1, 1]]  # one round may err
    assert eager_limit([10, 20, 30], rows, delay=8) == expected


def test_an_empty_message_is_shared_out() -> None:
    whole, send, receive = Estimate(10.0, 3.0), Estimate(2.0, 4.0), Estimate(3.0, 1.0)
    found = split_startup(whole, send, receive)
    assert (found.overhead, found.overhead_receive) == (send, receive)
    assert found.startup == Estimate(5.0, 5.0)
    tight = split_startup(Estimate(2.5, 0.1), send, receive)
    assert tight.hidden
    assert tight.startup.value == 0
    # between the calls by themselves, 5 s, and within a message, 2.5 s
    assert tight.overhead.value + tight.overhead_receive.value == pytest.approx(3.75)
    assert tight.overhead.spread > 0.5 / 2**0.5


def test_noise_is_the_work_that_is_missing() -> None:
    counts = np.full(1000, 200)
    counts[:4] = 206  # began late in a tick
    counts[100:200] = 150
    counts[200:210] = 0
    found = fixed_time_quantum(counts, 1e-3)
    assert found.lost[:100] == pytest.approx(0)
    assert found.lost[100:200] == pytest.approx(0.25e-3)
    assert found.lost[200:210] == pytest.approx(1e-3)
    assert found.share == pytest.approx((100 * 0.25 + 10) / 1000)


def test_a_core_that_is_faster_at_times_loses_nothing_at_others() -> None:
    counts = np.array([2333] * 80 + [1270, 1280, 1285, 1290] * 200 + [640] * 20 + [0] * 100)
    found = fixed_time_quantum(counts, 1e-3)  # of a real host, whose neighbor idled for 80 quanta
    assert found.lost[:80] == pytest.approx(0)
    assert found.lost[80:880].max() < 0.02e-3
    assert found.lost[880:900] == pytest.approx(0.5e-3, rel=0.02)
    assert found.faster == pytest.approx(0.08)
    assert found.share == pytest.approx(0.11, abs=0.01)


def test_a_host_that_never_works_loses_all() -> None:
    assert fixed_time_quantum([0, 0], 2.0).lost.tolist() == [2.0, 2.0]


@settings(max_examples=cases(25), deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=600))
def test_thinned_samples_keep_their_ends_and_come_from_the_samples(values: list[float]) -> None:
    kept = thin(values)
    assert len(kept) == min(200, len(values))
    assert (kept[0], kept[-1]) == (min(values), max(values))
    assert set(kept) <= set(values)
    assert kept == sorted(kept)


@settings(max_examples=cases(25), deadline=None)
@given(st.floats(1e-9, 1e12), st.floats(1e-4, 0.9), st.sampled_from(["s", "B/s", "FLOP/s"]))
def test_a_quantity_says_number_and_spread(value: float, share: float, unit: str) -> None:
    spread = share * value
    read = parse_quantity(quantity(Estimate(value, spread), unit))
    assert read.law == "normal"
    assert abs(read.value - value) <= 0.06 * spread + 1e-12 * value
    assert read.spread == pytest.approx(spread, rel=0.06)


@pytest.mark.parametrize(
    ("estimate", "unit", "text"),
    [
        (Estimate(5.98123e-6, 1.2e-7), "s", "5.98 +- 0.12 us"),
        (Estimate(2.0123e9, 1.5e7), "B/s", "2.012 +- 0.015 GB/s"),
        (Estimate(0.0, 1.4e-7), "s", "0 +- 140 ns"),
        (Estimate(12.0, 0.0), "FLOP/s", "12.000 +- 0.000 FLOP/s"),
    ],
)
def test_a_quantity_reads_well(estimate: Estimate, unit: str, text: str) -> None:
    assert quantity(estimate, unit) == text


def drifting(rng, between: float, within: float, rounds: int = 7, repeats: int = 3) -> Any:
    """Return samples of a host whose speed is another one in each round."""
    return 10 + rng.normal(0, between, (rounds, 1)) + rng.normal(0, within, (rounds, repeats))


@pytest.mark.parametrize(("between", "within"), [(0.5, 0.01), (0.01, 0.5), (0.3, 0.3)])
def test_intervals_hold_what_another_time_gives(between: float, within: float) -> None:
    """95 % of them hold a round minutes later, or a single sample, by 1.96 spreads to each side."""
    rng = np.random.default_rng(5)
    of_median, of_sample = [], []
    for _ in range(1500):
        samples, later = (drifting(rng, between, within) for _ in range(2))
        whole, single = of_rounds(samples), of_repeats(samples)
        of_median.append(abs(np.median(later[0]) - whole.value) < 1.96 * whole.spread)
        of_sample.append(abs(later[0, 0] - single.value) < 1.96 * single.spread)
    assert 0.92 < np.mean(of_median) < 0.98
    assert 0.92 < np.mean(of_sample) < 0.99


def test_what_a_byte_takes_is_as_uncertain_as_sizes_differ() -> None:
    sizes = [1024, 2048, 4096]
    found = per_byte(sizes, [[1e-9 * n for n in sizes], [3e-9 * n for n in sizes]])
    assert found.value == pytest.approx(2e-9)
    assert found.spread > 1e-9
    unlike = per_byte(sizes, [[1e-9 * 1024, 2e-9 * 2048, 3e-9 * 4096]] * 3)
    assert unlike == Estimate(pytest.approx(2e-9), pytest.approx(1e-9 * (2 / 3) ** 0.5))


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=50),
    st.floats(1e-4, 1e-2),
)
def test_interruptions_take_what_the_quanta_lost(shares: list[float], quantum: float) -> None:
    lost = quantum * np.array(shares)
    struck = lost[lost >= LEAST_LOSS * quantum]
    total, computed = float(struck.sum()), quantum * len(lost) - float(struck.sum())
    found = interruptions(lost, quantum)
    if found is None:
        assert not len(struck) or total >= computed
        return
    assert 0 < found.length < found.interval
    assert computed / found.interval == pytest.approx(len(struck))
    assert computed / found.interval * found.length == pytest.approx(total)


def test_no_line_goes_through_messages_that_wait_and_others() -> None:
    sizes = [1 << k for k in range(3, 17)]
    times = [[1e-6 + n / 1e10 + (2e-7 if n > 4096 else 0.0) for n in sizes]] * 3
    assert [piece.least for piece in pieces(sizes, times, limit=4096)][1] == 8192
    assert len(pieces(sizes, times, limit=sizes[-2])) == len(pieces(sizes, times))  # too few wait


def test_a_level_is_what_times_hold_beside_their_bytes() -> None:
    sizes = [8192, 65536, 1 << 20]
    rows = [[[shift + 2e-6 + n / 1e10 for n in sizes]] for shift in (-1e-7, 0.0, 1e-7)]
    found = level(sizes, rows, 1e-10)
    assert found.value == pytest.approx(2e-6)
    assert found.spread == pytest.approx(another_round([0.0, 1e-7, 2e-7]), rel=1e-6)
    assert level(sizes, rows, 1e-9).value == 0.0
