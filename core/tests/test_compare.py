from __future__ import annotations

import numpy as np
import pytest

from parcast import (
    FamilyEntry,
    InvalidPointError,
    Lowering,
    ParcastError,
    SolverEntry,
    Status,
    Workload,
)
from parcast.analysis.advice import advise
from parcast.errors import FileError, FormulaError, UnknownNameError


def times(results):
    return [row.time for row in results.rows]


@pytest.mark.parametrize(
    ("family", "status", "message"),
    [
        ("works", Status.OK, ""),
        ("refuses", Status.REFUSED, "cannot take asynchronous I/O"),
        ("refuseslate", Status.REFUSED, "cannot take this after all"),
        ("squares", Status.INVALID, "p=2 is no square"),
        ("bug", Status.FAILED, "KeyError: 'missing'"),
        ("supportsbug", Status.FAILED, "ZeroDivisionError: in supports"),
        ("makebug", Status.FAILED, "RuntimeError: cannot be made"),
        ("nonsense", Status.FAILED, "the solver gave 5.0 where a Prediction belongs"),
        ("nan", Status.FAILED, "the solver gave the time nan"),
        ("negative", Status.FAILED, "the solver gave the time -1.0"),
        ("slow", Status.NOT_CONVERGED, "after 100 steps"),
    ],
)
def test_what_a_solver_cannot_do_is_a_row_and_the_others_answer(
    make_registry, workload, machine, family, status, message
):
    registry = make_registry(*dict.fromkeys([family, "works"]))
    rows = registry.compare(workload, machine, p=2).rows
    (row,) = [row for row in rows if row.solver.startswith(f"{family}")]
    assert (row.status, row.message) == (status, message)
    assert (row.time is None) == (status is not Status.OK)
    (fine,) = [row for row in rows if row.solver == "works.one"]
    assert fine.time == 6.0
    prediction = registry.predict(workload, machine, f"{family}.one", p=2)
    assert (prediction.status, prediction.message) == (status, message)


def test_a_solver_that_cannot_be_imported_is_a_failed_row(make_registry, workload, machine):
    lost = SolverEntry("lost.one", "phases", "nowhere:Solver", "A test.")
    registry = make_registry("works", entries=[lost])
    failed, fine = registry.compare(workload, machine, p=1).rows
    assert failed.status is Status.FAILED
    assert "'nowhere:Solver' cannot be imported" in failed.message
    assert fine.time == 12.0


def test_a_grid_keeps_its_valid_points(make_registry, workload, machine):
    rows = make_registry("squares").compare(workload, machine, p=[1, 2, 4]).rows
    assert [row.status.value for row in rows] == ["ok", "invalid", "ok"]
    assert [row.speedup for row in rows] == [1.0, None, 4.0]


@pytest.mark.parametrize("family", ["many", "manyfails", "manyloses", "manynonsense"])
def test_many_at_once_give_what_one_by_one_gives(make_registry, workload, machine, family):
    registry = make_registry("works", family)
    results = registry.compare(workload, machine, p=[1, 2, 3, 4], solvers=[family, "works"])
    assert times(results)[::2] == times(results)[1::2] == [12.0, 6.0, 4.0, 3.0]


def test_many_at_once_are_asked_together(make_registry, workload, machine):
    registry = make_registry("many")
    registry.compare(workload, machine, p=[1, 2, 3, 4], d=1)
    cls = type(registry.solver("many.one"))
    assert cls.batches == (4,)


def test_the_speedup_refers_to_one_process_and_one_disk(make_registry, workload, machine):
    workload["phase"][0]["io_bytes"] = 8
    registry = make_registry("works")
    rows = registry.compare(workload, machine, p=[2, 4], d=[1, 2]).rows
    assert [row.time for row in rows] == [14.0, 10.0, 11.0, 7.0]
    assert [row.speedup for row in rows] == [20 / 14, 20 / 10, 20 / 11, 20 / 7]


def test_the_speedup_refers_to_the_same_parameters(make_registry, workload, machine):
    rows = (
        make_registry("works").compare(workload, machine, p=[1, 2, 4], settings={"n": "12*p"}).rows
    )
    assert [row.time for row in rows] == [12.0, 12.0, 12.0]
    assert [row.speedup for row in rows] == [1.0, 2.0, 4.0]
    assert [row.params for row in rows] == [{"n": 12}, {"n": 24}, {"n": 48}]


