from __future__ import annotations

import csv
import json
import math
import pickle
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast import Parts, Prediction, Results, Row, Status
from parcast.plugins.entries import load

KEYS = [
    "workload",
    "machine",
    "solver",
    "p",
    "d",
    "mapping",
    "params",
    "seed",
    "time",
    "lower",
    "upper",
    "std",
    "ci",
    "quantiles",
    "speedup",
    "parts",
    "measured",
    "error",
    "status",
    "message",
    "notes",
    "binding",
    "details",
    "lowering",
    "solve_seconds",
]

FULL = Row(
    workload="w",
    machine="m",
    solver="a.one",
    p=4,
    d=2,
    mapping=(0, 1, 0, 1),
    params={"n": 64, "network.bandwidth": "5 MB/s"},
    seed=7,
    time=np.float64(2.0),
    lower=1.0,
    upper=math.inf,
    std=math.nan,
    ci=(1.5, 2.5),
    quantiles={"0.05": 1.25},
    speedup=3.5,
    parts=Parts(1.0, 0.5, 0.25, 0.25),
    notes=("one", "two"),
    binding="network",
    details={
        "array": np.array([[1.0, math.nan], [2.0, 3.0]]),
        "count": np.int64(3),
        "nested": {"x": (1, 2), 5: None},
        "exact": Fraction(1, 3),
        "path": Path("here"),
        "set": frozenset({1}),
        "when": datetime(2000, 1, 1, tzinfo=UTC),
        "flag": True,
    },
    lowering=("phases -> program",),
    solve_seconds=0.5,
)
EMPTY = Row(
    workload="w", machine="m", solver="b", p=1, d=1, status=Status.REFUSED, message="no, “never”"
)
RESULTS = Results((FULL, EMPTY), {"seed": 7, "bad": math.nan, "path": Path("here")})


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


@pytest.mark.parametrize("row", RESULTS.rows)
def test_a_row_has_exactly_the_keys_of_the_schema(row):
    made = row.to_dict()
    assert list(made) == KEYS
    assert through_json(made) == made


def test_the_object_has_schema_rows_and_provenance():
    made = RESULTS.to_dict()
    assert list(made) == ["schema", "rows", "provenance"]
    assert made["schema"] == 1
    assert through_json(made) == made


