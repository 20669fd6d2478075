"""What is missing is found where it was put in, and not where errors are noise."""

from __future__ import annotations

import random
from pathlib import Path

import attrs
import pytest

import parcast_score
from parcast import Parts, Prediction, Registry
from parcast.errors import FileError
from parcast.files import read_dataset
from parcast.model import Dataset, Measured, Point
from parcast.testing import seeds
from parcast_score.board import Score, score
from parcast_score.diagnosis import lacks, missing
from parcast_score.experiments import asked_again, better, left_open, with_more, without
from parcast_score.parts import growing_parts
from parcast_score.statistics import Answer
from parcast_score.trends import trend


def scored(factors, units=("code", "system"), predictor="ideal", by_solver=False):
    """Return a score of points that are off by factors, which facts tell apart."""
    answers, calibrating, blind = [], [], []
    for index, (facts, factor) in enumerate(factors):
        known = Point(f"s{index}", 1.0, 1.0, facts)
        measured = Measured(attrs.evolve(known, size=2.0), 1.0)
        calibrating.append(Measured(known, 2.0))
        blind.append(measured)
        answers.append(Answer(measured, Prediction(time=factor), blind=True))
    dataset = Dataset(
        name="d", summary="", source="", licence="MIT", commit="", method="", unit="s",
        counts="nodes", split="largest", calibrating=tuple(calibrating), blind=tuple(blind),
        units=dict.fromkeys(units, "text"),
    )  # fmt: skip
    return Score(
        dataset=dataset, spec="d", predictor=predictor, by_solver=by_solver,
        answers=tuple(answers), cpu_seconds=0.0, question="", predictions="",
    )  # fmt: skip


def test_the_fact_that_errors_go_by_is_named():
    for seed in seeds(20):
        draw = random.Random(seed)
        biases = {"lammps": 0.6, "amg": 1.3, "kripke": 0.8}
        factors = [
            ({"code": code, "system": draw.choice("abc")}, bias * draw.uniform(0.98, 1.02))
            for code, bias in biases.items()
            for _ in range(5)
        ]
        lack = missing(scored(factors))
        assert (lack.fact, lack.groups[0][0]) == ("code", "lammps")
        assert lack.after < 0.06
        assert lack.before > 0.15
        (sentence,) = lacks(scored(factors), [])
        assert "goes by code" in sentence


def test_noise_is_no_missing_part():
    named = 0
    for seed in seeds(100):
        draw = random.Random(seed)
        factors = [
            ({"code": draw.choice("xyz"), "system": draw.choice("abc")}, draw.uniform(0.5, 1.6))
            for _ in range(20)
        ]
        named += missing(scored(factors)) is not None
    assert named <= 10  # one of twenty, and three standard deviations


def test_what_all_points_share_is_told_as_such():
    for seed in seeds(5):
        draw = random.Random(seed)
        factors = [
            ({"code": draw.choice("xyz"), "system": draw.choice("abc")}, draw.uniform(0.69, 0.71))
            for _ in range(15)
        ]
        (sentence,) = lacks(scored(factors), [])
        assert sentence.startswith("all 15 points are off alike, by -")


def test_errors_below_ten_percent_are_not_explained():
    factors = [({"code": code, "system": "a"}, 1.05) for code in "xxyy"]
    assert lacks(scored(factors), []) == []


def test_a_solver_that_is_right_shows_that_workload_and_machine_are():
    wrong = scored([({"code": "x", "system": "a"}, factor) for factor in (1.2, 0.6, 1.9, 0.5, 1.3)])
    wrong = attrs.evolve(wrong, by_solver=True)
    right = scored([({"code": "x", "system": "a"}, 1.01)] * 5, predictor="exact", by_solver=True)
    assert "exact has a median of 1 % with the same workloads" in lacks(wrong, [wrong, right])[-1]
    rule = attrs.evolve(right, by_solver=False)
    assert "is not found" in lacks(wrong, [wrong, rule])[-1]


def test_parts_that_do_not_shrink_are_told(tmp_path):
    (tmp_path / "dataset.toml").write_text(
        'name="d"\nsummary="s"\nsource="s"\nlicence="MIT"\nmethod="m"\nunit="s"\ncounts="nodes"\n'
        '[split]\nblind="largest"\n'
    )
    (tmp_path / "points.csv").write_text("series,size,value\na,1,10\na,2,7\n")
    assert growing_parts(read_dataset(tmp_path)) == []
    parts = "series,size,part,seconds\na,1,force,8\na,1,solve,2\na,2,force,4\na,2,solve,3\n"
    (tmp_path / "parts.csv").write_text(parts)
    (sentence,) = growing_parts(read_dataset(tmp_path))
    assert "solve 100 % (3.00 times), force 0 % (1.00 times)" in sentence
    (tmp_path / "parts.csv").write_text(parts + "a,2,rest\n")
    with pytest.raises(FileError, match=r"parts.csv:6: \['a', '2', 'rest'\] is no series"):
        growing_parts(read_dataset(tmp_path))


