from __future__ import annotations

import pickle

import pytest

from parcast import Formula, ParcastError, Unit
from parcast.errors import FormulaError, UnitError
from parcast.model.phases import surface

BYTES = Unit("B")
SCALE = Unit("1", preset=surface)


@pytest.mark.parametrize(
    ("text", "unit", "values", "result"),
    [
        (5, BYTES, {}, 5.0),
        ("5 MB", BYTES, {}, 5e6),
        ("n", BYTES, {"n": 7}, 7.0),
        ("n kB", BYTES, {"n": 7}, 7000.0),
        ("2*n**3 MFLOP", Unit("FLOP"), {"n": 10}, 2e9),
        ("(n + 1) KiB", BYTES, {"n": 1}, 2048.0),
        ("4 if p > 2 else n", BYTES, {"p": 1, "n": 3}, 3.0),
        ("p > 1 and n", BYTES, {"p": 2, "n": 3}, 3.0),
        ("p * n", BYTES, {"p": 2, "n": 3}, 6.0),
        ("n // d", BYTES, {"n": 7, "d": 2}, 3.0),
        ("15 %", Unit("1"), {}, 0.15),
        ("n us/B", Unit("s/B"), {"n": 3}, 3e-6),
        ("surface:3", SCALE, {"p": 8}, 0.25),
        ("surface:2", SCALE, {"p": 16}, 0.25),
        (" surface:1 ", SCALE, {"p": 16}, 1.0),
        ("1/p", SCALE, {"p": 4}, 0.25),
        ("2e6*n", BYTES, {"n": 3}, 6e6),
        ("1e7*p kB", BYTES, {"p": 2}, 2e10),
    ],
)
def test_a_formula_gives_base_units(text, unit, values, result):
    assert Formula.read(text, unit)(values) == pytest.approx(result, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5 s", "'5 s' is in s, not in B"),
        ("2*n s", "'2*n s' is in s, not in B"),
        ("n Mb", "'Mb' is not a known unit. Did you mean Mbit or MB?"),
        ("-5", "'-5' must be 0 or more"),
        (-5, "-5 must be 0 or more"),
        (float("nan"), "nan is not a finite number"),
        (True, "True is not a number"),
        (None, "None is not a number"),
        ([1], "[1] is not a number"),
        ("", "'' is not a formula"),
        ("p +", "'p +' is not a formula"),
        ("surface:3", "'surface:3' is not a formula"),
        ("foo(p)", "there is no function 'foo'. Did you mean 'floor'?"),
    ],
)
def test_what_a_field_cannot_hold_is_refused_when_read(text, message):
    with pytest.raises(ParcastError) as caught:
        Formula.read(text, BYTES)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["surface:0", "surface:-1", "surface:", "surface:two"])
def test_only_whole_dimensions_make_a_surface(text):
    assert surface(text) is None
    with pytest.raises(FormulaError):
        Formula.read(text, SCALE)


def test_bounds_hold_for_constants():
    with pytest.raises(UnitError, match="must be above 0"):
        Formula.read(0, Unit("1", positive=True))
    with pytest.raises(UnitError, match="must be at most 1"):
        Formula.read("150 %", Unit("1", most=1.0))


@pytest.mark.parametrize(
    "text", ["9**1000", "p**600 * 9**400", "1e308 * 10", "1e300 * p EB", "1/(p - 9)"]
)
def test_a_value_beyond_every_float_is_a_formula_error(text):
    with pytest.raises(FormulaError):
        Formula.read(text, BYTES)({"p": 9})


def test_names_are_all_that_the_formula_reads():
    formula = Formula.read("n*p if d > 1 else sqrt(m)", BYTES)
    assert formula.names == {"n", "p", "d", "m"}
    with pytest.raises(FormulaError, match="nothing is called 'm'"):
        formula({"p": 1, "d": 1, "n": 1})


def test_formulas_pickle_and_compare_by_what_they_say():
    formula = Formula.read("2*n MB", BYTES)
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert formula == Formula.read("2*n MB", BYTES)
    assert formula != Formula.read("3*n MB", BYTES)


def test_long_blanks_are_answered_at_once():
    with pytest.raises(FormulaError):
        Formula.read("p" + " " * 50_000 + "!", BYTES)
