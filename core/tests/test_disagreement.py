"""Times that are far from what other families agree on say so, and only those."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from parcast.comparison.disagreement import with_disagreement
from parcast.results.row import Row


def row(solver: str, time: float | None, **fields) -> Row:
    return Row(workload="w", machine="m", solver=solver, p=4, d=1, time=time, **fields)


def notes(*rows: Row) -> dict[str, tuple[str, ...]]:
    query = SimpleNamespace(
        workload=SimpleNamespace(name="w"), machine=SimpleNamespace(name="m"), p=4, d=1
    )
    question = SimpleNamespace(query=query, settings=None)
    judged = with_disagreement([question] * len(rows), rows)
    return {row.solver: row.notes for row in judged if row.notes}


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (0.05, "too short here: less than a tenth of"),
        (0.2, "too short here: less than a quarter of"),
        (0.79, "too short here: less than four fifths of"),
        (1.3, "too long here: more than 1.2 times"),
        (30, "too long here: more than 10 times"),
    ],
)
def test_what_is_far_says_which_way_and_how_far(time, words):
    said = notes(row("a.one", 1.0), row("b", 1.005), row("c", time))
    assert said == {"c": (f"{words} what a.one and b agree on",)}


def test_near_times_bounds_and_refusals_are_not_judged():
    agreed = row("a.one", 1.0), row("b", 1.0)
    assert notes(*agreed, row("c", 1.15)) == {}
    assert notes(*agreed, row("c", 0.1, lower=0.1)) == {}
    assert notes(*agreed, row("c", 9.0, upper=9.0)) == {}
    assert notes(*agreed, row("c", 3.0, lower=0.9, upper=4.0)) == {}
    assert notes(*agreed, row("c", None)) == {}


def test_a_family_alone_or_as_many_against_as_for_agree_on_nothing():
    assert notes(row("a.one", 1.0), row("a.two", 1.0), row("c", 5.0)) == {}
    assert notes(row("a.one", 1.0), row("b", 1.0), row("c", 5.0), row("d", 5.0)) == {}
    assert notes(row("a.one", 1.0, lower=1.0), row("b", 1.0), row("c", 5.0)) == {}
    assert notes() == {}
