"""What is simultaneous: by a time that is the same in exact arithmetic, not by its last bits."""

from fractions import Fraction

import pytest

from parcast.program.reference.instants import SAME_INSTANT, Requests, end_of_instant, latest_end
from parcast.testing import by_events, by_sweep, random_program, seeds
from parcast.testing.exact import exact_program, exactly


def test_times_that_differ_in_their_last_bits_are_one_instant():
    sums = 0.1 + 0.2, 0.3
    assert max(sums) > min(sums)
    assert max(sums) <= end_of_instant(min(sums))
    assert end_of_instant(0.3) < 0.3 * (1 + 2 * SAME_INSTANT)


def test_fractions_are_compared_exactly():
    third = Fraction(1, 3)
    assert end_of_instant(third) == third
    assert end_of_instant(0) == 0


def test_a_million_additions_stay_within_the_instant():
    total = 0.0
    for _ in range(1_000_000):
        total += 0.1
    assert total != 1e5
    assert max(total, 1e5) <= end_of_instant(min(total, 1e5))


def test_of_what_ends_at_one_instant_the_earliest_beginning_counts():
    assert latest_end([(0.1 + 0.2, 0.2), (0.3, 0.1), (0.2, 0.0)]) == (0.1 + 0.2, 0.1)


def test_requests_of_one_instant_are_served_by_rank_and_place():
    served = []
    requests = Requests()

    def ask(time, rank, place):
        requests.add(time, rank, place, lambda at: served.append((rank, place, at)))

    ask(0.3, 2, 0)
    ask(0.1 + 0.2, 1, 5)
    ask(0.1, 9, 0)
    while requests.time() is not None:
        requests.serve()
        if len(served) == 2:  # what comes up while the instant lasts goes among the others
            ask(0.3, 0, 7)
    assert served == [(9, 0, 0.1), (1, 5, 0.1 + 0.2), (0, 7, 0.3), (2, 0, 0.3)]


def test_a_float_that_stands_for_no_fraction_is_refused():
    assert exactly(0.1 + 0.2) == Fraction(3, 10)
    with pytest.raises(ValueError, match="stands for no fraction"):
        exactly(2**0.5)


def test_tasks_of_pools_are_made_exact_with_all_else():
    made = next(m for m in random_pools() if m.expanded.pools and m.expanded.pools[0].tasks)
    pool = exact_program(made.expanded).pools[0]
    assert all(isinstance(one, Fraction) for one in pool.bytes)


def random_pools():
    return (random_program(seed, pools=True, decimal=True) for seed in range(50))


@pytest.mark.parametrize("evaluate", [by_sweep, by_events])
def test_an_exact_tie_that_floats_break_is_a_tie(evaluate):
    parted = 0
    for seed in seeds(120):
        made = random_program(seed, decimal=True, wildcards=True, pools=seed % 2 > 0)
        exact, floats = evaluate(*made.exact), evaluate(made.expanded, made.costs)
        assert floats.ends == pytest.approx([*map(float, exact.ends)], rel=1e-11), made.source
        parted += floats.ends != tuple(map(float, exact.ends))
    assert parted > 20  # that many have sums that floats round