def test_parts_of_blind_points_are_no_part_of_a_question():
    registry = Registry([parcast_score])
    folder = Path(str(registry.measurements["clouds"].path))
    text = repr(read_dataset(folder).question())
    times = {line.rpartition(",")[2] for line in (folder / "parts.csv").read_text().split()[1:]}
    assert len(times) > 50
    assert sum(f"={time}," in text for time in times) == 0
    assert score(registry, read_dataset(folder), "ideal").blind.answered == 36


def growing(columns, errors, predictor="ideal", by_solver=False, shares=None):
    """Return a score of series whose columns grow to the blind point, where it is off so much."""
    answers, calibrating, blind = [], [], []
    for index, (growth, error) in enumerate(zip(columns, errors, strict=True)):
        known = Point(f"s{index}", 1.0, 1.0, dict.fromkeys(growth, 2.0))
        facts = {name: 2.0 * factor for name, factor in growth.items()}
        calibrating.append(Measured(known, 2.0))
        blind.append(Measured(attrs.evolve(known, size=2.0, facts=facts), 1.0))
        time, inside = (None, {}) if error is None else (error, shares or {})
        answers.append(Answer(blind[-1], Prediction(time=time, quantiles=inside), blind=True))
    base = scored([({}, 1.0)], predictor=predictor, by_solver=by_solver)
    names = dict.fromkeys(columns[0], "1")
    dataset = attrs.evolve(
        base.dataset, calibrating=tuple(calibrating), blind=tuple(blind), units=names
    )
    return attrs.evolve(base, dataset=dataset, answers=tuple(answers))


def test_the_column_that_errors_grow_with_is_named():
    for seed in seeds(20):
        draw = random.Random(seed)
        columns = [
            {"batch": draw.choice((1, 2, 8)), "layers": draw.choice((1, 4))} for _ in range(12)
        ]
        columns[0]["batch"], columns[1]["batch"] = 1, 8
        errors = [1.2 * growth["batch"] ** 0.5 * draw.uniform(0.98, 1.02) for growth in columns]
        found = trend(growing(columns, errors))
        assert found.column == "batch"
        assert found.doubling == pytest.approx(2**0.5 - 1, abs=0.05)
        assert found.after < 0.05 < found.before


def test_noise_goes_by_no_column():
    named = 0
    for seed in seeds(60):
        draw = random.Random(seed)
        columns = [{"a": draw.choice((1, 2, 8)), "b": draw.uniform(1, 9)} for _ in range(10)]
        named += trend(growing(columns, [draw.uniform(0.5, 1.6) for _ in range(10)])) is not None
    assert named <= 8  # one of twenty, and three standard deviations


def test_a_rule_that_has_more_and_is_nearer_shows_what_is_missing():
    draw = random.Random(1)
    columns = [{"a": 1.0}] * 9
    wrong = growing(columns, [draw.uniform(1.5, 3) for _ in range(9)])
    right = growing(columns, [draw.uniform(0.9, 1.1) for _ in range(9)], predictor="work-line")
    assert with_more(wrong, [wrong, right])[0].startswith(
        "what is missing is a fixed cost beside work over size: by work-line the median is"
    )
    assert with_more(right, [wrong, right]) == []
    alike = attrs.evolve(wrong, predictor="work-line")
    assert with_more(wrong, [wrong, alike]) == []


def test_a_mixed_gain_is_no_gain_unless_more_is_answered():
    columns = [{"a": 1.0}] * 12
    wrong = growing(columns, [1.3] * 5 + [1.2, 1.1] + [None] * 5)
    mixed = growing(columns, [1.0] * 4 + [2.0, 2.0, 2.0] + [None] * 5, predictor="b")
    more = growing(columns, [1.0] * 4 + [2.0, 2.0, 2.0] + [1.1] * 5, predictor="b")
    assert better(wrong, mixed) is None
    assert "at the same 7 points, and 5 more have an answer" in str(better(wrong, more))


