"""What is missing is found where it was put in, and not where errors are noise."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import median

import attrs
import pytest

import parcast_score
from parcast import Parts, Prediction, Registry
from parcast.errors import FileError
from parcast.files import read_dataset
from parcast.model import Dataset, Measured, Point
from parcast.testing import seeds
from parcast_score import board
from parcast_score.board import Score, score
from parcast_score.comparing import better
from parcast_score.diagnosis import lacks, missing
from parcast_score.experiments import asked_again, given_others, left_open, with_more, without
from parcast_score.parts import growing_parts
from parcast_score.speeds import at_other_speeds
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


PROGRAM = """
def main(rank, size, n={n}):
    for i in range(4):
        compute(n)
        sendrecv((rank + 1) % size, 8 * n, (rank - 1) % size)
"""


def runs_of(tmp_path, factors):
    """Return runs of three programs, and what they take by a machine that has ``factors``."""
    base = {"processor.rate": 1e9, "network.bandwidth": 1e8}
    stated = {name: factors.get(name, 1.0) * value for name, value in base.items()}
    machine = 'name = "m"\n[processor]\nrate = {}\n[network]\nbandwidth = {}\nstartup = "1 us"\n'
    (tmp_path / "m.toml").write_text(machine.format(*stated.values()) + 'contention = "none"\n')
    points = []
    for index, n in enumerate((1000, 30_000, 900_000)):
        (tmp_path / f"s{index}.py").write_text(PROGRAM.format(n=n))
        points += [f"s{index},{p},{4 * (n / 1e9 + 1e-6 + 8 * n / 1e8)}\n" for p in (2, 4, 8)]
    (tmp_path / "points.csv").write_text("series,size,value\n" + "".join(points))
    (tmp_path / "dataset.toml").write_text(
        'name="d"\nsummary="s"\nsource="s"\nlicence="MIT"\nmethod="m"\nunit="s"\ncounts="p"\n'
        '[split]\nblind="all"\n[modeling]\nworkload="{series}.py"\nmachine="m.toml"\n'
    )
    return read_dataset(tmp_path)


def test_a_part_of_the_machine_that_is_stated_too_fast_is_named(tmp_path):
    registry = Registry()
    slow = score(registry, runs_of(tmp_path, {"network.bandwidth": 2.0}), "spmd")
    assert slow.blind.median > 0.4
    (sentence,) = at_other_speeds(registry)(slow)
    assert "is in messages: were they 0.5 times as fast as stated, chosen for each" in sentence
    simulated = attrs.evolve(slow, dataset=attrs.evolve(slow.dataset, simulated=True))
    assert at_other_speeds(registry)(simulated) == []


def test_speeds_that_are_right_are_not_blamed(tmp_path):
    registry = Registry()
    assert at_other_speeds(registry)(score(registry, runs_of(tmp_path, {}), "spmd")) == []


def grown(question):
    """Predict the largest size by how other series grow, where any shows it; never is it sure."""
    longest = [item.seconds for item in question.calibrating if item.point.size == 64]
    times = [
        median(longest) if longest and point.size == 64 else 100.0 for point in question.points
    ]
    return [Prediction(time=time, quantiles={0.05: 1.0, 0.95: 1e3}) for time in times]


def alone(question):
    """Predict without a look at other series."""
    quantiles = {0.05: 1.0, 0.95: 1e3}
    return [Prediction(time=100.0, quantiles=quantiles) for _ in question.points]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (grown, "what is missing is how other series go on: given the blind points of the other"),
        (
            alone,
            "other series go on does not help: given the blind points of the other half",
        ),
    ],
)
def test_whether_other_series_would_tell_is_tried(tmp_path, monkeypatch, rule, sentence):
    registry = Registry([parcast_score])
    dataset = curves_of(tmp_path, lambda k, size: (20 + k / 10) if size == 64 else 100)
    monkeypatch.setattr(board, "_predict", lambda *_: rule)
    (told,) = given_others(registry, score(registry, dataset, "ideal"))
    assert sentence in told


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