def test_the_speedup_refers_to_the_same_machine(make_registry, workload, machine):
    other = {**machine, "name": "fast", "processor": {"rate": 2}}
    rows = make_registry("works").compare(workload, [machine, other], p=[2]).rows
    assert [(row.machine, row.time, row.speedup) for row in rows] == [
        ("m", 6.0, 2.0),
        ("fast", 3.0, 2.0),
    ]


def test_machines_that_share_their_data_keep_their_own_reference(make_registry, workload, machine):
    import attrs

    from parcast.model.machine import Processor

    registry = make_registry("works")
    slow = registry.machine(machine)
    fast = attrs.evolve(slow, parts={**slow.parts, "processor": Processor(rate=4.0)})
    rows = registry.compare(workload, [slow, fast], p=2).rows
    assert [row.speedup for row in rows] == [2.0, 2.0]


def test_the_disks_are_the_machines_own_where_not_asked(make_registry, workload, machine):
    registry = make_registry("works")
    assert [row.d for row in registry.compare(workload, machine, p=1).rows] == [3]
    assert [row.d for row in registry.compare(workload, machine, p=1, d=2).rows] == [2]
    given = registry.compare(workload, machine, p=[1, 2], settings={"storage.disks": "2*p"})
    assert [row.d for row in given.rows] == [2, 4]
    assert registry.predict(workload, {"name": "m", "processor": {"rate": 1}}, "works").time == 12


def test_rows_come_by_workload_machine_p_d_and_solver(make_registry, workload, machine):
    registry = make_registry("works", "many")
    results = registry.compare(
        [workload, {**workload, "name": "v"}],
        [machine, {**machine, "name": "k"}],
        p=[4, 2],
        d=[2, 1],
    )
    order = [(r.workload, r.machine, r.p, r.d, r.solver) for r in results.rows]
    assert order == [
        (w, m, p, d, s)
        for w in ("w", "v")
        for m in ("m", "k")
        for p in (4, 2)
        for d in (2, 1)
        for s in ("many.one", "works.one")
    ]


def test_without_p_the_usual_numbers_are_asked(make_registry, workload, machine):
    results = make_registry("works").compare(workload, machine)
    assert [row.p for row in results.rows] == [1, 2, 4, 8, 16, 32, 64]


@pytest.mark.parametrize("name", ["p", "d"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True, "4", [1, 0], float("nan")])
def test_p_and_d_are_whole_numbers_from_one_up(make_registry, workload, machine, name, value):
    with pytest.raises(InvalidPointError, match=f"^{name}=.* must be a whole number from 1 to"):
        make_registry("works").compare(workload, machine, **{name: value})


def test_solvers_families_and_comma_lists_are_taken(make_registry, workload, machine):
    registry = make_registry("works", "many", "slow")

    def asked(solvers):
        results = registry.compare(workload, machine, p=1, solvers=solvers)
        return [row.solver for row in results.rows]

    assert asked(None) == ["many.one", "slow.one", "works.one"]
    assert asked("works") == ["works.one"]
    assert asked("works, many.one") == ["works.one", "many.one"]
    assert asked(["many", "works.one", "many"]) == ["many.one", "works.one"]
    with pytest.raises(UnknownNameError, match=r"No solver is called 'work'. Did you mean"):
        asked("work")


def test_with_no_solver_at_all_the_error_names_the_fix(make_registry, workload, machine):
    with pytest.raises(UnknownNameError, match="install a plugin"):
        make_registry().compare(workload, machine)


def test_on_request_means_only_when_named(make_registry, workload, machine):
    real = SolverEntry("real.run", "phases", "parcast_tests:Works", "x", on_request=True)
    first = SolverEntry("works.a", "phases", "parcast_tests:Bug", "x", on_request=True)
    registry = make_registry("works", entries=[real, first])

    def asked(solvers):
        results = registry.compare(workload, machine, p=1, solvers=solvers)
        return [(row.solver, row.time) for row in results.rows]

    assert asked(None) == [("works.one", 12.0)]
    assert asked("works") == [("works.one", 12.0)]
    assert asked("real") == asked("real.run") == [("real.run", 12.0)]


