"""Sweeps: where a number begins to hurt, of made rows and of a real question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast import ParcastError
from parcast.comparison.over import STEPS, parse_sweep
from parcast.results.row import Row
from parcast.results.sweep import HURTS, Sweep, sweep_table, sweeps


def along(times: list[float], solver: str = "x.exact", **fields: object) -> list[Row]:
    return [
        Row(workload="w", machine="m", solver=solver, p=4, d=1, time=time,
            params={"network.startup": f"{value} us"}, **fields)
        for value, time in enumerate(times)
    ]  # fmt: skip


def swept(times: list[float], **fields: object) -> Sweep:
    numbers = {f"{value} us": float(value) for value in range(len(times))}
    (sweep,) = sweeps(along(times, **fields), "network.startup", numbers)
    return sweep


def test_it_hurts_where_the_time_is_a_twentieth_longer():
    assert swept([10.0, 10.0, 10.4, 11.4]).hurts() == pytest.approx((2.1, 2.1))


def test_times_that_fall_again_hurt_somewhere_between_the_first_time_and_for_good():
    sweep = swept([10.0, 11.0, 10.0, 11.0])
    assert sweep.hurts() == pytest.approx((0.5, 2.5))
    header, cells = sweep_table([sweep], "us")
    assert dict(zip(header, cells[0], strict=True))["5 % longer"] == "above 0.5 to 2.5 us"
    falling = swept([11.0, 10.0, 11.0, 10.0])
    header, cells = sweep_table([falling], "us")
    assert dict(zip(header, cells[0], strict=True))["5 % longer"] == "below 0.5 to 2.5 us"


def test_times_that_are_long_between_the_ends_alone_hurt_up_to_the_other_end():
    assert swept([10.0, 11.0, 10.0]).hurts() == pytest.approx((0.5, 2.0))


def test_more_is_better_is_walked_from_the_other_end():
    sweep = swept([20.0, 12.0, 10.0])
    assert not sweep.rises
    assert sweep.hurts() == pytest.approx((1.75, 1.75))


def test_what_never_is_longer_hurts_nowhere():
    assert swept([10.0, 10.2, 10.4]).hurts() is None
    header, cells = sweep_table([swept([10.0, 10.2, 10.4])], "us")
    assert dict(zip(header, cells[0], strict=True))["5 % longer"] == "nowhere"


def test_a_sweep_with_a_value_that_has_no_time_is_none():
    rows = along([10.0, 11.0, 12.0])
    numbers = {f"{value} us": float(value) for value in range(3)}
    assert len(sweeps(rows, "network.startup", numbers)) == 1
    assert sweeps(rows[:2], "network.startup", numbers) == []


def test_of_a_bound_nothing_is_said_but_its_ends():
    bound = swept([10.0, 20.0], lower=10.0)
    header, cells = sweep_table([bound], "us")
    line = dict(zip(header, cells[0], strict=True))
    assert line["at 0 us"] == ">= 10 s"
    assert "5 % longer" not in header or line["5 % longer"] == ""


@given(st.floats(0.1, 10), st.floats(0.01, 10))
def test_on_a_line_it_hurts_exactly_where_the_line_says(base, slope):
    times = [base + slope * value for value in range(21)]
    hurts = swept(times).hurts()
    at = HURTS * base / slope
    assert hurts == (pytest.approx((at, at)) if at < 20 else None)


def test_a_range_has_even_values_that_are_exact():
    over = parse_sweep("network.startup=0..10us")
    assert over.unit == "us"
    assert len(over.values) == STEPS + 1
    assert over.values[:3] == ("0 us", "0.5 us", "1 us")
    assert over.values[-1] == "10 us"


@pytest.mark.parametrize(
    "text", ["network.startup=3us", "network.startup=9..1 us", "x=1..1", "x=..3", "x=1..2*2 us"]
)
def test_what_is_no_rising_range_is_refused(text):
    with pytest.raises(ParcastError, match="--sweep"):
        parse_sweep(text)
