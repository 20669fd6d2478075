"""What a record says of a prediction: widened intervals, and plain words where there is none."""

from __future__ import annotations

import random

import pytest

from parcast.model import ErrorRecord
from parcast.testing import seeds

MACHINE = {"name": "m", "processor": {"rate": "1 +- 0.05"}}
KNOWN = ErrorRecord(factor=1.5, level=0.9, points=34, datasets=("runs",), record="board of today")


@pytest.fixture
def asked(make_registry):
    """Return a registry whose plugin says what is known, and what that was asked."""

    def make(known):
        heard = []

        def parcast_usual_error(solver, distance):
            heard.append((solver, distance))
            return known

        return make_registry("works", hooks={"parcast_usual_error": parcast_usual_error}), heard

    return make


def test_the_record_is_asked_beyond_what_was_measured(asked, workload):
    registry, heard = asked(KNOWN)
    exact = registry.compare(workload, MACHINE, p=[1, 2, 4, 8]).rows
    measured = [{"p": row.p, "time": row.time * 1.01} for row in exact[:2]]
    rows = registry.compare(workload, MACHINE, p=[1, 2, 4, 8], measured=measured).rows
    assert heard == [("works", 2.0), ("works", 4.0)]
    assert [row.details.get("record", {}).get("distance") for row in rows] == [None, None, 2, 4]
    assert rows[2].details["record"]["interval"] == [rows[2].time / 1.5, rows[2].time * 1.5]
    assert rows[2].notes[-1] == (
        "measured times are within -33 % .. +50 % of it in 90 % of cases at 2 times the largest "
        "measured p (34 points of runs)"
    )
    assert [row.time for row in rows] == [row.time for row in exact]


def test_a_curve_whose_problem_grows_by_a_formula_is_one_series(asked, workload):
    registry, heard = asked(KNOWN)
    settings = {"n": "12*p"}
    exact = registry.compare(workload, MACHINE, p=[1, 2, 4], settings=settings).rows
    measured = [{"p": row.p, "time": row.time} for row in exact[:2]]
    rows = registry.compare(
        workload, MACHINE, p=[1, 2, 4], settings=settings, measured=measured
    ).rows
    assert heard == [("works", 2.0)]
    assert "interval" in rows[2].details["record"]


def test_what_is_not_calibrated_has_no_distance(asked, workload):
    registry, heard = asked(None)
    exact = registry.compare(workload, MACHINE, p=[1]).rows[0].time
    rows = registry.compare(
        workload, MACHINE, p=[1, 2], measured=[{"p": 1, "time": exact * 1.1}]
    ).rows
    assert heard == [("works", None)]
    assert rows[1].notes[-1] == (
        "no record of how far it usually is off where it is -9.1 % off at the measured points "
        "(parcast fit calibrates)"
    )


def test_the_interval_of_samples_is_widened_at_both_ends(asked, workload):
    for seed in seeds(20):
        factor = random.Random(seed).uniform(1, 9)
        known = ErrorRecord(factor=factor, level=0.9, points=9, datasets=("runs",))
        registry, heard = asked(known)
        (row,) = registry.compare(workload, MACHINE, p=1, uncertainty=20).rows
        low, high = row.details["uncertainty"]["interval"]
        assert heard == [("works", None)]
        assert row.details["record"]["interval"] == [low / factor, high * factor]


def test_simulated_times_widen_nothing(asked, workload):
    registry, _ = asked(
        ErrorRecord(factor=1.03, level=0.9, points=9, datasets=("runs",), simulated=True)
    )
    (row,) = registry.compare(workload, MACHINE, p=1, uncertainty=20).rows
    assert "interval" not in row.details["record"]
    assert "no record against measured times" in row.notes[-1]
    assert "within ±3 % of simulated ones" in row.notes[-1]


def test_without_a_plugin_nothing_is_said(make_registry, workload):
    (row,) = make_registry("works").compare(workload, MACHINE, p=1, uncertainty=20).rows
    assert row.notes == ("worked",)
    assert "record" not in row.details
