"""Surfaces: their rows are those of a comparison, and what they advise follows from the rows."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import parcast_spmd
from parcast import ParcastError, Registry, Row, SolverEntry, Status, hookimpl
from parcast.cli import build, main
from parcast.comparison import parse_over
from parcast_spmd.surface.advice import (
    enough_disks,
    fastest,
    fastest_within,
    limits,
    parse_budget,
)
from parcast_spmd.surface.picture import bottleneck_map, sample, speedup_table
from parcast_spmd.surface.survey import survey

REGISTRY = Registry([parcast_spmd])
WORKLOAD = {
    "name": "w",
    "parameters": {"n": 2},
    "phase": [
        {
            "cycles": 10,
            "parallel": "n GFLOP",
            "serial": "10 MFLOP",
            "messages": 2,
            "bytes": "1 MB",
            "io_bytes": "20 MB",
            "group": 1,
        }
    ],
}
MACHINE = {
    "name": "m",
    "processor": {"rate": "100 MFLOP/s"},
    "network": {"startup": "50 us", "bandwidth": "50 MB/s", "contention_level": 0.3},
    "storage": {"disks": 2, "bandwidth": "10 MB/s"},
    "cost": {"price": "3.6 EUR/h"},
}


def row(p, d, time, speedup=None, **more):
    return Row(workload="w", machine="m", solver="s", p=p, d=d, time=time, speedup=speedup, **more)


def test_rows_are_those_of_the_comparison_with_efficiency_and_bounds():
    results = survey(REGISTRY, WORKLOAD, MACHINE, p=(1, 2, 8), d=(1, 2))
    same = REGISTRY.compare(
        WORKLOAD, MACHINE, p=(1, 2, 8), d=(1, 2), solvers="spmd", elasticities=False
    )
    for one, other in zip(results.rows, same.rows, strict=True):
        assert (one.p, one.d, one.time, one.speedup, one.binding) == (
            other.p, other.d, other.time, other.speedup, other.binding,
        )  # fmt: skip
        assert one.details["efficiency"] == one.speedup / one.p
        low, up = one.details["bounds"]["asymptotic"]
        assert low <= one.time * (1 + 1e-12) <= up * (1 + 1e-11)


def test_settings_that_vary_are_parameters_of_the_rows_in_base_units():
    over = [parse_over("processor.rate=50,100 MFLOP/s"), parse_over("n=1,2")]
    results = survey(
        REGISTRY, WORKLOAD, MACHINE, p=(1, 4), over=over, settings={"network.startup": 0}
    )
    found = [(r.params["processor.rate"], r.params["n"]) for r in results.rows if r.p == 1]
    assert found == [(50e6, 1), (50e6, 2), (100e6, 1), (100e6, 2)]
    assert {r.d for r in results.rows} == {2}
    slow, fast = (r for r in results.rows if r.p == 1 and r.params["n"] == 2)
    assert slow.parts.compute == pytest.approx(2 * fast.parts.compute)
    assert results.provenance["over"]["processor.rate"]["unit"] == "MFLOP/s"
    json.dumps(results.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"solver": "petri"}, "asked of spmd, not of 'petri'"),
        ({"over": ["n=1,2"], "settings": {"n": 3}}, "both set and varied over"),
        ({"over": ["m=1,2"]}, "called 'm'"),
        ({"over": ["processor.rate=1,2 MB"]}, "not in FLOP/s"),
        ({"p": range(1, 2001), "d": range(1, 1001)}, "more than 1,000,000"),
    ],
)
def test_a_survey_refuses(asked, said):
    asked = {"p": (1, 2), **asked, "over": [parse_over(one) for one in asked.get("over", ())]}
    with pytest.raises(ParcastError, match=said):
        survey(REGISTRY, WORKLOAD, MACHINE, **asked)


def test_options_of_other_families_do_not_vary_a_surface():
    entry = SolverEntry("other.one", "phases", "parcast_spmd:None", "A test.")
    other = SimpleNamespace(__name__="other", parcast_solvers=hookimpl(lambda: [entry]))
    registry = Registry([parcast_spmd, other])
    with pytest.raises(ParcastError, match=r"other\.runs: it is an option of no solver of spmd"):
        survey(registry, WORKLOAD, MACHINE, p=(1, 2), over=[parse_over("other.runs=1,2")])


def test_the_fastest_and_the_fastest_within_a_budget():
    rows = [row(1, 1, 10), row(4, 1, 4), row(4, 4, 3), row(8, 4, 2), row(8, 8, 2), row(9, 1, None)]
    assert (fastest(rows).p, fastest(rows).d) == (8, 4)
    best, spent = fastest_within(rows, parse_budget("8", None))
    assert (best.p, best.d, spent) == (4, 4, 8)
    best, spent = fastest_within(rows, parse_budget("12", "p + 4*d"))
    assert (best.p, best.d, spent) == (4, 1, 8)
    assert fastest_within(rows, parse_budget("1", None)) == (None, 0.0)


def test_a_budget_in_money_is_the_price_of_the_run():
    charged = {"details": {"charge": {"price": 5.0, "currency": "EUR"}}}
    rows = [
        row(1, 1, 10, details={"charge": {"price": 2.0, "currency": "EUR"}}),
        row(4, 1, 4, **charged),
    ]
    assert fastest_within(rows, parse_budget("4 EUR", None)) == (rows[0], 2.0)
    assert fastest_within(rows, parse_budget("5 EUR", None)) == (rows[1], 5.0)
    with pytest.raises(ParcastError, match="give the budget in EUR"):
        fastest_within(rows, parse_budget("5 USD", None))
    with pytest.raises(ParcastError, match=r"states no cost\.price"):
        fastest_within([row(1, 1, 10)], parse_budget("5 USD", None))


@pytest.mark.parametrize(
    ("budget", "cost", "said"),
    [
        ("0", None, "above 0"),
        ("-3 EUR", None, "above 0"),
        ("many", None, "number or a price"),
        ("5 MB", None, "number or a price"),
        ("5 EUR", "p + d", "leave it out"),
        ("5", "p + q", "formula of p and d"),
        ("5", "p +", "formula of p and d"),
        (None, "p", "give --budget as well"),
    ],
)
def test_budgets_that_are_refused(budget, cost, said):
    with pytest.raises(ParcastError, match=said):
        parse_budget(budget, cost)


def test_where_more_processors_stop_paying():
    speedups = {1: 1.0, 2: 1.9, 3: 2.0, 4: 3.0, 5: 3.3, 6: 3.2}
    rows = [row(p, 1, 1 / s, s) for p, s in speedups.items()] + [row(1, 2, 0.5, 2.0)]
    one, two = limits(rows, 0.5)
    assert (one.d, one.least_time, one.beyond) == (1, 5, True)
    assert one.pays == 4  # p=3 adds 0.1, but both steps from 2 to 4 together 1.1
    assert (two.d, two.least_time, two.beyond, two.pays) == (2, 1, False, 1)
    assert next(limits(rows, 0.2)).pays == 5
    assert next(limits([row(3, 1, 2.0)], 0.2)).pays is None


def test_enough_disks_are_within_one_percent():
    rows = [row(2, 1, 2.0), row(2, 2, 1.009), row(2, 3, 1.0), row(5, 1, 1.0), row(5, 2, 1.0)]
    assert enough_disks(rows) == {2: 2, 5: 1}


def test_samples_have_both_ends_and_the_powers_of_two():
    assert sample([3, 1, 2], 5) == [1, 2, 3]
    found = sample(range(1, 1001), 50)
    assert len(found) <= 52
    assert {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000} <= set(found)
    assert {5, 1 << 40} <= set(sample([5, 7, 1 << 20, 1 << 40], 3))


def test_samples_prefer_what_is_answered():
    answers = dict.fromkeys(range(3, 1001, 3), 1)
    found = sample(range(1, 1001), 20, answers)
    assert {1, 2, 4, 8, 512, 1000} < set(found)
    assert all(p % 3 == 0 or p & (p - 1) == 0 for p in found[:-1] if p > 4)


def test_the_map_has_a_letter_for_each_point():
    rows = [
        row(p, d, 1, binding="network" if p > 2 else "processor")
        for p in (1, 2, 4)
        for d in (1, 10)
    ]
    rows[0] = row(1, 1, None, status=Status.INVALID)
    assert bottleneck_map(rows) == [
        "d = 10 PPPPPPNNN",
        "     1 ...PPPNNN",
        "p =    1  2  4",
        "",
        "P processor  N network  . no answer",
    ]


def test_the_table_says_where_there_is_no_speedup():
    rows = [row(1, 1, 1.0, 1.0), row(2, 1, 0.5, math.pi), row(2, 2, None)]
    assert speedup_table(rows) == [("p \\ d", "1", "2"), ("1", "1", "-"), ("2", "3.14", "-")]


@pytest.fixture
def files(tmp_path):
    for name, data in (("w.json", WORKLOAD), ("m.json", MACHINE)):
        (tmp_path / name).write_text(json.dumps(data))
    return [str(tmp_path / "w.json"), str(tmp_path / "m.json")]


def run(*arguments):
    return CliRunner().invoke(build(REGISTRY), ["spmd", "surface", *arguments], obj=REGISTRY)


def test_what_a_reader_sees(files):
    out = run(*files, "-p", "1..64", "-d", "1..8", "--budget", "20").stdout
    assert out.startswith("w on m by spmd.sio: 512 points\n\nbottleneck\nd = 8 ")
    assert "within p + d <= 20: p=" in out
    assert "pays to p" in out
    assert "disks that are enough, within 1 % of the least time: " in out


def test_json_is_one_object_with_a_row_for_each_point(files):
    data = json.loads(run(*files, "-p", "1..4", "-d", "1,2", "--json", "--budget", "9 EUR").stdout)
    assert data["schema"] == 1
    assert [(r["p"], r["d"]) for r in data["rows"]] == [(p, d) for p in range(1, 5) for d in (1, 2)]
    (advice,) = data["advice"]
    assert advice["budget"]["most"] == "9 EUR"
    assert advice["fastest"]["p"] == 4
    assert data["provenance"]["parcast"]


def test_a_line_for_each_combination_of_settings(files):
    out = run(*files, "-p", "1..64*2", "--over", "processor.rate=50..200*2 MFLOP/s").stdout
    assert "processor.rate [MFLOP/s]   p  d" in out
    assert [line.split()[0] for line in out.splitlines() if line.strip()[:1].isdigit()] == [
        "50", "100", "200",
    ]  # fmt: skip


def test_a_file_is_written_and_checked_first(files, tmp_path):
    target = tmp_path / "out.csv"
    assert run(*files, "-p", "1,2", "-o", str(target)).exit_code == 0
    assert target.read_text().count("\n") == 3
    failed = run(*files, "-p", "1,2", "-o", str(tmp_path / "none" / "out.csv"))
    assert "there is no folder" in str(failed.exception)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--cost", "p"], "give --budget as well"),
        (["--threshold", "often"], "write a part such as 10%"),
        (["--threshold", "0"], "above 0"),
        (["-p", "0"], "whole numbers from 1"),
    ],
)
def test_a_wrong_command_line(files, more, said):
    assert said in str(run(*files, *more).exception)


def test_no_answer_at_all_is_no_success(files, capsys):
    assert main(["spmd", "surface", *files, "-p", "1,2", "-s", "spmd.bus"]) == 1
    out = capsys.readouterr().out
    assert "0 of 2 points answered; p=1, d=2: takes phases with asynchronous I/O" in out
    assert main(["spmd", "surface", *files, "-p", "1,2"]) == 0