def test_a_family_names_its_solver_for_the_query(make_registry, workload, machine):
    entries = [
        SolverEntry("picks.large", "phases", "parcast_tests:Works", "x"),
        SolverEntry("picks.small", "phases", "parcast_tests:Works", "x"),
        FamilyEntry("picks", "parcast_tests:default_of_picks", "x"),
    ]
    rows = make_registry(entries=entries).compare(workload, machine, p=[1, 4]).rows
    assert [row.solver for row in rows] == ["picks.small", "picks.large"]
    entries[2] = FamilyEntry("picks", "parcast_tests:unknown_default", "x")
    (row,) = make_registry(entries=entries).compare(workload, machine, p=1).rows
    assert (row.solver, row.status) == ("picks", Status.FAILED)
    assert "No solver is called 'picks.medium'" in row.message


def lowered_registry(make_registry, exact=False):
    way = Lowering("phases", "trace", "parcast_tests:to_trace", "x", exact=exact)
    entry = SolverEntry("traces.one", "trace", "parcast_tests:Traces", "x")
    return make_registry(entries=[entry], hooks={"parcast_lowerings": lambda: [way]})


def test_a_lowered_workload_says_how_and_what_was_fixed(make_registry, workload, machine):
    rows = lowered_registry(make_registry).compare(workload, machine, p=[2, 4]).rows
    assert rows[0].lowering == ("phases -> trace",)
    assert rows[0].notes == ("bursts become constant", "traced")


def test_the_speedups_reference_is_lowered_for_one_process(make_registry, workload, machine):
    rows = lowered_registry(make_registry).compare(workload, machine, p=[2, 4]).rows
    assert [(row.status, row.speedup) for row in rows] == [(Status.OK, 2.0), (Status.OK, 4.0)]


def test_a_workload_of_another_kind_is_refused_with_the_reason(make_registry, machine):
    other = Workload(name="t", kind="trace", content=None)
    (row,) = make_registry("works").compare(other, machine, p=1).rows
    assert row.status is Status.REFUSED
    assert "nothing installed turns 'trace' into that" in row.message


def test_a_recorded_workload_is_asked_at_its_own_p(make_registry, machine):
    recorded = Workload(name="t", kind="trace", content=(8, None), processes=8)
    registry = lowered_registry(make_registry)
    (row,) = registry.compare(recorded, machine).rows
    assert (row.p, row.time, row.speedup) == (8, 1.5, None)
    assert registry.predict(recorded, machine, "traces").time == 1.5


OPTIONED = SolverEntry(
    "tuned.one", "phases", "parcast_tests:Works", "x", options="parcast_tests:Options"
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"tuned.one.method": "fast"}, {"method": "fast"}),
        ({"tuned.method": "a", "tuned.one.method": "b"}, {"method": "b"}),
        ({"tuned.one.repeat": 3}, {"repeat": 3}),
        ({"tuned.one.repeat": "3"}, {"repeat": 3}),
        ({"tuned.one.repeat": "10*p"}, {"repeat": 20}),
        ({"tuned.one.fast": "true"}, {"fast": True}),
        ({"tuned.one.fast": "false"}, {"fast": False}),
        ({"tuned.one.scale": "1/p"}, {"scale": 0.5}),
    ],
)
def test_options_reach_their_solver(make_registry, workload, machine, given, expected):
    registry = make_registry("works", entries=[OPTIONED])
    rows = registry.compare(workload, machine, p=2, settings=given).rows
    seen = {row.solver: row.details["options"] for row in rows}
    for name, value in expected.items():
        assert getattr(seen["tuned.one"], name) == value
    assert seen["works.one"] is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tuned.one.repeat", "2.5", "option: tuned.one.repeat: 2.5 must be a whole number"),
        ("tuned.one.repeat", "often", "option: tuned.one.repeat: 'often' must be a whole number"),
        ("tuned.one.fast", "maybe", "option: tuned.one.fast: 'maybe' must be true or false"),
        ("tuned.one.scale", float("nan"), "option: tuned.one.scale: nan must be a number"),
    ],
)
def test_a_wrong_option_names_itself(make_registry, workload, machine, name, value, message):
    registry = make_registry(entries=[OPTIONED])
    with pytest.raises(FileError) as caught:
        registry.compare(workload, machine, p=2, settings={name: value})
    assert str(caught.value) == message


