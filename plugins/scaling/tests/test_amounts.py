"""Formulas of p from a few runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from parcast.cli import app as command
from parcast.errors import FileError
from parcast_scaling import scaling
from parcast_scaling.terms import TERMS, _held_out_errors, fit_terms

#: Class A, per process and time step, counted in NPB 3.3-MPI BT; bytes of faces and solves.
BTIO = """p,messages,bytes
4,12,1.406 MB
9,18,1.250 MB
16,24,1.097 MB
25,30,0.882 MB
36,36,0.781 MB
49,42,0.745 MB
64,48,0.691 MB
"""


@pytest.mark.parametrize(
    ("amount", "formula"),
    [
        (lambda p: 6 * p**0.5, "6 * sqrt(p)"),
        (lambda p: 100 + 3 * np.log2(p), "100 + 3 * log2(p)"),
        (lambda p: 2e6 + 1e9 / p, "2000000 + 1000000000 * p**(-1)"),
        (lambda p: 5 * p ** (2 / 3) * np.log2(p), "5 * p**(2/3) * log2(p)"),
        (lambda p: 7 + 0 * p, "7"),
    ],
)
def test_an_exact_term_is_found(amount, formula):
    p = np.array([4, 8, 16, 32, 64, 128])
    rows = [{"p": int(n), "x": float(x)} for n, x in zip(p, amount(p.astype(float)), strict=True)]
    (one,) = scaling(rows, at=[1024]).amounts
    assert one.formula == formula
    assert one.predictions[0].value == pytest.approx(amount(1024.0))


def test_the_held_out_error_is_that_of_refits_without_each_point():
    p = np.array([4.0, 8, 16, 32, 64])
    amounts = np.array([10.0, 15, 19, 30, 37])
    term = next(one for one in TERMS if one.text() == "sqrt(p)")
    missed = []
    for i in range(5):
        kept = np.arange(5) != i
        rows = np.column_stack([np.ones(4), p[kept] ** 0.5]) / amounts[kept, None]
        found = np.linalg.lstsq(rows, np.ones(4), rcond=None)[0]
        missed.append((found[0] + found[1] * p[i] ** 0.5) / amounts[i] - 1)
    made = fit_terms(constant=True, terms=(term,), p=p, amounts=amounts)
    assert made.held_out == pytest.approx(np.sqrt(np.mean(np.square(missed))))
    assert made.largest_out == pytest.approx(missed[-1])


def test_held_out_errors_of_all_at_once_are_those_of_each():
    rng = np.random.default_rng(8)
    p = np.array([4.0, 8, 16, 32, 64])
    reach = np.geomspace(4, 256, 64)
    for amounts in (6 * p**0.5, rng.uniform(1, 2, 5), np.array([0, 0, 1.0, 2, 3])):
        chosen = rng.choice(len(TERMS), (40, 2), replace=True)
        pairs = [(False, (TERMS[a], TERMS[b])) for a, b in chosen]  # a pair may be one term twice
        pairs += [(True, (TERMS[a],)) for a, _ in chosen]
        errors = _held_out_errors(pairs, p, amounts, reach)
        for (constant, terms), error in zip(pairs, errors, strict=True):
            fit = fit_terms(constant, terms, p, amounts)
            if fit is None or (fit.rows(reach) @ fit.coefficients).min() < -1e-12:
                assert error == np.inf
            else:
                assert error == pytest.approx(fit.held_out, rel=1e-6, abs=1e-12)
    assert _held_out_errors([(False, (TERMS[0], TERMS[0]))], p, p, reach) == np.inf


def test_three_points_of_a_power_reach_1024():
    (one,) = scaling([{"p": p, "messages": 6 * p**0.5} for p in (16, 32, 64)], at=[1024]).amounts
    assert (one.formula, one.field) == ("6 * sqrt(p)", "messages")


@pytest.mark.parametrize(
    ("amounts", "formula"), [((1, 3, 7), "-1 + 1 * p"), ((103, 109.01, 121), None)]
)
def test_two_coefficients_of_three_points_must_be_exact_and_that_is_said(amounts, formula):
    rows = [{"p": p, "x": amount} for p, amount in zip((2, 4, 8), amounts, strict=True)]
    (one,) = scaling(rows, hold_out=()).amounts
    if formula:
        assert one.formula == formula
        assert one.message.startswith("two coefficients from 3 values of p")
    else:  # 100 + 3 p, nearly
        assert one.held_out > 1e-3
        assert not one.message


def test_what_is_held_out_is_not_fitted_but_predicted():
    rows = [{"p": p, "messages": 6 * p**0.5 + (p == 64)} for p in (4, 9, 16, 64)]
    found = scaling(rows, hold_out=[64])
    (one,) = found.amounts
    assert (one.formula, found.p) == ("6 * sqrt(p)", (4, 9, 16))
    (held,) = one.left_out
    assert (held.p, held.measured) == (64, 49)
    assert held.error == pytest.approx(48 / 49 - 1)


def test_btio_messages_are_exact_and_the_volume_falls_between_its_neighbors(tmp_path):
    path = tmp_path / "btio.csv"
    path.write_text(BTIO)
    messages, volume = scaling(path, at=[256]).amounts
    assert messages.formula == "6 * sqrt(p)"
    assert messages.held_out < 1e-12
    # The least-squares power is p^-0.28; the set has -1/4 and -1/3
    assert any("p**(-1/4)" in text for text in (volume.formula, *volume.rivals))
    assert any("p**(-1/3)" in text for text in (volume.formula, *volume.rivals))
    cells, block = 15, 64**2 * 480 / 256 + 840 * 5**2
    (at,) = volume.predictions
    assert at.low < cells * block < at.high


def test_noise_does_not_buy_terms_and_intervals_cover():
    p, covered, plain = np.array([4.0, 8, 16, 32, 64, 128]), 0, 0
    for seed in range(8):
        noise = np.random.default_rng(seed).standard_normal(6)
        rows = [
            {"p": int(n), "x": 6 * n**0.5 * np.exp(0.02 * e)} for n, e in zip(p, noise, strict=True)
        ]
        (one,) = scaling(rows, at=[1024]).amounts
        plain += one.formula.count("p") == 1
        covered += one.predictions[0].low < 192 < one.predictions[0].high
    assert plain >= 7
    assert covered >= 7


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"p": 4, "flops": 1}, {"p": 8, "flops": 2}], "2 values of p are too few: c p^a needs 3"),
        ([{"p": p, "messages": p} for p in (1, 4, 8)], "2 values of p above 1 are too few"),
        ([{"p": p, "flops": x} for p, x in ((2, 1), (4, 99), (8, 2), (16, 70))], "no formula"),
    ],
)
def test_no_formula_is_claimed_without_ground(rows, sentence):
    (one,) = scaling(rows).amounts
    assert one.formula is None
    assert sentence in one.message


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"q": 4, "flops": 1}], "a column 'p' and at least one amount are needed"),
        ([{"p": 4}], "at least one amount"),
        ([{"p": 4, "flops": "many"}], "flops = \"'many'\""),
        ([{"p": 4, "flops": -1}], "flops = -1 must be 0 or more"),
        ([{"p": 0, "flops": 1}], "must be a whole number, 1 or more"),
        ([], "there are no runs"),
    ],
)
def test_a_bad_table_is_one_sentence(rows, sentence):
    with pytest.raises(FileError) as caught:
        scaling(rows)
    assert sentence.replace("\"'many'\"", "'many'") in str(caught.value)


@pytest.fixture
def run(registry, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "Registry", lambda: registry)
    monkeypatch.chdir(tmp_path)

    def call(text, *arguments):
        Path("r.csv").write_text(text)
        return command.main(["scaling", "r.csv", *arguments]), *capsys.readouterr()

    return call


def test_the_workload_that_is_written_is_asked_at_1024(run, registry, machine):
    text = "p,flops,messages,color\n" + "".join(
        f"{p},{1e9 / p + 1e6},{6 * p**0.5},{p}\n" for p in (4, 8, 16, 32, 64)
    )
    code, out, said = run(text, "-p", "256,2048", "-o", "w.toml")
    assert code == 0
    assert said == (
        "parcast: warning: p=2048 is 32 times the largest measured, 64; a formula found there "
        "need not hold so far out\n"
    )
    assert '--set color="1 * p"' in out
    data = tomllib.loads(Path("w.toml").read_text())
    assert data["sources"]["phase[0].messages"].startswith("fitted: r.csv, p = 4, 8, 16, 32, 64")
    query = registry.compare("w.toml", machine, p=[512], solvers="adds").rows[0]
    expected = (1e9 / 512 + 1e6) / 1e9 + 6 * 512**0.5 * 1e-3
    assert query.time == pytest.approx(expected)


def test_too_few_points_exit_with_1_and_write_nothing(run):
    code, _, said = run("p,flops\n4,1\n8,2\n", "-o", "w.toml")
    assert code == 1
    assert "too few" in said
    assert not Path("w.toml").exists()
