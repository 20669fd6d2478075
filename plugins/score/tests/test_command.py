"""The command: tables, files, points, bad input, and the same answers twice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from parcast import Registry
from parcast.cli import main
from parcast.testing import cases, turn
from parcast_score import commands
from parcast_score.board import absent, datasets, predictors
from parcast_score.board import score as ask

SCOREBOARD = Path(__file__).parents[3] / "docs" / "scoreboard.md"
SMALL = turn(("mlperf-training", "sailor", "selene"), 3)
TRAINED = turn(("sailor", "selene"), 2)


@pytest.fixture
def parcast(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")

    def run(*words):
        code = main(list(words))
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def two_runs():
    """Two registries, and scores by each of all predictors of a dataset; at night of two."""
    return [
        (
            registry,
            [
                ask(registry, dataset, name, spec)
                for spec, dataset in datasets(registry, TRAINED).items()
                for name in predictors(registry, dataset, ())
            ],
        )
        for registry in (Registry(), Registry())
    ]


@pytest.mark.parametrize("suffix", [".md", ".json", ".html"])
def test_a_page_is_the_same_twice(two_runs, tmp_path, suffix):
    texts = []
    for registry, scores in two_runs:
        # what rules are asked again for remarks, the page of text has as well
        rules = {"scaling"} if suffix == ".html" else set()
        shown = [score for score in scores if score.predictor not in rules]
        commands._write(registry, shown, tmp_path / f"page{suffix}")
        texts.append((tmp_path / f"page{suffix}").read_text())
    assert texts[0] == texts[1]


def test_each_score_is_what_its_own_command_prints(parcast):
    _, out, _ = parcast("score", *TRAINED, "--json")
    for score in json.loads(out)["scores"]:
        code, alone, _ = parcast(*score["command"].split()[1:], "--json")
        assert json.loads(alone)["scores"] == [score]
        assert code == (0 if score["blind"]["answered"] + score["calibrated"]["answered"] else 1)


def test_the_scoreboard_of_the_docs_is_what_the_command_writes(parcast, tmp_path):
    """Of a dataset, others every day; of all, with their solvers and records, at night."""
    whole = cases(1) > 1
    registry = Registry()
    missing = {name for of in datasets(registry, ()).values() for name in absent(registry, of)}
    if whole and missing:
        pytest.skip(f"the page has columns of peers that are not installed: {missing}")
    parcast("score", *(() if whole else SMALL), "-o", str(tmp_path / "s.md"))
    page, text = SCOREBOARD.read_text(), (tmp_path / "s.md").read_text()
    if whole:
        assert text == page
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    assert whole or len(parts) == 2 + len(SMALL)
    for part in parts[:-1]:  # without what other datasets say of a record, and without CPU seconds
        for line in part.splitlines():
            cells = line.rpartition(" | <")[0] or line
            assert "nine times of ten" in line or cells in page, line


def test_points_of_a_series(parcast):
    code, out, _ = parcast("score", "selene", "-s", "ideal", "--series", "recompute=full")
    assert code == 0
    assert out.count("selene|gpt-train|recompute=full") == 2
    assert "blind" in out
    code, _, err = parcast("score", "selene", "-s", "ideal", "--series", "nothing")
    assert (code, "no series of the datasets has this text" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sailr", "No measured data are called 'sailr'. Did you mean 'sailor'?"),
        ("sailor -s ideel", "No solver or predictor is called 'ideel'. Did you mean 'ideal'?"),
        ("sailor -o x.pdf", "x.pdf: a scoreboard is written as .html, .json or .md."),
        ("./nowhere", "nowhere is no folder"),
        ("sailor -o /nowhere/x.md", "/nowhere/x.md cannot be written"),
    ],
)
def test_bad_input_is_one_sentence(parcast, words, message):
    code, out, err = parcast("score", *words.split())
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_a_dataset_of_ones_own(parcast, tmp_path):
    folder = tmp_path / "mine"
    code, out, _ = parcast("score", "init", str(folder))
    assert (code, f"parcast score {folder}" in out) == (0, True)
    table = folder / "dataset.toml"
    text = table.read_text()
    for key in ("summary", "source", "method"):
        text = text.replace(f'{key} = ""', f'{key} = "x"')
    table.write_text(text.replace('licence = ""', 'licence = "CC0-1.0"'))
    points = folder / "points.csv"
    points.write_text(points.read_text().replace("# stencil", "stencil"))
    code, out, _ = parcast("score", str(folder), "--json")
    (ideal,) = [row for row in json.loads(out)["scores"] if row["predictor"] == "ideal"]
    assert (code, ideal["predictor"], ideal["blind"]["points"]) == (0, "ideal", 1)
    assert ideal["command"] == f"parcast score {folder} -s ideal"


def test_the_page_has_plots_and_no_outside(parcast, tmp_path):
    parcast("score", "sailor", "-s", "ideal,last-value", "-o", str(tmp_path / "s.html"))
    page = (tmp_path / "s.html").read_text()
    assert page.count("<svg") == 2
    assert "Predicted against measured" in page
    assert "Error by scale" in page
    assert not re.search(r'(src|href)="(?!#|data:)', page)
    assert "parcast score sailor -s ideal" in page