def test_intervals_that_hold_say_that_the_data_leave_it_open():
    columns = [{"a": 1.0}] * 6
    wide, narrow = {0.05: 0.5, 0.95: 2.0}, {0.05: 1.2, 0.95: 2.0}
    assert "is in the data" in left_open(growing(columns, [1.5] * 6, shares=wide))[0]
    assert left_open(growing(columns, [1.5] * 6, shares=narrow)) == []
    assert left_open(growing(columns, [1.5] * 6)) == []


def test_what_is_too_much_is_found_by_leaving_it_out(tmp_path):
    """The dataset is of a machine without latency; the rule states one with."""
    program = "def main(rank, size, n=64):\n    for i in range(n):\n        compute(1e6)\n"
    program += "        send((rank + 1) % size, 8)\n        recv((rank - 1) % size)\n"
    (tmp_path / "ring.py").write_text(program)
    network = '[network]\nstartup = "1 ms"\nbandwidth = "1 GB/s"\n'
    machine = f'name = "m"\n[processor]\nrate = "1 GFLOP/s"\n{network}contention = "none"\n'
    (tmp_path / "m.toml").write_text(machine)
    (tmp_path / "dataset.toml").write_text(
        'name="d"\nsummary="s"\nsource="s"\nlicence="MIT"\nmethod="m"\nunit="s"\ncounts="p"\n'
        '[split]\nblind="all"\n[modeling]\nworkload="ring.py"\nmachine="m.toml"\n'
    )
    points = "".join(f"a,{p},0.064\n" for p in (2, 3, 4, 5, 6, 7))
    (tmp_path / "points.csv").write_text("series,size,value\n" + points)
    registry = Registry()
    scored_now = score(registry, read_dataset(tmp_path), "spmd")
    assert scored_now.blind.median > 0.5
    (sentence,) = without(registry)(scored_now)
    assert sentence.startswith("what messages take to start is too much: without it")


def test_what_chance_does_not_rule_out_is_said_as_such():
    """Two points are too few to tell, and the nearer rule is named all the same."""
    facts = {"code": "x", "system": "a"}
    wrong = scored([(facts, 1.4), (facts, 1.5)])
    near = scored([(facts, 1.05), (facts, 0.95)], predictor="scaling")
    (sentence,) = lacks(wrong, [wrong, near])
    assert sentence.startswith("what is missing may be terms that do not shrink as size grows")
    assert "at the same 2 points" in sentence
    assert lacks(wrong, [wrong]) == ["what is missing is not found: 2 points are too few"]


def curves_of(tmp_path, formula):
    """Return a dataset of curves whose largest size is blind."""
    (tmp_path / "dataset.toml").write_text(
        'name="d"\nsummary="s"\nsource="s"\nlicence="MIT"\nmethod="m"\nunit="s"\ncounts="nodes"\n'
        "[split]\nblind=[64]\ncalibrate=[1, 2, 4, 8]\n"
    )
    rows = [f"s{k},{size},{formula(k, size)!r}\n" for k in range(6) for size in (1, 2, 4, 8, 64)]
    (tmp_path / "points.csv").write_text("series,size,value\n" + "".join(rows))
    return read_dataset(tmp_path)


@pytest.mark.parametrize(
    ("formula", "where"),
    [
        (lambda k, size: 100 / size**0.8 * (1 + 0.5 * (k % 2) * (size == 8)), "in the data"),
        (lambda _, size: 100 / size + 20 * (size > 4), "in its form"),
    ],
)
def test_blind_points_given_to_a_rule_tell_its_form_from_its_data(tmp_path, formula, where):
    registry = Registry([parcast_score])
    scored = score(registry, curves_of(tmp_path, formula), "power-law")
    (sentence,) = asked_again(registry)(scored)
    assert f"what is missing is {where}" in sentence
    assert asked_again(registry)(score(registry, scored.dataset, "ideal")) == []


def test_what_two_solvers_differ_by_is_named():
    wrong = scored([({"code": "x", "system": "a"}, factor) for factor in (0.5, 0.6, 0.4, 0.5, 0.8)])
    right = scored([({"code": "x", "system": "a"}, 1.01)] * 5, predictor="exact")

    def with_parts(of, parts):
        answers = [
            attrs.evolve(a, prediction=attrs.evolve(a.prediction, parts=parts)) for a in of.answers
        ]
        return attrs.evolve(of, answers=tuple(answers), by_solver=True)

    few = with_parts(wrong, Parts(compute=0.4, communication=0.1))
    all_of_it = with_parts(right, Parts(compute=0.4, communication=0.2, synchronization=0.3))
    sentence = lacks(few, [few, all_of_it])[-1]
    assert "in the method: too little synchronization, 75 % of what they differ by" in sentence