def test_values_become_what_json_has():
    row = FULL.to_dict()
    assert row["mapping"] == [0, 1, 0, 1]
    assert row["upper"] is None
    assert row["std"] is None
    assert row["ci"] == [1.5, 2.5]
    assert row["parts"] == {
        "compute": 1.0,
        "communication": 0.5,
        "io": 0.25,
        "synchronization": 0.25,
    }
    assert row["status"] == "ok"
    assert row["details"]["array"] == [[1.0, None], [2.0, 3.0]]
    assert row["details"]["count"] == 3
    assert row["details"]["nested"] == {"x": [1, 2], "5": None}
    assert row["details"]["exact"] == "1/3"
    assert row["details"]["flag"] is True
    assert EMPTY.to_dict()["parts"] is None


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.complex_numbers(),
        st.fractions(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(VALUES)
def test_whatever_a_solver_puts_in_details_is_json(value):
    row = Row(workload="w", machine="m", solver="s", p=1, d=1, details={"value": value})
    made = row.to_dict()
    assert through_json(made) == made


def write(registry, suffix, folder):
    path = folder / f"results{suffix}"
    load(registry.writers[suffix].target)(RESULTS, path)
    return path


@pytest.fixture
def registry(make_registry):
    return make_registry()


def test_json_reads_back(registry, tmp_path):
    text = write(registry, ".json", tmp_path).read_text(encoding="utf-8")
    assert json.loads(text) == RESULTS.to_dict()


def test_jsonl_reads_back_a_row_a_line(registry, tmp_path):
    lines = write(registry, ".jsonl", tmp_path).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == RESULTS.to_dict()["rows"]


def test_csv_reads_back_with_dotted_columns(registry, tmp_path):
    with write(registry, ".csv", tmp_path).open(encoding="utf-8", newline="") as file:
        full, empty = csv.DictReader(file)
    assert (full["workload"], full["p"], full["time"]) == ("w", "4", "2.0")
    assert full["parts.compute"] == "1.0"
    assert full["params.network.bandwidth"] == "5 MB/s"
    assert full["quantiles.0.05"] == "1.25"
    assert full["notes"] == "one; two"
    assert full["upper"] == ""
    assert (empty["status"], empty["message"]) == ("refused", "no, “never”")
    assert empty["parts.compute"] == ""


def test_html_is_escaped():
    evil = "<script>alert(1)</script>"
    row = Row(workload=evil, machine=evil, solver=evil, p=1, d=1, notes=(evil,), message=evil,
              status=Status.FAILED, binding=evil)  # fmt: skip
    other = Row(workload="w", machine="m", solver="s", p=1, d=1)
    prediction = Prediction(time=1.0, message=evil, notes=(evil,), details={evil: evil})
    for html in (Results((row, other))._repr_html_(), prediction._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html


def test_machines_and_workloads_show_themselves_escaped(registry):
    evil = "<script>"
    machine = registry.machine({"name": evil, "summary": evil, "nodes": {"groups": [{"count": 1}]}})
    workload = registry.workload({"name": evil, "source": evil, "phase": [{"name": evil}]})
    for value in (machine, workload):
        assert "<script>" not in value._repr_html_()
        assert "&lt;script&gt;" in value._repr_html_()
    assert "nodes.groups[0].count" in machine._repr_html_()
    assert "phase[0].name" in workload._repr_html_()


def test_the_table_leaves_out_what_says_nothing():
    header, rows = RESULTS.table()
    assert "workload" not in header
    assert header[:5] == ["p", "d", "mapping", "seed", "solver"]
    assert header[-1] == ""
    assert rows[1][-1] == "refused: no, “never”"
    assert len({len(row) for row in (header, *rows)}) == 1
    assert Results(()).table() == ([], [])


def test_notes_come_once_with_their_solver():
    assert Results((FULL, FULL)).notes() == ["a.one: one", "a.one: two"]


def test_a_note_of_several_solvers_comes_once():
    rows = (FULL, attrs.evolve(FULL, solver="b.one", notes=("two",)))
    assert Results(rows).notes() == ["a.one: one", "a.one, b.one: two"]


def test_notes_that_differ_in_one_number_are_one_with_its_range():
    said = ("eq. 16 takes 9 times", "none", "eq. 16 takes 1.5 times", "eq. 16 takes 10 times")
    assert Results(tuple(attrs.evolve(FULL, notes=(one,)) for one in said)).notes() == [
        "a.one: eq. 16 takes 1.5 to 10 times",
        "a.one: none",
    ]
    apart = ("at 1 s of 2 s", "at 2 s of 3 s", "at 1 s")
    assert Results((attrs.evolve(FULL, notes=apart),)).notes() == [f"a.one: {one}" for one in apart]


def test_rows_and_results_pickle(make_registry, workload, machine):
    results = make_registry("works").compare(workload, machine, p=[1, 2])
    copy = pickle.loads(pickle.dumps(results))
    assert copy == results
    assert copy.to_dict() == results.to_dict()


def test_parts_add_and_scale_to_their_total():
    parts = Parts(1.0, 2.0, 3.0, 4.0)
    assert (parts + parts) == parts * 2.0 == Parts(2.0, 4.0, 6.0, 8.0)
    assert (parts * 0.5).total == 5.0


def test_a_line_of_json_holds_what_the_row_gives(make_registry, workload, machine):
    rows = list(make_registry("works").compare(workload, machine, p=[1, 4]).rows)
    odd = {"x": float("nan"), "many": (1, 2**70), "deep": {"list": [np.float64(0.5), np.int64(3)]}}
    rows.append(attrs.evolve(rows[0], details=odd, message="\udcff"))
    rows.append(attrs.evolve(rows[0], details=odd, message="é", mapping=(0, 1)))
    for row in rows:
        line = row.to_json()
        assert "\n" not in line
        assert json.loads(line) == row.to_dict()
        assert list(json.loads(line)) == list(row.to_dict())


def test_a_note_says_of_which_p_it_is_where_there_are_others():
    rows = tuple(
        Row(workload="w", machine="m", solver="a", p=p, d=1, time=1.0, notes=notes)
        for p, notes in ((4, ()), (8, ("slow",)), (16, ("slow",)))
    )
    assert Results(rows).notes() == ["a: slow (p = 8, 16)"]
    assert Results(rows[1:]).notes() == ["a: slow"]
