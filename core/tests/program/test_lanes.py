import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parcast.errors import FormulaError
from parcast.program.unroll.arithmetic import LaneError, apply
from parcast.program.unroll.lanes import Lanes, Partial, Scope, evaluate
from parcast.quantities.expressions import FUNCTIONS, OPERATORS, parse
from parcast.testing import cases

EDGES = [0, 1, 2, 3, 7, 10**7, 2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**63]
whole = st.integers(-5, 70) | st.sampled_from([*EDGES, *[-edge for edge in EDGES]])
real = st.floats(allow_nan=False) | st.floats(-10, 10) | whole.map(float)
number = whole | real | st.booleans()
ERRORS = (ArithmeticError, FormulaError, TypeError, ValueError)
ONE = ["neg", "pos", "abs", "not", "sqrt", "isqrt", "log2", "floor", "ceil", "~"]
TWO = ["min", "max", *[f for f in OPERATORS if f not in ONE]]


def in_python(f, lane):
    try:
        return (OPERATORS[f] if f in OPERATORS else FUNCTIONS[f][2])(*lane)
    except ERRORS:
        return None


def same(a, b):
    """Equal in value and, but for bool and int, in type; not a number equals itself."""
    if isinstance(a, float) != isinstance(b, float):
        return False
    return a == b or (math.isnan(a) and math.isnan(b))


def lanes(values):
    """A column of values as the interpreter has them: int64, float64, bool or object."""
    kinds = set(map(type, values))
    small = all(isinstance(v, float) or -(2**63) <= v < 2**63 for v in values)
    return np.array(values, None if len(kinds) == 1 and small else object)


def check(f, columns):
    count = next(len(c) for c in columns if isinstance(c, list))
    args = [lanes(c) if isinstance(c, list) else c for c in columns]
    rows = [[c[i] if isinstance(c, list) else c for c in columns] for i in range(count)]
    wanted = [in_python(f, row) for row in rows]
    if None in wanted:
        with pytest.raises(LaneError) as raised:
            apply(f, args, np.arange(count) + 10)
        assert wanted[raised.value.rank - 10] is None
    else:
        found = apply(f, args, np.arange(count)).tolist()
        assert all(map(same, found, wanted)), (found, wanted)


def column(kind):
    return st.lists(kind, min_size=3, max_size=3)


mixed = column(whole) | column(real) | column(st.booleans()) | column(number)


@settings(max_examples=cases(100))
@given(st.sampled_from(TWO), mixed, mixed | number, st.booleans())
@example("/", [2**53 + 1, 1, 3], 3, False)
@example("//", [-(2**63), 1, 2], -1, False)
@example("//", [4.0, 5.5, -7.25], 0.1, False)
@example("==", [2**53 + 1, 1, 2], float(2**53), False)
@example("**", [0, 2, 3], [0, 62, 39], False)
@example("min", [1, 2, 3], 2.0, False)
@example("*", [2**62, 1, 1], 2, False)
def test_an_operator_on_lanes_gives_what_python_gives_on_each(f, a, b, swapped):
    check(f, (b, a) if swapped else (a, b))


@settings(max_examples=cases(50))
@given(st.sampled_from(ONE), mixed)
@example("abs", [-(2**63), 0, 1])
@example("floor", [1e300, -0.5, 2.0])
@example("sqrt", [2**63 - 1, 2, 3])
def test_a_function_on_lanes_gives_what_python_gives_on_each(f, a):
    check(f, (a,))


def test_remainders_and_floors_of_floats_are_pythons_for_many_values():
    rng = np.random.default_rng(1)
    for scale in (1e-3, 1.0, 1e5, 1e18):
        a, b = rng.normal(size=4000) * scale, rng.normal(size=4000)
        for f in ("//", "%"):
            wanted = [OPERATORS[f](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
            assert apply(f, [a, b], np.arange(4000)).tolist() == wanted


def scope(size=8, **names):
    return Scope(Lanes(np.arange(size), whole=True), {"rank": np.arange(size), **names})


def on_each(text, size=8):
    return np.broadcast_to(evaluate(parse(text), scope(size)), size).tolist()


def test_log2_is_exact_at_powers_of_two():
    assert on_each("log2(2**rank)", 63) == list(range(63))


def test_products_beyond_64_bits_are_whole():
    assert on_each("2**rank * 3**rank", 70)[69] == 6**69


def test_a_whole_number_times_a_float_is_no_overflow():
    s = scope(4, n=1e7, m=10**7)
    assert evaluate(parse("rank*n**3"), s).tolist() == [0, 1e21, 2e21, 3e21]
    assert evaluate(parse("rank*m**3"), s).tolist() == [0, 10**21, 2 * 10**21, 3 * 10**21]


def test_a_negative_power_of_two_is_a_float_on_its_rank_only():
    found = on_each("2**(rank - 1)", 4)
    assert found == [0.5, 1, 2, 4]
    assert list(map(type, found)) == [float, int, int, int]


@pytest.mark.parametrize(
    "text",
    ["1 if rank == 0 else 100 // rank", "rank and 100 // rank", "rank == 0 or 100 // rank > 1"],
)
def test_only_the_chosen_arm_is_evaluated_on_a_lane(text):
    assert on_each(text) == [eval(text, {"rank": rank}) for rank in range(8)]


def test_an_error_in_an_arm_names_the_rank_of_the_program():
    with pytest.raises(LaneError, match="division by zero") as raised:
        on_each("1 / (rank - 5) if rank > 3 else 0")
    assert raised.value.rank == 5


def test_a_chain_may_be_long():
    assert on_each(" and ".join(["rank"] * 3000 + ["7"]), 4) == [0, 7, 7, 7]
    assert on_each(" or ".join(["0"] * 3000 + ["rank"]), 4) == [0, 1, 2, 3]


def test_one_lane_has_plain_numbers():
    inner = scope().narrowed(np.array([3]))
    assert type(evaluate(parse("rank // 2"), inner)) is int


def test_what_an_inner_scope_sets_reaches_only_its_lanes():
    outer = scope(4, x=1)
    inner = outer.narrowed(np.array([1, 2]))
    inner.values.update({"x": np.array([5, 6]), "y": 2.5})
    outer.merge(inner)
    assert outer.read("x").tolist() == [1, 5, 6, 1]
    assert isinstance(outer.find("y"), Partial)
    assert inner.read("y") == 2.5
    with pytest.raises(LaneError, match="reads 'y' before it has a value") as raised:
        outer.read("y")
    assert raised.value.rank == 0


def test_setting_what_is_there_already_keeps_the_value_itself():
    outer = scope(4, x=np.array([1, 5, 6, 1]))
    before = outer.read("x")
    inner = outer.narrowed(np.array([1, 2]))
    inner.values["x"] = np.array([5, 6])
    outer.merge(inner)
    assert outer.read("x") is before


def test_numbers_that_are_equal_but_of_other_types_are_set():
    outer = scope(3, x=np.array([1, 2.0, 3], object))
    inner = outer.narrowed(np.array([0, 1]))
    inner.values["x"] = np.array([1.0, 2], object)
    outer.merge(inner)
    assert list(map(type, outer.read("x").tolist())) == [float, int, int]


def test_logarithms_are_those_of_python():
    assert on_each("log2(rank + 3)") == [math.log2(rank + 3) for rank in range(8)]
