from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.errors import UnitError
from parcast.quantities.formulas import is_quantity, parse_quantity, to_base
from parcast.quantities.units import UNITS, format_seconds

#: Written by hand, digit by digit: a prefix once was 1e13 elsewhere.
TABLE = {
    "%": ("1", 0.01),
    "B": ("B", 1),
    "kB": ("B", 1_000),
    "MB": ("B", 1_000_000),
    "GB": ("B", 1_000_000_000),
    "TB": ("B", 1_000_000_000_000),
    "PB": ("B", 1_000_000_000_000_000),
    "EB": ("B", 1_000_000_000_000_000_000),
    "KiB": ("B", 1024),
    "MiB": ("B", 1_048_576),
    "GiB": ("B", 1_073_741_824),
    "TiB": ("B", 1_099_511_627_776),
    "PiB": ("B", 1_125_899_906_842_624),
    "EiB": ("B", 1_152_921_504_606_846_976),
    "bit": ("B", 0.125),
    "kbit": ("B", 125),
    "Mbit": ("B", 125_000),
    "Gbit": ("B", 125_000_000),
    "Tbit": ("B", 125_000_000_000),
    "Pbit": ("B", 125_000_000_000_000),
    "Ebit": ("B", 125_000_000_000_000_000),
    "Kibit": ("B", 128),
    "Mibit": ("B", 131_072),
    "Gibit": ("B", 134_217_728),
    "Tibit": ("B", 137_438_953_472),
    "Pibit": ("B", 140_737_488_355_328),
    "Eibit": ("B", 144_115_188_075_855_872),
    "FLOP": ("FLOP", 1),
    "kFLOP": ("FLOP", 1_000),
    "MFLOP": ("FLOP", 1_000_000),
    "GFLOP": ("FLOP", 1_000_000_000),
    "TFLOP": ("FLOP", 1_000_000_000_000),
    "PFLOP": ("FLOP", 1_000_000_000_000_000),
    "EFLOP": ("FLOP", 1_000_000_000_000_000_000),
    "s": ("s", 1),
    "ms": ("s", 0.001),
    "us": ("s", 0.000_001),
    "\u00b5s": ("s", 0.000_001),  # micro sign
    "\u03bcs": ("s", 0.000_001),  # Greek letter
    "ns": ("s", 0.000_000_001),
    "ps": ("s", 0.000_000_000_001),
    "min": ("s", 60),
    "h": ("s", 3600),
    "d": ("s", 86_400),
    "y": ("s", 31_557_600),
    "W": ("W", 1),
    "kW": ("W", 1_000),
    "MW": ("W", 1_000_000),
    **dict.fromkeys(("USD", "EUR", "GBP", "CHF", "JPY", "CNY"), ("money", 1)),
    **dict.fromkeys(("USD/h", "EUR/h", "GBP/h", "CHF/h", "JPY/h", "CNY/h"), ("money/h", 1)),
}


def test_the_table_has_exactly_these_units():
    assert set(UNITS) == set(TABLE)


@pytest.mark.parametrize("unit", TABLE)
def test_every_unit_has_its_dimension_and_factor(unit):
    quantity = parse_quantity(f"3 {unit}")
    dimension, factor = TABLE[unit]
    assert quantity.dimension == dimension
    assert quantity.value == pytest.approx(3 * factor, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("27 MB/s", 27e6, "B/s"),
        ("27MB/s", 27e6, "B/s"),
        (" 100 Mbit/s ", 12.5e6, "B/s"),
        ("120 MFLOP/s", 120e6, "FLOP/s"),
        ("2 ns/B", 2e-9, "s/B"),
        ("8 ns/bit", 64e-9, "s/B"),
        ("2 EUR/h", 2, "money/h"),
        ("1e3", 1000.0, ""),
        ("1_000 kB", 1e6, "B"),
        (".5 us", 5e-7, "s"),
        ("5. us", 5e-6, "s"),
        ("-3 s", -3.0, "s"),
        ("15 %", 0.15, "1"),
        ("1E3 B", 1000.0, "B"),
        ("1EB", 1e18, "B"),
    ],
)
def test_quantities_are_read_in_base_units(text, value, dimension):
    quantity = parse_quantity(text)
    assert quantity.value == pytest.approx(value, rel=1e-15)
    assert quantity.dimension == dimension


def test_plain_numbers_are_already_in_base_units():
    assert to_base(27, "B/s") == 27.0
    assert to_base("27", "B/s") == 27.0


def test_the_uncertainty_has_the_unit_of_the_value():
    quantity = parse_quantity("27 +- 1.5 MB/s")
    assert (quantity.value, quantity.spread) == (27e6, 1.5e6)
    assert parse_quantity("27 MB/s").spread == 0


@pytest.mark.parametrize(
    "text", ["1e7*p", "2e6*n", "2e-6*n", "1E3*p", "3*n", "5 MB*2", "5 e6", "p*(27 +- 1)"]
)
def test_a_formula_is_no_quantity(text):
    assert not is_quantity(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("27 +- 5% MB/s", 'in the unit of its number; write "27 +- 1.35 MB/s"'),
        ("27 ± 5 %", 'write "27 +- 1.35" or "0.27 +- 0.05"'),
        ("27 MB/s +- 1 MB/s", 'one unit after both, as in "27 +- 1 MB/s"'),
        ("n +- 1", "may use a parameter that is such a number"),
    ],
)
def test_an_uncertainty_that_is_none_says_how_to_write_it(text, hint):
    with pytest.raises(UnitError) as caught:
        parse_quantity(text)
    assert hint in str(caught.value)


