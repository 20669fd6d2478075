"""Benchmarks at more nodes: a power of the nodes is continued, and the interval holds it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import ParcastError
from parcast_machines_from.estimating.growth import Law, ahead, law_of, steps_of
from parcast_machines_from.records import Series, Value


def series(nodes: int, power: float, factor: float = 1.0) -> Series:
    values = tuple(
        Value(size, factor * (1 + size / 1000) * nodes**power, line)
        for line, size in enumerate((8.0, 64.0, 512.0, 4096.0), 1)
    )
    return Series("allreduce", "s", values, "a.txt", "OSU", nodes=nodes)


@given(st.floats(-1, 2), st.floats(1e-6, 1e3), st.sampled_from([2, 4, 8]))
def test_a_power_of_the_nodes_is_continued(power: float, factor: float, times: int) -> None:
    law = Law(step=power * math.log(2), low=-0.1, high=0.2)
    measured = [series(nodes, power, factor) for nodes in (4, 8)]
    answers = ahead(measured, 8 * times, law)
    for answer, value in zip(answers, series(8 * times, power, factor).values, strict=True):
        assert answer.value == pytest.approx(value.value)
        assert answer.low <= answer.value <= answer.high


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=8))
def test_the_interval_is_of_clusters_left_out(powers: list[float]) -> None:
    law = law_of([steps_of(series(4, power), series(8, power)) for power in powers])
    assert law.low <= law.high
    assert law.high - law.low <= 2 * (max(powers) - min(powers)) * math.log(2) + 1e-9


def test_what_cannot_be_continued_is_refused() -> None:
    law = Law(0.0, -0.1, 0.1)
    with pytest.raises(ParcastError, match="4 nodes are not more than the 8"):
        ahead([series(8, 1.0)], 4, law)
    with pytest.raises(ParcastError, match="no output says on how many nodes"):
        ahead([], 4, law)
