from __future__ import annotations

import attrs
import pytest
from rows import CURVE, GRID, results, row

from parcast import ParcastError, Status
from parcast_report.choosing import choose


def kind(*rows, **provenance):
    return choose(results(*rows, **provenance)).kind


def test_a_surface_where_p_and_d_take_three_values_each():
    picture = choose(GRID)
    assert (picture.kind, picture.title) == ("surface", "w on m by s")
    assert [len(one.rows) for one in picture.series] == [15]


def test_curves_where_only_one_of_them_does():
    assert kind(*(row(p, d) for p in (1, 2) for d in (1, 2, 3, 4))) == "curves"
    picture = choose(results(*(row(p, d) for p in (1, 2, 4) for d in (1, 2))))
    assert picture.axis.label == "processes p"
    assert [one.label for one in picture.series] == ["d=1", "d=2"]
    assert [r.p for r in picture.series[0].rows] == [1, 2, 4]


def test_curves_run_over_what_takes_most_values():
    rows = [row(p, params={"n": n}) for p in (1, 2) for n in (64, 8, 32, 16)]
    picture = choose(results(*rows))
    assert (picture.kind, picture.axis.label) == ("curves", "n")
    assert [one.label for one in picture.series] == ["p=1", "p=2"]
    assert [r.params["n"] for r in picture.series[0].rows] == [8, 16, 32, 64]


def test_a_setting_that_was_varied_has_the_unit_it_was_given_in():
    rows = [row(params={"network.bandwidth": b * 1e6}) for b in (10, 20)]
    over = {"network.bandwidth": {"unit": "MB/s", "values": [], "numbers": []}}
    picture = choose(results(*rows, over=over))
    assert picture.axis.label == "network.bandwidth [MB/s]"
    assert [picture.axis.at(r) for r in picture.series[0].rows] == [10, 20]
    several = [attrs.evolve(r, p=p, time=r.time * p) for r in rows for p in (1, 2, 4)]
    labels = [one.label for one in choose(results(*several, over=over)).series]
    assert labels == ["network.bandwidth=10 MB/s", "network.bandwidth=20 MB/s"]


def test_what_follows_from_p_tells_nothing_apart():
    rows = [row(p, params={"n": 100 * p}) for p in (1, 2, 4)]
    assert [one.label for one in choose(results(*rows)).series] == [""]


def test_bars_where_no_number_varies():
    assert kind(row(4)) == "bars"
    picture = choose(results(row(4, solver="a"), row(4, solver="b")))
    assert (picture.kind, [one.label for one in picture.series]) == ("bars", ["a", "b"])
    assert picture.title == "w on m, p=4, d=1"


def test_rows_without_a_time_are_left_out():
    lost = attrs.evolve(row(2), time=None, status=Status.REFUSED, message="no")
    assert [r.p for r in choose(results(lost, *CURVE.rows[:1])).series[0].rows] == [1]
    with pytest.raises(ParcastError, match="No row has a time"):
        choose(results(lost))


def test_too_many_series_are_refused_by_what_tells_them_apart():
    rows = [
        row(p, params={"n": n}, solver=s) for p in range(1, 6) for n in (1, 2, 3) for s in "abc"
    ]
    with pytest.raises(
        ParcastError, match=r"9 curves are more than the 8 .* values of solver or n"
    ):
        choose(results(*rows))


def test_two_rows_on_one_place_are_refused():
    with pytest.raises(ParcastError, match="Two rows fall on one place"):
        choose(results(row(1), row(1)))
