"""Whoever had seen a dataset's times is not judged as blind, and leaves no record."""

from __future__ import annotations

import os

import attrs
import pytest

import parcast_machines
import parcast_score
import parcast_training
from parcast import Registry
from parcast.errors import FileError
from parcast.files import read_dataset
from parcast_score.board import datasets, score
from parcast_score.record import errors_of
from parcast_score.shipped import to_record
from parcast_score.texts import about, seen

REGISTRY = Registry([parcast_score, parcast_training, parcast_machines])


@pytest.fixture
def selene():
    return datasets(REGISTRY, ["selene"])["selene"]


def test_who_had_seen_the_times_has_no_blind_point(selene):
    known = attrs.evolve(selene, seen={"ideal": "it was fitted"})
    judged, blind = score(REGISTRY, known, "ideal"), score(REGISTRY, selene, "ideal")
    assert (judged.blind.points, judged.calibrated.answered) == (0, 4)
    assert errors_of([judged]) == []
    assert (blind.blind.points, len(errors_of([blind]))) == (2, 2)
    assert seen([judged, blind]) == ["ideal: not blind at selene, it was fitted."]


def test_errors_of_a_dataset_that_says_why_not_enter_no_record(selene):
    noisy = attrs.evolve(selene, unrecorded="runs differ by a third")
    judged = score(REGISTRY, noisy, "ideal")
    assert judged.blind.answered == 2
    assert errors_of([judged]) == []
    assert to_record([judged])["predictors"] == {}
    assert about(noisy)[-1] == "Errors here enter no record: runs differ by a third."


@pytest.mark.parametrize(
    ("asked", "is_seen"),
    [("a.b", True), ("a", True), ("a.b.c", True), ("a.c", False), ("a.bc", False), ("b", False)],
)
def test_what_is_said_of_a_family_holds_for_its_solvers_and_the_reverse(selene, asked, is_seen):
    known = attrs.evolve(selene, seen={"a.b": "why"})
    assert (known.seen_by(asked) == "why") is is_seen


def test_who_has_seen_them_is_a_table_of_sentences(tmp_path, selene):
    text = (selene.folder / "dataset.toml").read_text()
    start, end = text.index("[seen]"), text.index("[split]")
    (tmp_path / "dataset.toml").write_text(f"{text[:start]}seen = [1]\n{text[end:]}")
    with pytest.raises(FileError, match=r"dataset\.toml: seen must be a table from a predictor"):
        read_dataset(tmp_path)


@pytest.mark.skipif(
    not os.environ.get("PARCAST_CALCULON"), reason="PARCAST_CALCULON names no checkout of Calculon"
)
def test_calculon_has_selene_s_steps_within_its_published_errors(selene):
    """Its authors state 3.65 % as the mean and 8.87 % as the most, over eight such steps."""
    answers = score(REGISTRY, selene, "training.calculon").answers
    errors = [abs(answer.error) for answer in answers]
    assert len(errors) == 4
    assert sum(errors) / 4 < 0.0365
    assert max(errors) < 0.0887
