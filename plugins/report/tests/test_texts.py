"""Reports as Markdown and LaTeX."""

from __future__ import annotations

import re

import pytest
from rows import HOSTILE, results, row, whole

from parcast_report import latex, markdown
from parcast_report.content import cases


@pytest.fixture(params=["md", "tex"])
def write(request):
    return {"md": markdown.write, "tex": latex.write}[request.param]


def test_both_have_the_solvers_and_every_answer(write, tmp_path):
    write(whole(), tmp_path / "a")
    text = (tmp_path / "a").read_text().replace("\\", "")
    for said in ("a.bound", "5 of 5 points", "72.51 s", "there is no network"):
        assert said in text


def test_markdown_has_question_notes_and_provenance(tmp_path):
    markdown.write(whole(), tmp_path / "a.md")
    text = (tmp_path / "a.md").read_text()
    assert "How long does w take on m" in text
    assert "\n- **b.sim**: a note\n" in text
    assert "\n- parcast: 0.1.0\n" in text


def test_every_line_of_a_table_has_as_many_cells(tmp_path):
    rows = [row(solver=name, notes=(f"| {name}",)) for name in (*HOSTILE, "a|b", "a\\|b", "a\nb")]
    markdown.write(results(*rows), tmp_path / "a.md")
    lines = [one for one in (tmp_path / "a.md").read_text().splitlines() if one.startswith("|")]
    cells = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines[:10]}
    assert len(cells) == 1
    assert "<script>" not in (tmp_path / "a.md").read_text()


@pytest.mark.parametrize("name", [*HOSTILE, "50%_of #1 & {x}^~", "a\nb"])
def test_latex_gets_no_bare_special_character(tmp_path, name):
    latex.write(results(row(solver=name)), tmp_path / "a.tex")
    lines = (tmp_path / "a.tex").read_text().splitlines()
    first = lines[lines.index(r"    \midrule") + 1].split(" & ")[0].strip()
    bare = re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]", "", first)
    assert not set(bare) & set('\\{}$&#%_~^<>|"')
    words = set(re.findall(r"\w{2,}", name)) - {"31m"}
    assert all(word.replace("_", "\\_") in first for word in words)


def test_a_lower_bound_is_not_called_the_shortest_time():
    """Neither one of the workload itself nor one of what it was lowered to."""
    bounds = [
        row(2, solver="a.bound", time=1.0, lower=1.0),
        row(2, solver="b.bound", time=2.0, details={"bound": "lower"}),
    ]
    (case,) = cases(results(*bounds, row(2, solver="c", time=3.0, lower=3.0, upper=3.0)))
    assert case.answers == (
        "Shortest: 3 s at p=2, d=1 by c.",
        "Lower bounds, not estimates, are the times of a.bound, b.bound.",
    )
    (case,) = cases(results(*bounds))
    assert case.answers == ("There are lower bounds alone: a.bound, b.bound.",)
