"""The shipped record: that of the scoreboard, worth what it says, and replaced by one's own."""

from __future__ import annotations

import json
import math
import re
from importlib.resources import files
from pathlib import Path

import pytest

import parcast_machines
import parcast_score
from parcast import Registry
from parcast.cli import main
from parcast.errors import FileError
from parcast.files import read_dataset
from parcast_score.board import score
from parcast_score.record import Error, held_out
from parcast_score.shipped import to_record, usual_error, write_record

SHIPPED = json.loads((files("parcast_score") / "record.json").read_text(encoding="utf-8"))
SCOREBOARD = (Path(__file__).parents[3] / "docs" / "scoreboard.md").read_text(encoding="utf-8")


def errors_of(predictor):
    return [
        Error(name, str(index), distance, size, simulated=of["simulated"])
        for name, of in SHIPPED["predictors"][predictor].items()
        for index, (distance, size) in enumerate(of["errors"])
    ]


@pytest.fixture(scope="module")
def scores():
    registry = Registry([parcast_score, parcast_machines])
    sets = [
        read_dataset(Path(str(registry.measurements[name].path))) for name in ("sailor", "selene")
    ]
    return [score(registry, dataset, name) for dataset in sets for name in ("ideal", "work-line")]


def test_the_record_is_of_the_scoreboard_and_of_what_is_predicted_now(scores):
    for predictor, sets in SHIPPED["predictors"].items():
        for name, of in sets.items():
            row = f"-s {predictor} | {of['question']} | {of['predictions']} |"
            assert re.search(rf"parcast score {name} {re.escape(row)}", SCOREBOARD)
    for predictor, sets in to_record(scores)["predictors"].items():
        for name, of in sets.items():
            assert of == SHIPPED["predictors"][predictor][name]
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", SHIPPED["date"])


def test_intervals_hold_on_datasets_that_the_record_is_not_from():
    """Nine of ten, where enough points judge it: each dataset is left out in turn."""
    judged = {name: held_out(errors_of(name)) for name in SHIPPED["predictors"]}
    enough = {name: pair for name, pair in judged.items() if pair[1] >= 30}
    assert {"ideal", "last-value", "scaling"} <= enough.keys()
    for inside, points in enough.values():
        assert inside >= 0.9 * points
    for name, (inside, points) in judged.items():
        cell = f"{inside} of {points}" if points else ""
        assert re.search(rf"\| {re.escape(name)} \| \d+ \| [^|]* \| {cell} \|", SCOREBOARD)


def test_a_record_that_tells_nothing_would_be_found_out():
    """Errors halved, as of a predictor that is bolder than its record, hold fewer than nine."""
    errors = errors_of("ideal")
    bold = [
        Error(e.dataset, e.series, e.distance, e.size * (3 if e.dataset == "clouds" else 0.3))
        for e in errors
    ]
    inside, points = held_out(bold)
    assert inside < 0.9 * points


def test_what_is_usual_is_the_conformal_quantile_of_like_distances():
    known = usual_error("spmd", 2.0)
    measured = ("clouds", "mlperf-storage")
    sizes = sorted(
        size
        for name in measured
        for far, size in SHIPPED["predictors"]["spmd"][name]["errors"]
        if 1 <= far <= 4
    )
    assert (known.points, known.datasets, known.simulated) == (28, measured, False)
    assert known.factor == math.exp(sizes[math.ceil(29 * 0.9) - 1])
    assert usual_error("spmd", 1000.0) is None
    assert usual_error("nobody", 2.0) is None
    alone = usual_error("emulator.tc", None)
    assert (alone.simulated, alone.datasets) == (True, ("smpi",))
    runs = usual_error("perturb", None)  # not those of a noisy host, which says why not
    assert (runs.points, runs.simulated, runs.datasets) == (84, True, ("smpi",))


def test_a_record_of_ones_own_takes_the_place_of_the_shipped_one(scores, tmp_path, monkeypatch):
    path = tmp_path / "own.json"
    record = to_record(scores)
    assert json.loads(write_record(scores)) == record
    record["predictors"]["ideal"]["sailor"]["errors"] = [[2.0, 0.1]] * 10
    path.write_text(json.dumps(record))
    monkeypatch.setenv("PARCAST_RECORD", str(path))
    assert usual_error("spmd", 2.0) is None
    own = usual_error("ideal", 2.0)
    assert (own.factor, own.points) == (math.exp(0.1), 10)
    assert own.record == f"{path} of {record['date']}"


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"schema": 2, "date": "x", "predictors": {}}', "not json",
             '{"schema": 1, "date": "x", "predictors": {"a": {"b": {"simulated": 0}}}}']
)  # fmt: skip
def test_what_is_no_record_is_refused(tmp_path, monkeypatch, text):
    path = tmp_path / "own.json"
    path.write_text(text)
    monkeypatch.setenv("PARCAST_RECORD", str(path))
    with pytest.raises(FileError, match=r"own.json: is no record .* PARCAST_RECORD"):
        usual_error("ideal", 2.0)


def test_the_command_writes_a_record_and_its_date_can_be_stated(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    path = tmp_path / "own.json"
    assert main(["score", "selene", "-s", "ideal", "--record", str(path)]) == 0
    record = json.loads(path.read_text())
    assert record["date"] == "1970-01-01"
    assert len(record["predictors"]["ideal"]["selene"]["errors"]) == 2
    assert main(["score", "selene", "--record", str(tmp_path / "x.csv")]) == 2
    assert "a record is written as .json" in capsys.readouterr().err
