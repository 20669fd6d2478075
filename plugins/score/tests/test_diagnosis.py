"""What is missing is found where it was put in, and not where errors are noise."""

from __future__ import annotations

import random
from pathlib import Path

import attrs
import pytest

import parcast_score
from parcast import Prediction, Registry
from parcast.errors import FileError
from parcast.files import read_dataset
from parcast.model import Dataset, Measured, Point
from parcast.testing import seeds
from parcast_score.board import Score, score
from parcast_score.diagnosis import lacks, missing
from parcast_score.parts import growing_parts
from parcast_score.statistics import Answer


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
    wrong = scored([({"code": "x", "system": "a"}, factor) for factor in (1.2, 0.6, 1.9, 0.5)])
    wrong = attrs.evolve(wrong, by_solver=True)
    right = scored([({"code": "x", "system": "a"}, 1.01)] * 4, predictor="exact", by_solver=True)
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
