"""Efficiencies over the fewest processes, and throughputs."""

from __future__ import annotations

import json

import attrs
import pytest

from parcast import Row
from parcast.cli import main
from parcast.comparison.throughput import Items
from parcast.errors import FormulaError
from parcast.results.results import efficiencies

ROW = Row(workload="w", machine="m", solver="s.one", p=4, d=1, time=8.0)


def at(p, time, **changes):
    return attrs.evolve(ROW, p=p, time=time, **changes)


def test_efficiency_is_over_the_fewest_processes_of_the_same_solver():
    rows = [at(8, 5.0), at(4, 8.0), at(16, 2.0), at(8, 3.0, solver="s.two")]
    assert efficiencies(rows) == [0.8, 1.0, 1.0, None]


def test_what_differs_is_not_compared():
    rows = [at(4, 8.0, d=2), at(8, 4.0), at(8, 2.0, params={"n": 1}), at(8, 1.0, seed=3)]
    assert efficiencies(rows) == [None] * 4
    assert efficiencies([*rows, at(4, 8.0)]) == [None, 1.0, None, None, 1.0]


def test_one_p_has_no_efficiency_nor_has_a_bound_or_a_row_without_a_time():
    assert efficiencies([at(4, 8.0), at(4, 9.0)]) == [None, None]
    rows = [at(4, None), at(8, 4.0), at(16, 2.0, lower=2.0), at(32, 1.0)]
    assert efficiencies(rows) == [None, 1.0, None, 1.0]


def test_throughput_counts_what_the_formula_says(capsys):
    asked = ["compare", "stencil2d", "ibm-sp2", "-s", "spmd", "-p", "4,8"]
    assert main([*asked, "--per", "cells = n * n * steps", "--json"]) == 0
    for row in json.loads(capsys.readouterr().out)["rows"]:
        rate = row["details"]["throughput"]
        assert rate == {"items": "cells", "per_second": 4096**2 * 100 / row["time"]}
    assert main([*asked, "--per", "p"]) == 0
    assert "items/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("= n", "names nothing"),
        ("cells = ", "cells"),
        ("cells = z * n", "nothing is called 'z'"),
        ("n - n", "is 0 at p=4"),
        ("-n", "above 0"),
    ],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_solved(text, reason, capsys):
    asked = ["compare", "stencil2d", "ibm-sp2", "-s", "spmd", "-p", "4"]
    assert main([*asked, "--per", text]) == 2
    assert reason in capsys.readouterr().err


def test_items_have_a_name_or_are_items():
    assert Items.read("cells = n * n").name == "cells"
    assert Items.read("n * n").name == "items"
    assert Items.read("n >= 2").name == "items"
    with pytest.raises(FormulaError):
        Items.read(" = n")


def test_items_of_jobs_are_counted_for_each(tmp_path, capsys):
    (tmp_path / "work.py").write_text("def program(rank, size, n=10):\n    compute(n * 1e9)\n")
    asked = ["compare", f"{tmp_path}/work.py+{tmp_path}/work.py", "ibm-sp2", "-p", "2+3"]
    assert main([*asked, "-s", "emulator", "--per", "n * p", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["details"]["throughput"]["per_second"] == 10 * (2 + 3) / row["time"]
    assert main([*asked, "-s", "emulator", "--per", "z"]) == 2
    assert "nothing is called 'z'" in capsys.readouterr().err