def test_seed_and_mapping_reach_the_solver(make_registry, workload, machine):
    registry = make_registry("works")
    (row,) = registry.compare(workload, machine, p=2, seed=7, mapping=(1, 0)).rows
    assert (row.seed, row.details["seed"]) == (7, 7)
    assert (row.mapping, row.details["mapping"]) == ((1, 0), (1, 0))
    assert row.speedup == 2.0


def test_each_point_is_told_once_and_no_reference_is(make_registry, workload, machine):
    told = []

    def parcast_point_done(query, prediction):
        told.append((query.p, prediction.time))

    registry = make_registry("works", hooks={"parcast_point_done": parcast_point_done})
    registry.compare(workload, machine, p=[2, 4])
    assert told == [(2, 6.0), (4, 3.0)]


def test_provenance_names_inputs_settings_and_versions(make_registry, workload, machine):
    results = make_registry("works").compare(workload, machine, p=1, settings={"n": 5}, seed=3)
    made = results.provenance
    assert made["settings"] == {"n": 5}
    assert made["seed"] == 3
    assert [one["data"] for one in made["workloads"]] == [workload]
    assert [one["name"] for one in made["machines"]] == ["m"]
    assert {"parcast", "python", "numpy", "platform", "plugins", "run"} <= made.keys()
    again = make_registry("works").compare(workload, machine, p=1, settings={"n": 5}, seed=3)
    stable = {key: value for key, value in made.items() if key != "run"}
    assert stable == {key: value for key, value in again.provenance.items() if key != "run"}


def test_bad_input_is_one_error_before_anything_is_solved(make_registry, workload, machine):
    registry = make_registry("works")
    for wrong in ({"settings": {"m": 1}}, {"solvers": "x"}, {"p": 0}):
        with pytest.raises(ParcastError):
            registry.compare(workload, machine, **wrong)


def test_a_setting_without_a_value_at_one_point_costs_that_point_only(
    make_registry, workload, machine
):
    registry = make_registry("works")
    rows = registry.compare(
        workload, machine, p=[1, 2], settings={"processor.rate": "1e6/(p-1)"}
    ).rows
    assert {row.status for row in rows if row.p == 1} == {Status.INVALID}
    assert all("division by zero" in row.message for row in rows if row.p == 1)
    assert Status.OK in {row.status for row in rows if row.p == 2}


def test_a_setting_without_a_value_anywhere_is_an_error(make_registry, workload, machine):
    registry = make_registry("works")
    with pytest.raises(FormulaError, match="division by zero"):
        registry.compare(workload, machine, p=1, settings={"processor.rate": "1e6/(p-1)"})


def test_numpy_integers_are_whole_numbers(make_registry, workload, machine):
    registry = make_registry("works")
    rows = registry.compare(workload, machine, p=np.arange(1, 3), d=np.int64(1)).rows
    assert {(row.p, type(row.p)) for row in rows} == {(1, int), (2, int)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": []}, "p is empty; give a whole number, or none at all"),
        ({"p": b"4"}, "p=b'4' must be a whole number"),
        ({"p": 10**30}, "must be a whole number from 1 to 10"),
        ({"seed": -1}, "seed -1 must be a whole number, 0 or more"),
        ({"settings": "n=1"}, "settings 'n=1' must be a mapping from name to value"),
        ({"mapping": (0, -1)}, "must hold the number of a node each"),
        ({"mapping": "blok"}, "Did you mean 'block'?"),
        ({"solvers": []}, "No solver was named"),
        ({"workload": None}, "None is no workload; give a name, a file or a mapping"),
        ({"workload": []}, "No workload or no machine was given"),
        ({"machine": 5}, "5 is no machine"),
    ],
)
def test_arguments_of_the_wrong_kind_are_one_sentence(
    make_registry, workload, machine, arguments, message
):
    registry = make_registry("works")
    with pytest.raises(ParcastError) as caught:
        registry.compare(**{"workload": workload, "machine": machine, "p": 1, **arguments})
    assert message in str(caught.value)


