"""Machines beside each other: one solver, runs that all machines have, ratios and prices."""

import attrs
import pytest

from parcast import Status
from parcast.results.results import Results
from parcast.results.row import Row
from parcast.results.side_by_side import side_by_side


def answer(machine: str, time: float, *, solver: str = "x.exact", p: int = 4, **fields: object):
    return Row(
        workload=str(fields.pop("workload", "halo")), machine=machine, solver=solver, p=p,
        d=int(str(fields.pop("d", 1))), time=time, **fields,
    )  # fmt: skip


def cells(rows: list[Row]) -> list[dict[str, str]]:
    table = side_by_side(rows)
    assert table is not None
    return [dict(zip(table.header, line, strict=True)) for line in table.rows]


def test_ratios_are_over_the_first_machine_at_the_same_p():
    rows = [
        answer("old", 8.0, p=4), answer("old", 4.0, p=16),
        answer("new", 2.0, p=4), answer("new", 0.5, p=16),
    ]  # fmt: skip
    assert [(c["p"], c["machine"], c["times as fast"]) for c in cells(rows)] == [
        ("4", "old", "1"), ("4", "new", "4"), ("16", "old", "1"), ("16", "new", "8"),
    ]  # fmt: skip


def test_a_lower_bound_is_not_compared():
    bound = answer("new", 1.0, solver="a.bound", lower=1.0)
    rows = [answer("old", 1.0, solver="a.bound", lower=1.0), bound]
    assert side_by_side(rows) is None
    rows += [answer("old", 3.0), answer("new", 1.5)]
    table = side_by_side(rows)
    assert table is not None
    assert table.solver == "x.exact"


def test_a_run_that_one_machine_refuses_is_left_out():
    refused = attrs.evolve(answer("new", 1.0, p=16), time=None, status=Status.REFUSED)
    rows = [answer("old", 8.0), answer("old", 4.0, p=16), answer("new", 2.0), refused]
    assert {c["p"] for c in cells(rows)} == {"4"}


def test_the_solver_with_most_runs_on_all_machines_is_shown():
    rows = [answer(m, 1.0, solver="a.first") for m in ("old", "new")]
    rows += [answer(m, 2.0, solver="b.second", p=p) for m in ("old", "new") for p in (4, 16)]
    table = side_by_side(rows)
    assert table is not None
    assert table.solver == "b.second"


def test_prices_are_compared_in_one_currency_alone():
    def priced(machine: str, price: float, currency: str) -> Row:
        return answer(machine, 1.0, details={"charge": {"price": price, "currency": currency}})

    same = cells([priced("old", 2.0, "USD"), priced("new", 3.0, "USD")])
    assert [c["times as dear"] for c in same] == ["1", "1.5"]
    differing = cells([priced("old", 2.0, "USD"), priced("new", 3.0, "EUR")])
    assert [c["times as dear"] for c in differing] == ["1", ""]


def test_machines_with_their_own_disks_are_compared_and_with_the_same_disks_at_each_number():
    own = cells([answer("old", 2.0, d=3), answer("new", 1.0, d=8)])
    assert [c["times as fast"] for c in own] == ["1", "2"]
    asked = [answer(m, t / d, d=d) for m, t in (("old", 8.0), ("new", 4.0)) for d in (1, 2)]
    assert [(c["d"], c["times as fast"]) for c in cells(asked)] == [
        ("1", "1"), ("1", "2"), ("2", "1"), ("2", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize("parameter", ["n", "processor.rate"])
def test_runs_of_other_settings_are_other_runs(parameter):
    rows = [
        answer(machine, time * n, params={parameter: n})
        for machine, time in (("old", 3.0), ("new", 1.0)) for n in (1, 2)
    ]  # fmt: skip
    assert [(c[parameter], c["times as fast"]) for c in cells(rows)] == [
        ("1", "1"), ("1", "3"), ("2", "1"), ("2", "3"),
    ]  # fmt: skip


def test_one_machine_has_nothing_beside_it():
    assert Results((answer("old", 1.0),)).machines() is None


def test_of_estimates_that_with_the_fewest_caveats_is_shown():
    rows = [answer(m, 1.0, solver="a.first", notes=("too short",)) for m in ("old", "new")]
    aside = ("bottleneck: rough",)
    rows += [answer(m, 2.0, solver="b.second", notes=aside) for m in ("old", "new")]
    table = side_by_side(rows)
    assert table is not None
    assert table.solver == "b.second"
