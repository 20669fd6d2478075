"""The reference cases: exact ends, malformed traces with their named errors."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from parcast_perturb.curve import latency_curve
from parcast_perturb.path import critical_path
from parcast_perturb.perturbation import Extra, Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.errors import TraceError
from parcast_traces.readers.neutral import read
from parcast_traces.trace.columns import END

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())["cases"]
NUMERIC = [case for case in CASES if "expected" in case]
MALFORMED = [case for case in CASES if "expected_error" in case]


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def trace_of(case, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(case["trace"]))
    return read(path)


def perturbation(given):
    return Perturbation.of(
        noise=given.get("os", 0),
        latency=given.get("lat", 0),
        per_byte=given.get("per_byte", 0),
        extra=tuple(Extra(**one) for one in given.get("extra", ())),
    )


def recorded(params):
    return Recorded(
        overhead=params["o"], latency=params.get("L"), per_byte=params.get("G"),
        eager_max=params["eager_max"],
    )  # fmt: skip


@named(NUMERIC)
def test_ends_are_those_of_the_reference(case, tmp_path):
    trace, expected = trace_of(case, tmp_path), case["expected"]
    offsets = trace.events.offsets
    for policy, word in (("upper", "clockfree"), ("clocked", "clocked")):
        found = propagate(
            trace, perturbation(case["perturbation"]), recorded(case["params"]), policy,
            every_end=True,
        )  # fmt: skip
        assert (trace.ends + found.final[:, 0]).tolist() == expected[f"{word}_final"]
        ends = trace.events.times[:, END] + found.ends[:, 0]
        by_rank = [ends[a:b].tolist() for a, b in pairwise(offsets)]
        if f"{word}_all_ends" in expected:
            assert by_rank == expected[f"{word}_all_ends"]


@named(NUMERIC)
def test_no_perturbation_gives_every_end_back(case, tmp_path):
    trace = trace_of(case, tmp_path)
    for policy in ("upper", "lower", "clocked"):
        found = propagate(
            trace, Perturbation(), recorded(case["params"]), policy, every_end=True
        )  # fmt: skip
        assert not found.ends.any()


@named(MALFORMED)
def test_malformed_traces_are_named(case, tmp_path):
    with pytest.raises(TraceError) as caught:
        propagate(trace_of(case, tmp_path), Perturbation(), recorded(case["params"]), "upper")
    assert caught.value.name == case["expected_error"]
    assert "rank " in str(caught.value)
    assert "event " in str(caught.value)


@named([case for case in CASES if "sensitivity" in case])
def test_sensitivities(case, tmp_path):
    trace = trace_of(case, tmp_path)
    for expected in case["sensitivity"].values():
        for policy, word in (("upper", "clockfree"), ("clocked", "clocked")):
            found = propagate(
                trace, perturbation(expected["pert"]), recorded(case["params"]), policy
            )
            delay = (trace.ends + found.final[:, 0]).max() - trace.ends.max()
            assert delay == expected[f"{word}_makespan_delay"]
            assert (found.final > 0).sum() == expected["ranks_delayed"]


@named([case for case in CASES if "curve" in case])
def test_the_latency_curve_and_its_slopes_from_the_path(case, tmp_path):
    trace, known = trace_of(case, tmp_path), recorded(case["params"])
    for latency, makespan in case["curve"]:
        found = propagate(trace, Perturbation.of(latency=latency), known, "clocked", causes=True)
        ends = trace.ends + found.final[:, 0]
        assert ends.max() == makespan
        corners = [one["dlat"] for one in case["breakpoints"]]
        if latency not in corners:
            after = sum(latency > corner for corner in corners)
            slope = [*(one["slope_before"] for one in case["breakpoints"]), None][after]
            slope = case["breakpoints"][-1]["slope_after"] if slope is None else slope
            path = critical_path(trace, found.cause, int(ends.argmax()))
            assert path.messages == slope


@named([case for case in CASES if "curve" in case])
def test_the_corners_of_the_latency_curve_are_found(case, tmp_path):
    found = latency_curve(trace_of(case, tmp_path), recorded(case["params"]), "clocked", 600)
    assert found.corners == tuple(one["dlat"] for one in case["breakpoints"])
    assert [piece.slope for piece in found.pieces] == [0, 1, 2]
    assert found.tolerance(0.01) == pytest.approx(140 + 7.6)
    assert found.tolerance(10) is None or found.tolerance(10) > 600


@named([case for case in CASES if case["name"].startswith("35")])
def test_the_token_ring_of_the_paper_delays_every_rank_by_its_place(case, tmp_path):
    trace = trace_of(case, tmp_path)
    found = propagate(trace, perturbation({"lat": 100}), recorded(case["params"]), "clocked")
    delays = found.final[:, 0]
    assert delays[0] == 128_000
    assert delays[1:].tolist() == [(9 * 128 + rank) * 100 for rank in range(1, 128)]
    assert delays.mean() == pytest.approx(121_650, abs=0.5)
