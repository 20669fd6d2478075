from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.errors import FormulaError
from parcast.quantities.expressions import DEEPEST, FUNCTIONS, dims, evaluate, names_in, parse
from parcast.testing import cases

NAMES = {"p": 6, "d": 2, "n": 2.5, "zero": 0}
PYTHON = {name: function for name, (_, _, function) in FUNCTIONS.items()}

_leaves = st.one_of(
    st.integers(0, 20).map(str),
    st.floats(0, 1e3, allow_nan=False).map(repr),
    st.sampled_from(list(NAMES)),
)


def _grow(inner):
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "and", "or", "<", "<=", "==", "!="])
    one = st.sampled_from(["sqrt", "isqrt", "log2", "floor", "ceil", "abs"])
    several = st.lists(inner, min_size=2, max_size=3).map(", ".join)
    return st.one_of(
        st.tuples(inner, binary, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.integers(-3, 4)).map(lambda t: f"({t[0]}) ** ({t[1]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} < {t[1]} <= {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(st.sampled_from(["-", "+", "not "]), inner).map(lambda t: f"({t[0]}{t[1]})"),
        st.tuples(one, inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(["min", "max"]), several).map(lambda t: f"{t[0]}({t[1]})"),
    )


def in_python(text):
    """What Python's own eval gives, or None where it raises or has no finite real value."""
    try:
        with warnings.catch_warnings(action="ignore"):
            value = eval(text, {"__builtins__": {}, **PYTHON, **NAMES})
        return value if math.isfinite(value) else None
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):
        return None


def test_comparisons_chained_in_each_other_do_not_take_for_ever():
    text = "1"
    for _ in range(9):
        text = f"0 < ({text}) <= 1"
    assert evaluate(parse(text), {}) == 1
    with pytest.raises(FormulaError, match="a chained comparison holds more than 8 others"):
        parse(f"0 < ({text}) <= 1")


@settings(max_examples=cases(100))
@given(st.recursive(_leaves, _grow, max_leaves=12))
def test_values_and_errors_are_those_of_python(text):
    expected = in_python(text)
    try:
        value = evaluate(parse(text), NAMES)
    except FormulaError:
        assert expected is None
    else:
        assert value == expected
        assert isinstance(value, int) == isinstance(expected, int)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6*sqrt(p*6)", 36.0),
        ("2**0.5**-1", 4.0),
        ("-2**2", -4),
        ("7 // -2", -4),
        ("-7 % 3", 2),
        ("1 < p < 3", False),
        ("p and d", 2),
        ("zero or d", 2),
        ("1 if zero else 2", 2),
        ("1/zero if zero else 5", 5),
        ("zero and 1/zero", 0),
        ("1**5000", 1),
        ("(-1)**5001", -1),
        ("10**400/10**399", 10.0),
        ("dims(12, 2, 0)", 4),
        (" p # processes", 6),
        ("p & 3 == 3", 0),
        ("1 << p | 1", 65),
        ("-5 >> 1", -3),
        ("~p", -7),
        ("(p > 2) & (d > 2)", False),
        ("0 << 10**30", 0),
        ("1 >> 10**30", 0),
    ],
)
def test_the_language_means_what_python_means(text, value):
    assert evaluate(parse(text), NAMES) == value


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("p.real", "'p.real'"),
        ("math.sqrt(4)", "write sqrt"),
        ("p[0]", "a subscript"),
        ("lambda: 1", "a lambda"),
        ("(x := 1)", "':='"),
        ("'text'", "the constant 'text'"),
        ("b'x'", "the constant b'x'"),
        ("1j", "the constant 1j"),
        ("None", "the constant None"),
        ("...", "the constant Ellipsis"),
        ("f'{p}'", "an f-string"),
        ("[1]", "a list"),
        ("(1, 2)", "a tuple"),
        ("{1: 2}", "a dict"),
        ("{1}", "a set"),
        ("[x for x in p]", "a comprehension"),
        ("(x for x in p)", "a generator expression"),
        ("{x for x in p}", "SetComp"),
        ("await p", "'await'"),
        ("p ^ 2", "'**'"),
        ("1 + (2 ^ p if p else 0)", "'**'"),
        ("p @ p", "'@'"),
        ("int(p)", "write floor"),
        ("1 in p", "'is' and 'in'"),
        ("p is d", "'is' and 'in'"),
        ("sqrt(*p)", "Starred"),
        ("__import__('os')", "'__import__'"),
        ("open('x')", "'open'"),
        ("eval('1')", "'eval'"),
        ("exp(1)", "Known: abs, ceil"),
        ("Sqrt(2)", "Did you mean 'sqrt'?"),
        ("sqrt(x=1)", "sqrt() takes 1 plain argument"),
        ("sqrt()", "sqrt() takes 1 plain argument"),
        ("sqrt(1, 2)", "sqrt() takes 1 plain argument"),
        ("max(p)", "max() takes at least 2 plain arguments"),
        ("dims(1)", "dims() takes 3 plain arguments"),
        ("1e999", "too large"),
    ],
)
def test_anything_else_is_refused_by_name(text, named):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "p +", "p p", "p; d", "p = 2", "import os", "yield p", "p if p", "*p", "1_"),
        *("\0", "p\0", "\ud800", "(" * 5000, "[" * 300 + "]" * 300, "1" * 5000),
    ],
)
def test_what_is_no_expression_is_no_formula(text):
    with pytest.raises(FormulaError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["+".join("p" * 900), "-" * 300 + "1", "sqrt(" * 150 + "p" + ")" * 150, "-" * 100_000]
)
def test_deep_nesting_is_refused_when_read(text):
    with pytest.raises(FormulaError):
        parse(text)