def test_an_uncertainty_is_never_negative():
    with pytest.raises(UnitError, match="negative uncertainty"):
        parse_quantity("27 +- -1 MB/s")


@pytest.mark.parametrize(
    ("unit", "hint"),
    [
        ("Mb/s", "Mbit/s or MB/s"),
        ("kb", "kbit or kB"),
        ("b/s", "bit/s or B/s"),
        ("KB", "kB or KiB"),
        ("ms/KB", "ms/kB or ms/KiB"),
        ("FLOPS", "FLOP/s"),
        ("GFLOPS", "GFLOP/s"),
        ("GFLOPS/s", "GFLOP/s"),
        ("kflops/s", "kFLOP/s"),
        ("Gflop/s", "GFLOP/s"),
        ("TFlops", "TFLOP/s"),
        ("MBps", "MB/s"),
        ("Mbps", "Mbit/s"),
        ("Kbps", "kbit/s"),
        ("bps", "bit/s"),
        ("gbps", "Gbit/s"),
        ("gflops", "GFLOP/s"),
        ("bytes", "B"),
        ("days", "d"),
        ("years", "y"),
        ("GHz", "GFLOP/s"),
        ("sec", "s"),
        ("MB/sec", "MB/s"),
        ("usec", "us"),
        ("mins", "'min'"),
        ("KFLOP", "'kFLOP'"),
    ],
)
def test_a_common_slip_names_the_unit_meant(unit, hint):
    with pytest.raises(UnitError) as caught:
        parse_quantity(f"5 {unit}")
    assert str(caught.value) == f"'5 {unit}': {unit!r} is not a known unit. Did you mean {hint}?"


TIMES = "ps, ns, us, ms, s, min, h, d, y"


@pytest.mark.parametrize(
    ("value", "dimension", "known"),
    [
        ("3 moons", "s", TIMES),
        ("3 +- 1 moons", "s", TIMES),
        ("3 to 4 moons", "s", TIMES),
        ("exp:3moons", "s", TIMES),
        ("3 furlong", "W", "W, kW, MW"),
        ("3 furlong", "1", "%"),
        ("3 furlong", "money/h", "USD/h, EUR/h, GBP/h, CHF/h, JPY/h, CNY/h"),
        ("3 furlong", "FLOP/s", ", ".join(f"{p}FLOP/s" for p in ("", *"kMGTPE"))),
    ],
)
def test_an_unknown_unit_names_those_of_what_is_wanted(value, dimension, known):
    unit = re.search("moons|furlong", value)[0]
    with pytest.raises(UnitError) as caught:
        to_base(value, dimension)
    assert str(caught.value).endswith(f"{unit!r} is not a known unit. Known: {known}.")
    for name in known.split(", "):
        assert to_base(f"3 {name}", dimension) > 0


def test_the_part_of_a_unit_that_is_unknown_is_named():
    with pytest.raises(UnitError, match=f"unit. Known in place of 'moons': {TIMES}."):
        to_base("3 MB/moons", "B/s")
    with pytest.raises(UnitError, match=r"unit. Known: B, bit, FLOP, s, min, h, d, y, W, EUR, %."):
        parse_quantity("3 moons")


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, True, False, None, [], {}, 1j, b"5", 10**400),
        *("", "  ", "MB", "nan", "inf", "five", "1e400", "1e308 EB", "1,000", "1__0", "1_", "1 2"),
        *("5 MB/", "5 MB/s/s", "5 /s", "27 MB +- 1 MB", "27 +- MB", "0x10", "5 furlong", "5 M B"),
    ],
)
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(UnitError):
        parse_quantity(value)


def test_an_integer_too_long_to_print_is_refused_all_the_same():
    with pytest.raises(UnitError, match="not a finite number"):
        parse_quantity(10**5000)


def test_long_digits_are_answered_at_once():
    with pytest.raises(UnitError):
        parse_quantity("1" * 20_000 + "+-" + "1" * 20_000 + "!")


@pytest.mark.parametrize(
    ("value", "dimension", "message"),
    [
        ("5 MB", "s", "'5 MB' is in B, not in s"),
        ("5 MB/s", "B", "'5 MB/s' is in B/s, not in B"),
        ("5 s", "1", "'5 s' must be a plain number, without s"),
        ("5 %", "B", "'5 %' is in 1, not in B"),
    ],
)
def test_a_unit_of_another_dimension_is_refused(value, dimension, message):
    with pytest.raises(UnitError) as caught:
        to_base(value, dimension)
    assert str(caught.value) == message


@given(st.floats(1e-9, 999))
def test_formatted_seconds_read_back(seconds):
    assert to_base(format_seconds(seconds), "s") == pytest.approx(seconds, rel=5e-4)


@given(st.sampled_from((1e-6, 1e-3, 1.0, 1e3)), st.floats(1e-9, 1e-3))
def test_formatted_seconds_just_below_a_unit_are_rounded_into_it(unit, less):
    """Nobody reads 0.99999 s as 1000 ms beside a measured 1 s."""
    number, word = format_seconds(unit * (1 - less)).split()
    assert 1 <= float(number.replace(",", "")) < 1000 or word == "s"


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_a_unit_error(text):
    try:
        assert math.isfinite(parse_quantity(text).value)
    except UnitError:
        assert not text.strip().isascii() or not text.strip().isdigit()
