"""What uncertain numbers make of a time."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from parcast import ParcastError, Status
from parcast.cli import app as command
from parcast.model.machine import Machine, Processor
from parcast.quantities.formulas import is_uncertain, parse_quantity
from parcast.quantities.units import UnitError

SAMPLES = 400


def uncertain(registry, workload, machine, samples=SAMPLES, **asked):
    results = registry.compare(workload, machine, p=1, uncertainty=samples, **asked)
    return results.rows[0].details["uncertainty"]


@pytest.mark.parametrize(
    ("text", "value", "spread", "dimension"),
    [
        ("27 +- 1 MB/s", 27e6, 1e6, "B/s"),
        ("25 to 29 MB/s", 27e6, 4e6 / math.sqrt(12), "B/s"),
        ("lognormal:27MB/s,3MB/s", 27e6, 3e6, "B/s"),
        ("uniform:0,2", 1.0, 2 / math.sqrt(12), ""),
        ("gamma:4,20ms", 0.02, 0.01, "s"),
        ("5 to 5 s", 5.0, 0.0, "s"),
        ("27 ± 1 MB/s", 27e6, 1e6, "B/s"),
        ("27+/-1MB/s", 27e6, 1e6, "B/s"),
        ("100 MFLOP/s to 0.12 GFLOP/s", 110e6, 20e6 / math.sqrt(12), "FLOP/s"),
        ("0.2 to 0.4", 0.3, 0.2 / math.sqrt(12), ""),
        ("20 to 40 %", 0.3, 0.2 / math.sqrt(12), "1"),
    ],
)
def test_an_uncertain_number_has_a_mean_and_a_deviation(text, value, spread, dimension):
    found = parse_quantity(text)
    assert found.value == pytest.approx(value)
    assert found.spread == pytest.approx(spread)
    assert found.dimension == dimension
    assert is_uncertain(text) == (spread > 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("29 to 25 MB/s", "the first bound is above the second"),
        ("25 to 29 Mb/s", "Did you mean Mbit/s or MB/s?"),
        ("27 +- -1 s", "has a negative uncertainty"),
        ("100 MB to 120 s", "both bounds need a unit of the same kind"),
        ("100 MB to 120", "both bounds need a unit of the same kind"),
        ("27 +- 5%", 'what the percent are of; write "27 +- 1.35" or "0.27 +- 0.05"'),
        ("exp:-1 s", "mean must be 0 or more"),
        ("exp:1s,2s", "needs the form exp:mean"),
        ("uniform:1s,2B", "is in B, not in s"),
    ],
)
def test_a_wrong_one_is_told(text, message):
    assert is_uncertain(text)  # so that it is read as one, which says what is wrong
    with pytest.raises(UnitError, match=re.escape(message)):
        parse_quantity(text)


@pytest.mark.parametrize(
    "value", [5, 2.0, "5", "5 s", "2*p", "w", None, True, "4 + -1", "normol:3,4", "n +- 1"]
)
def test_other_values_are_certain(value):
    assert not is_uncertain(value)


def test_the_interval_is_that_of_the_law(make_registry, workload):
    registry = make_registry("works")  # time = n / rate
    machine = {"name": "m", "processor": {"rate": "2 to 4 FLOP/s"}}
    found = uncertain(registry, workload, machine, samples=4000)
    low, high = found["interval"]
    assert low == pytest.approx(12 / 3.95, rel=0.01)
    assert high == pytest.approx(12 / 2.05, rel=0.01)
    assert found["causes"] == {"processor.rate": pytest.approx(1.0)}
    assert found["samples"] == 4000


def test_the_time_itself_stays_that_of_the_stated_numbers(make_registry, workload):
    registry = make_registry("works")
    machine = {"name": "m", "processor": {"rate": "4 +- 1 FLOP/s"}}
    (row,) = registry.compare(workload, machine, p=1, uncertainty=50).rows
    assert row.time == 3.0


def test_what_varies_most_is_named_first_and_what_does_not_matter_is_left_out(make_registry):
    registry = make_registry("works")  # time = parallel / rate + serial / rate
    workload = {
        "name": "w",
        "parameters": {"n": "12 +- 3", "k": "5 +- 1"},
        "phase": [{"parallel": "n", "serial": "1 +- 0.5 FLOP"}],
    }
    found = uncertain(registry, workload, {"name": "m", "processor": {"rate": "1 +- 0.01"}})
    assert next(iter(found["causes"])) == "n"
    assert found["causes"]["n"] == pytest.approx(9 / 9.27, abs=0.06)
    assert "k" not in found["causes"]


def test_the_law_of_bursts_is_no_uncertain_number(make_registry, machine):
    workload = {"name": "w", "phase": [{"parallel": 1, "distribution": "erlang:4,1"}]}
    with pytest.raises(ParcastError, match="no number of machine, workload or settings"):
        make_registry("works").compare(workload, machine, uncertainty=100)


def test_settings_may_be_uncertain_and_take_the_place_of_others(make_registry, workload):
    registry = make_registry("works")
    machine = {"name": "m", "processor": {"rate": "1 +- 0.5"}}
    found = uncertain(registry, workload, machine, settings={"n": "100 +- 1", "processor.rate": 1})
    assert list(found["causes"]) == ["n"]
    assert found["median"] == pytest.approx(100, rel=0.01)
    (row,) = registry.compare(workload, machine, p=1, settings={"n": "100 +- 1"}).rows
    assert row.time == 100.0  # and no sum of 100 and -1
    found = uncertain(registry, workload, machine, settings={"processor.rate": "10 +- 1 FLOP/s"})
    assert found["median"] == pytest.approx(1.2, rel=0.02)


def test_a_number_above_zero_stays_there(make_registry, workload):
    registry = make_registry("works")
    machine = {"name": "m", "processor": {"rate": "1 +- 1"}}
    found = uncertain(registry, workload, machine)
    assert found["samples"] == SAMPLES
    assert found["interval"][0] > 0


def test_samples_are_the_same_for_every_solver_and_point(make_registry, workload):
    registry = make_registry("works", "many")
    machine = {"name": "m", "processor": {"rate": "4 +- 1 FLOP/s"}}
    rows = registry.compare(workload, machine, p=[1, 2], uncertainty=50).rows
    first = np.array(rows[0].details["uncertainty"]["interval"])
    assert list(first) == rows[1].details["uncertainty"]["interval"]
    assert first / 2 == pytest.approx(rows[2].details["uncertainty"]["interval"])
    again = registry.compare(workload, machine, p=[1, 2], uncertainty=50).rows
    assert [r.details["uncertainty"] for r in again] == [r.details["uncertainty"] for r in rows]
    other = registry.compare(workload, machine, p=[1, 2], uncertainty=50, seed=1).rows
    assert other[0].details["uncertainty"] != rows[0].details["uncertainty"]


def test_samples_without_an_answer_are_told(make_registry):
    registry = make_registry("works")
    workload = {"name": "w", "parameters": {"n": "2 +- 0.5"}, "phase": [{"cycles": "sqrt(n - 2)"}]}
    machine = {"name": "m", "processor": {"rate": 1}}
    (row,) = registry.compare(workload, machine, p=1, settings={"n": 3}, uncertainty=0).rows
    assert row.status is Status.OK
    (row,) = registry.compare(
        workload, machine, p=1, settings={"n": "2.5 +- 0.5"}, uncertainty=100
    ).rows
    known = row.details["uncertainty"]["samples"]
    assert 60 < known < 100
    lost = row.details["uncertainty"]["unanswered"]
    assert lost == {"count": 100 - known, "reason": lost["reason"]}
    assert "phase[0].cycles" in lost["reason"]
    assert row.notes[-1] == (
        f"{100 - known} of 100 samples of the uncertain numbers have no answer, mostly because: "
        f"{lost['reason']}; the interval is without them"
    )


def test_where_no_sample_has_an_answer_the_note_says_why(make_registry):
    registry = make_registry("works")
    workload = {"name": "w", "parameters": {"n": "1 +- 0.1"}, "phase": [{"cycles": "1/(n == 1)"}]}
    machine = {"name": "m", "processor": {"rate": 1}}
    (row,) = registry.compare(workload, machine, p=1, uncertainty=20).rows
    assert row.status is Status.OK
    found = row.details["uncertainty"]
    assert (found["samples"], found["interval"]) == (0, None)
    assert found["unanswered"]["count"] == 20
    assert "division by zero" in found["unanswered"]["reason"]
    assert row.notes[-1].endswith("division by zero; there is no interval")


def test_formulas_see_the_values_that_are_drawn(make_registry):
    registry = make_registry("works")
    workload = {
        "name": "w",
        "parameters": {"m": "100 +- 10", "k": 1},
        "phase": [{"parallel": "k"}],
    }
    machine = {"name": "m", "processor": {"rate": 1}}
    half = uncertain(registry, workload, machine, settings={"k": "m/2"})
    whole = uncertain(registry, workload, machine, settings={"k": "m"})
    assert whole["std"] == pytest.approx(10, rel=0.15)
    assert whole["std"] == pytest.approx(2 * half["std"])
    assert list(whole["causes"]) == ["m"]


def test_a_number_that_is_set_is_drawn_only_where_a_setting_reads_the_stated_one(make_registry):
    registry = make_registry("works")
    workload = {
        "name": "w",
        "parameters": {"m": "100 +- 10", "k": 0},
        "phase": [{"parallel": "m", "serial": "k"}],
    }
    machine = {"name": "m", "processor": {"rate": 1}}
    found = uncertain(registry, workload, machine, settings={"m": "5 +- 1", "k": "m"})
    assert found["median"] == pytest.approx(105, rel=0.02)
    assert next(iter(found["causes"])) == "parameters.m"
    with pytest.raises(ParcastError, match="no number"):
        uncertain(registry, workload, machine, settings={"m": 5})
    rated = {"name": "m", "processor": {"rate": "4 +- 1"}}
    with pytest.raises(ParcastError, match="no number"):
        uncertain(registry, workload, rated, settings={"m": 5, "processor.rate": 4})


def test_a_machine_with_parts_that_no_file_states_keeps_them(make_registry, workload):
    registry = make_registry("works")
    made = Machine(name="made", parts={"processor": Processor(rate=4.0)})
    found = uncertain(registry, workload, made, settings={"network.startup": "2 +- 1 s"})
    assert found["samples"] == SAMPLES
    assert found["interval"] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("path", "text", "least", "most"),
    [
        ("network.contention_level", "0.9 +- 0.2", 0, 1),
        ("network.contention_level", "sampled:0,0.5", 0, 1),
        ("network.startup", "0 +- 1 us", 0, math.inf),
        ("network.bandwidth", "-1 to 3 B/s", 1e-12, math.inf),
    ],
)
def test_draws_stay_within_the_range_of_their_field(
    make_registry, monkeypatch, workload, path, text, least, most
):
    registry, drawn = make_registry("works"), []
    solver = type(registry.solver("works.one"))
    solve = solver.solve

    def watch(self, query):
        drawn.append(getattr(query.machine.network, path.split(".")[1]))
        return solve(self, query)

    monkeypatch.setattr(solver, "solve", watch)
    machine = {"name": "m", "processor": {"rate": 4}}
    found = uncertain(registry, workload, machine, settings={path: text})
    assert found["samples"] == SAMPLES
    assert "unanswered" not in found
    drawn = drawn[-SAMPLES:]  # the first is the stated number
    assert least <= min(drawn) < max(drawn) <= most
    assert (min(drawn) == 0) == text.startswith("sampled")


def test_what_is_hardly_ever_possible_has_no_answer(make_registry, workload):
    machine = {"name": "m", "processor": {"rate": 4}}
    settings = {"network.contention_level": "0.5 +- 10000"}
    found = uncertain(make_registry("works"), workload, machine, samples=50, settings=settings)
    assert found["samples"] < 50
    assert "must be at most 1" in found["unanswered"]["reason"] or "0 or more" in str(found)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("60 to 50", "the first bound is above the second"),
        ("lognormal:60,-1", "std must be 0 or more"),
        ("exp:-3", "mean must be 0 or more"),
        ("normol:60,1", "n=normol:60,1"),
        ("27 +- 5%", "what the percent are of"),
    ],
)
def test_a_wrong_setting_is_told_and_not_that_nothing_is_uncertain(
    make_registry, workload, machine, value, message
):
    with pytest.raises(ParcastError, match=r"^n=") as caught:
        make_registry("works").compare(workload, machine, settings={"n": value}, uncertainty=50)
    assert message in str(caught.value)


def test_solvers_that_do_not_answer_have_no_samples(make_registry, workload):
    registry = make_registry("refuses")
    machine = {"name": "m", "processor": {"rate": "4 +- 1 FLOP/s"}}
    (row,) = registry.compare(workload, machine, p=1, uncertainty=50).rows
    assert row.status is Status.REFUSED
    assert "uncertainty" not in row.details


@pytest.mark.parametrize("samples", [1, -5, 2.5, True])
def test_a_number_of_samples_that_is_none_is_told(make_registry, workload, machine, samples):
    with pytest.raises(ParcastError, match=r"^uncertainty: \S+ must be a number of samples, such"):
        make_registry("works").compare(workload, machine, uncertainty=samples)


def test_where_nothing_is_uncertain_that_is_told(make_registry, workload, machine):
    registry = make_registry("works")
    with pytest.raises(ParcastError, match=r'^uncertainty: no number .* state one, such as "27'):
        registry.compare(workload, machine, uncertainty=100)
    with pytest.raises(ParcastError, match=r"^study: uncertainty: no number"):
        registry.study({"workload": workload, "machine": machine, "uncertainty": 100})


@pytest.mark.parametrize("words", [["compare"], ["predict", "--solver", "works"]])
def test_the_command_names_its_option(make_registry, monkeypatch, tmp_path, capsys, words):
    registry = make_registry("works")
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.toml").write_text("[[phase]]\nparallel = 12\n")
    (tmp_path / "m.toml").write_text("[processor]\nrate = 4\n")
    assert command.main([*words, "w.toml", "m.toml", "-p", "1", "--uncertainty", "100"]) == 2
    assert capsys.readouterr().err.startswith("parcast: --uncertainty: no number of machine")


def test_the_table_shows_interval_and_cause(make_registry, monkeypatch, tmp_path, capsys):
    registry = make_registry("works")
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.toml").write_text("[[phase]]\nparallel = 12\n")
    (tmp_path / "m.toml").write_text("[processor]\nrate = '4 +- 1 FLOP/s'\n")
    assert command.main(["compare", "w.toml", "m.toml", "-p", "1", "--uncertainty", "100"]) == 0
    out, _ = capsys.readouterr()
    assert "95 % of samples" in out
    assert "processor.rate (100 %)" in out


def test_a_study_draws_too(make_registry, workload):
    registry = make_registry("works")
    machine = {"name": "m", "processor": {"rate": "4 +- 1 FLOP/s"}}
    study = {"workload": workload, "machine": machine, "p": [1, 2], "uncertainty": 50}
    rows = registry.study(study, executor="threads:1", cache=None).rows
    compared = registry.compare(workload, machine, p=[1, 2], uncertainty=50).rows
    assert [row.details for row in rows] == [row.to_dict()["details"] for row in compared]