def test_what_is_read_can_be_evaluated_however_deep():
    expr = parse("+".join("p" * (DEEPEST - 5)))
    assert evaluate(expr, NAMES) == 6 * (DEEPEST - 5)
    assert names_in(expr) == {"p"}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "9**9**9",
            "2**5000",
            "10**5000",
            "(10**300)**300",
            "10**400",
            "1e308*10",
            "1e308*10-1e308*10",
        ),
        *("2.0**5000", "sqrt(10**4000)", "floor(1e308*10)", "1/zero", "1 % zero", "zero**-1"),
        *("sqrt(-1)", "log2(0)", "isqrt(-1)", "isqrt(2.5)", "(-8)**(1/3)", "unknown"),
        *("dims(0, 1, 0)", "dims(4, 0, 0)", "dims(4, 2, 2)", "dims(4, 2, -1)", "dims(4.0, 2, 0)"),
        *("dims(10**18, 3, 0)", "dims(4, 2, 0.0)"),
    ],
)
def test_a_value_that_does_not_exist_is_a_formula_error_at_once(text):
    with pytest.raises(FormulaError):
        evaluate(parse(text), NAMES)


def test_an_unknown_name_names_the_likely_one():
    with pytest.raises(FormulaError, match=r"nothing is called 'blocks'\. Did you mean 'block'"):
        evaluate(parse("blocks"), {"block": 1})


def factorizations(size, k, most):
    if k == 1:
        return [(size,)] if size <= most else []
    return [
        (first, *rest)
        for first in range(1, min(size, most) + 1)
        if size % first == 0
        for rest in factorizations(size // first, k - 1, first)
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_dims_are_as_balanced_as_can_be(k):
    for size in range(1, 201):
        extents = tuple(dims(size, k, i) for i in range(k))
        assert math.prod(extents) == size
        assert list(extents) == sorted(extents, reverse=True)
        best = min(found[0] - found[-1] for found in factorizations(size, k, size))
        assert extents[0] - extents[-1] == best


@pytest.mark.parametrize(
    ("size", "k", "extents"),
    [(2**31 - 1, 2, (2**31 - 1, 1)), (720720, 4, (33, 30, 28, 26)), (64, 1000, (2,) * 6 + (1,))],
)
def test_dims_of_large_sizes_are_found_at_once(size, k, extents):
    assert tuple(dims(size, k, i) for i in range(len(extents))) == extents