def test_a_solver_that_exits_costs_its_row_only(make_registry, workload, machine):
    rows = make_registry("exits", "works").compare(workload, machine, p=1).rows
    assert [row.status for row in rows] == [Status.FAILED, Status.OK]


def test_measured_times_say_what_is_asked_and_give_errors(make_registry, workload, machine):
    registry = make_registry("works")
    (alone,) = registry.compare(workload, machine, p=2, d=1).rows
    times = [{"p": 2, "d": 1, "time": 2 * alone.time}, {"p": 3, "d": 1, "time": 1.0}]
    found = registry.compare(workload, machine, measured=times)
    assert [row.p for row in found.rows] == [2, 3]
    assert found.rows[0].error == -0.5
    assert found.provenance["measured"] == {"source": "the table given", "points": 2, "unused": []}
    (row,) = registry.compare(workload, machine, p=2, d=1, measured=times).rows
    assert row.measured == 2 * alone.time


def test_the_fastest_and_the_cheapest_of_several_machines_are_named(make_registry, workload):
    registry = make_registry("works")
    fast, cheap = (
        {"name": name, "processor": {"rate": rate}, "cost": {"price": price}}
        for name, rate, price in (("fast", 10, "9 USD/h"), ("cheap", 1, "0.1 USD/h"))
    )
    results = registry.compare(workload, [fast, cheap], p=[1, 2], d=1)
    best = results.best()
    assert [one.split(":")[0] for one in best] == ["fastest", "cheapest"]
    assert "on fast, p=2" in best[0]
    assert "on cheap" in best[1]
    assert best[1].endswith(" USD")
    assert "price" in results.table()[0]
    assert registry.compare(workload, {"processor": {"rate": 1}}, p=[1, 2], d=1).best() == []


def test_a_lowering_on_request_leads_only_to_families_that_are_named(
    make_registry, workload, machine
):
    way = Lowering("phases", "trace", "parcast_tests:to_trace", "x", on_request=True)
    entries = [
        SolverEntry("traces.one", "trace", "parcast_tests:Traces", "x"),
        SolverEntry("works.one", "phases", "parcast_tests:Works", "x"),
    ]
    registry = make_registry(entries=entries, hooks={"parcast_lowerings": lambda: [way]})
    assert [row.solver for row in registry.compare(workload, machine, p=2).rows] == ["works.one"]
    (row,) = registry.compare(workload, machine, p=2, solvers="traces").rows
    assert (row.solver, row.lowering) == ("traces.one", ("phases -> trace",))


def test_families_that_cannot_take_the_kind_are_asked_only_by_name(
    make_registry, machine, workload
):
    other = SolverEntry("other", "trace", "parcast_tests:Traces", "Takes traces.")
    registry = make_registry("works", entries=[other])
    assert [row.solver for row in registry.compare(workload, machine, p=1).rows] == ["works.one"]
    (row,) = registry.compare(workload, machine, p=1, solvers="other").rows
    assert row.status is Status.REFUSED
    alone = make_registry(entries=[other])  # where there is no other, it is asked and says why
    assert alone.compare(workload, machine, p=1).rows[0].status is Status.REFUSED


def test_a_family_without_a_choice_answers_by_the_solver_of_the_kind(
    make_registry, workload, machine
):
    entries = [
        SolverEntry("both.first", "trace", "parcast_tests:Traces", "Takes traces."),
        SolverEntry("both.second", "phases", "parcast_tests:Works", "Takes phases."),
        SolverEntry("both.third", "phases", "parcast_tests:Works", "x", on_request=True),
    ]
    registry = make_registry(entries=entries)
    for solvers in (None, "both"):
        (row,) = registry.compare(workload, machine, p=2, solvers=solvers).rows
        assert (row.solver, row.status) == ("both.second", Status.OK)
    way = Lowering("phases", "trace", "parcast_tests:to_trace", "x")
    registry = make_registry(entries=entries[:1], hooks={"parcast_lowerings": lambda: [way]})
    assert registry.compare(workload, machine, p=2).rows[0].solver == "both.first"
    registry = make_registry(entries=entries, hooks={"parcast_lowerings": lambda: [way]})
    assert registry.compare(workload, machine, p=2).rows[0].solver == "both.second"
    defaults = [one.solver for one in advise(registry, workload, machine, p=2) if one.default]
    assert defaults == ["both.second"]
