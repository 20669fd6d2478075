"""Which solvers can answer, in which order, and why they disagree."""

from __future__ import annotations

import json
import sys

import pytest

from parcast import FamilyEntry, Lowering, ParcastError, SolverEntry
from parcast.analysis.advice import advise, disagreement
from parcast.cli import app as command


@pytest.fixture
def registry(make_registry):
    more = [
        SolverEntry("picks.small", "phases", "parcast_tests:Works", "A test."),
        SolverEntry("picks.large", "phases", "parcast_tests:Many", "A test."),
        SolverEntry("quiet.one", "phases", "parcast_tests:Bug", "A test.", on_request=True),
        SolverEntry("traces.one", "trace", "parcast_tests:Traces", "A test."),
        FamilyEntry("picks", "parcast_tests:default_of_picks", "A test."),
    ]
    lowering = Lowering("phases", "trace", "parcast_tests:to_trace", "A test.")
    hooks = {"parcast_lowerings": lambda: [lowering]}
    return make_registry("refuses", "squares", "slow", "bug", entries=more, hooks=hooks)


def found(registry, workload, machine, **asked):
    return {
        one.solver: one for one in advise(registry, workload, machine, **{"every": True, **asked})
    }


def test_those_that_answer_come_first_and_of_these_the_exact_ones(registry, workload, machine):
    order = list(found(registry, workload, machine, p=3))
    assert set(order[:2]) == {"picks.small", "picks.large"}
    assert order[2:4] == ["traces.one", "quiet.one"]  # able; and able, but on request only
    assert set(order[4:]) == {"bug.one", "refuses.one", "slow.one", "squares.one"}


def test_what_each_gives_assumes_and_is_reached_by(registry, workload, machine):
    said = found(registry, workload, machine, p=3)
    large, trace = said["picks.large"], said["traces.one"]
    assert (large.default, large.exact, large.lowering) == (True, True, ())
    assert (large.gives, large.departures) == (("parts",), ("worked",))
    assert not said["picks.small"].default
    assert (trace.exact, trace.lowering) == (False, ("phases -> trace",))
    assert trace.departures == ("bursts become constant", "traced")
    assert said["refuses.one"].prediction.message == "cannot take asynchronous I/O"
    assert said["squares.one"].prediction.message == "p=3 is no square"
    assert not said["slow.one"].has_answer


def test_a_point_that_is_not_given_is_the_usual_one(registry, workload, machine):
    said = found(registry, workload, machine)
    assert said["picks.small"].prediction.time == 12 / 16
    assert found(registry, workload, machine, p=3, settings={"n": 24})[
        "picks.small"
    ].prediction.time == pytest.approx(8)


def test_asked_are_those_of_a_comparison_and_those_that_are_cheap(make_registry, workload, machine):
    more = [
        SolverEntry("picks.small", "phases", "parcast_tests:Works", "A test."),
        SolverEntry("picks.large", "phases", "parcast_tests:Many", "A test."),
        FamilyEntry("picks", "parcast_tests:default_of_picks", "A test."),
        SolverEntry("states.cheap", "phases", "parcast_tests:Cheap", "A test."),
        SolverEntry("states.dear", "phases", "parcast_tests:Dear", "A test."),
        SolverEntry("traces.one", "trace", "parcast_tests:Traces", "A test."),
    ]
    lowering = Lowering("phases", "trace", "parcast_tests:to_trace", "A test.", on_request=True)
    registry = make_registry(entries=more, hooks={"parcast_lowerings": lambda: [lowering]})
    said = found(registry, workload, machine, p=3, every=False)
    asked = {name for name, one in said.items() if one.was_asked}
    assert asked == {"picks.large", "states.cheap"}
    dear, trace = said["states.dear"], said["traces.one"]
    assert (dear.has_answer, dear.cost, dear.satisfied) == (True, 90.0, ("simple",))
    assert dear.departures == ("assumes that small, but here p=3",)
    assert (trace.has_answer, trace.departures) == (True, ("bursts become constant",))
    assert {name for name, one in found(registry, workload, machine).items() if one.was_asked} == {
        *said
    }


def test_lower_bounds_disagree_with_nobody(make_registry, workload, machine):
    entries = [SolverEntry("bound.one", "phases", "parcast_tests:Bound", "A test.")]
    registry = make_registry("works", entries=entries)
    said = disagreement(advise(registry, workload, machine, p=4))
    assert said == ["Lower bounds, not estimates, are the times of bound.one."]


def test_how_far_answers_are_apart_and_what_only_one_says(registry, workload, machine):
    assert disagreement(advise(registry, workload, machine, p=4)) == [
        "All answers are within 1 % of each other."
    ]
    workload["phase"][0]["serial"] = 9
    said = disagreement(advise(registry, workload, machine, p=4))
    assert said[0].startswith("Answers differ by a factor of 4: 3 s by traces.one; 12 s by ")
    assert "Only traces.one: bursts become constant" in said
    assert any(one.endswith(": worked") for one in said)


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"p": 0}, "p=0 must"), ({"seed": -1}, "seed"), ({"mapping": "blok"}, "Did you mean 'block'")],
)
def test_bad_input_is_refused(registry, workload, machine, asked, message):
    with pytest.raises(ParcastError, match=message):
        advise(registry, workload, machine, **asked)


def test_the_command_prints_a_table_and_reasons(
    registry, workload, machine, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.setattr(sys, "argv", ["parcast"])
    for name, value in (("w", workload), ("m", machine)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    line = ["advise", str(tmp_path / "w.json"), str(tmp_path / "m.json"), "-p", "3", "--every"]
    assert command.main(line) == 0
    shown = capsys.readouterr().out
    assert "picks.large*" in shown
    assert "phases -> trace (approximately)" in shown
    assert "refuses.one refused: cannot take asynchronous I/O" in shown
    assert command.main([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["solvers"][0]["status"] == "ok"
    assert told["why"] == ["All answers are within 1 % of each other."]


def test_where_none_can_answer_the_exit_code_says_so(
    make_registry, workload, machine, monkeypatch, capsys, tmp_path
):
    registry = make_registry("refuses")
    monkeypatch.setattr(command, "Registry", lambda: registry)
    for name, value in (("w", workload), ("m", machine)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    assert command.main(["advise", str(tmp_path / "w.json"), str(tmp_path / "m.json")]) == 1
    assert capsys.readouterr().out == "refuses.one refused: cannot take asynchronous I/O\n"
