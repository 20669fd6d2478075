"""Settings that vary: their values, and the rows of every combination."""

from __future__ import annotations

import json
from itertools import product

import attrs
import pytest

from parcast import ParcastError, SolverEntry
from parcast.cli import app
from parcast.comparison import parse_over, read_overs


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("processor.rate=60..480*2 MFLOP/s", ["60 MFLOP/s", "120 MFLOP/s", "240 MFLOP/s",
                                              "480 MFLOP/s"]),
        ("n=64, 102,162", ["64", "102", "162"]),
        ("w=0..0.3+0.1", ["0", "0.1", "0.2", "0.3"]),
        ("n=1..3", ["1", "2", "3"]),
        ("n=5..5*2", ["5"]),
        ("x=1e3..4e3*2 B", ["1000 B", "2000 B", "4000 B"]),
        ("spmd.passages=one,each", ["one", "each"]),
        ("n=1,1.0,1e0,2", ["1", "2"]),
        ("schedule=1f1b,zero-bubble", ["1f1b", "zero-bubble"]),
        ("gradients=fp32,16-bit", ["fp32", "16-bit"]),
    ],
)  # fmt: skip
def test_values_of_over(text, values):
    assert list(parse_over(text).values) == values


def test_numbers_of_over_are_in_base_units():
    assert parse_over("processor.rate=60,120 MFLOP/s").number == (60e6, 120e6)
    assert parse_over("n=64,1.5").number == (64, 1.5)
    assert parse_over("spmd.passages=one,each").number == ("one", "each")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n=3..1", "empty or endless"),
        ("n=1..9*1", "empty or endless"),
        ("n=1..9+0", "empty or endless"),
        ("n=0..9*2", "empty or endless"),
        ("n=1..x", "is no range"),
        ("n=1,,2", "missing between commas"),
        ("n=1 2 3", "then one unit"),
        ("n=1..100000", "more than 1000 values"),
        ("n", "no NAME=VALUE"),
        ("n=p,2", "neither a number nor a word"),
        ("network.startup=60us,70us", "neither a number nor a word"),
        ("n=2*p", "a formula of p and d is for --set"),
    ],
)
def test_over_refuses(text, said):
    with pytest.raises(ParcastError, match=said):
        parse_over(text)


def test_a_setting_is_given_once():
    overs = read_overs(["a=1,2", "b=3"])
    assert {name: over.values for name, over in overs.items()} == {"a": ("1", "2"), "b": ("3",)}
    with pytest.raises(ParcastError, match="--over a is given twice"):
        read_overs(["a=1", "a=2"])


OVER = {"n": [12, "24*p"], "processor.rate": ["1 FLOP/s", 2.0]}
OPTIONS = [
    SolverEntry("works.one", "phases", "parcast_tests:Works", "", options="parcast_tests:Options")
]


def facts(rows):
    return [{**attrs.asdict(row), "solve_seconds": 0} for row in rows]


def test_every_combination_is_a_comparison_of_its_own(make_registry, workload, machine):
    registry = make_registry("many", entries=OPTIONS)
    question = {"p": [1, 2, 4], "d": [1, 3], "settings": {"works.scale": "p/2"}, "seed": 7}
    over = {**OVER, "works.repeat": [1, 2]}
    rows = registry.compare(workload, machine, over=over, **question).rows
    alone = []
    for values in product(*over.values()):
        chosen = dict(zip(over, values, strict=True))
        solvers = ["many", "works"] if chosen["works.repeat"] == 1 else ["works"]
        settings = {**question["settings"], **chosen}
        alone += registry.compare(
            workload, machine, solvers=solvers, **{**question, "settings": settings}
        ).rows
    assert facts(rows) == facts(alone)
    assert len(rows) == 6 * 4 * 3  # no option of the other family is asked of "many" twice
    assert len({json.dumps(row.params) + str(row.p) for row in rows if row.d == 1}) == 3 * 4 * 3


def test_a_study_of_the_same_values_has_the_same_rows(make_registry, workload, machine):
    registry = make_registry("works")
    compared = registry.compare(workload, machine, p=[1, 4], d=1, over=OVER).rows
    study = {"workload": workload, "machine": machine, "p": [1, 4], "d": 1, "set": OVER}
    studied = registry.study(study, executor="threads:1", cache=None).rows
    assert facts(compared) == facts(studied)


def test_many_points_of_all_combinations_are_asked_together(make_registry, workload, machine):
    registry = make_registry("many")
    registry.compare(workload, machine, p=[1, 2], d=1, over=OVER)
    assert sum(type(registry.solver("many.one")).batches[:1]) == 8


def test_provenance_has_the_values(make_registry, workload, machine):
    results = make_registry("works").compare(workload, machine, p=1, over={"n": range(1, 3)})
    assert results.provenance["over"] == {"n": [1, 2]}
    assert "over" not in make_registry("works").compare(workload, machine, p=1).provenance


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({"over": {"n": [1]}, "settings": {"n": 2}}, "n is both set and varied over"),
        ({"over": {"n": []}}, "n is varied over no values"),
        ({"over": {"m": [1]}}, "No parameter, machine value or option is called 'm'"),
        ({"over": {"p": [1]}}, "p is given by -p"),
        ({"over": {"processor.rate": ["1 years"]}}, "not a known unit"),
    ],
)
def test_what_cannot_vary_is_refused(make_registry, workload, machine, question, sentence):
    with pytest.raises(ParcastError, match=sentence):
        make_registry("works").compare(workload, machine, p=1, **question)


def test_a_value_without_meaning_costs_its_points_alone(make_registry, workload, machine):
    rows = make_registry("works").compare(workload, machine, p=[1, 2], over={"n": [6, "1/(2-p)"]})
    assert [row.status.value for row in rows.rows] == ["ok", "ok", "ok", "invalid"]


@pytest.fixture
def command(make_registry, workload, machine, monkeypatch, tmp_path, capsys):
    """Return what runs ``parcast compare`` on files of these."""
    registry = make_registry("works")
    monkeypatch.setattr(app, "Registry", lambda: registry)
    for name, data in (("w.json", workload), ("m.json", machine)):
        (tmp_path / name).write_text(json.dumps(data))

    def run(*arguments):
        files = [str(tmp_path / "w.json"), str(tmp_path / "m.json")]
        code = app.main(["compare", *files, *arguments])
        return code, *capsys.readouterr()

    return run


def test_the_command_varies_settings(command):
    over = ["--over", "processor.rate=1..4*2 kFLOP/s", "--over", "n=12,24"]
    code, out, _ = command("-p", "1", *over, "--json")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert [(row["params"]["processor.rate"], row["params"]["n"]) for row in rows] == [
        (f"{rate} kFLOP/s", n) for rate in (1, 2, 4) for n in (12, 24)
    ]
    assert [row["time"] for row in rows] == [n / r / 1e3 for r in (1, 2, 4) for n in (12, 24)]
    code, out, _ = command("-p", "1", *over)
    assert out.splitlines()[2].split()[2:4] == ["n", "processor.rate"]


def test_what_the_command_refuses_is_one_sentence(command):
    for arguments, sentence in (
        (["--over", "n=1", "--explain"], "--explain asks about one point"),
        (["--over", "n=1", "--over", "n=2"], "--over n is given twice"),
        (["--over", "n"], "no NAME=VALUE"),
    ):
        code, out, err = command("-p", "1", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert sentence in err
