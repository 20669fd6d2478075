"""Functions in Python, NumPy, numba and C give what exact evaluation gives."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from parcast.testing import cases
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import (
    c_source,
    compiled_function,
    numba_source,
    numpy_source,
    python_source,
)
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.language.reading import model_of

from .random_models import bindings, models, read

BANKS = """
param N : int >= 1 = 1000, M : int >= 1 = 8, S : int >= 1 = 4, tc : time = 1, tm : time = 4
resource port, m[0..M-1]
L = par (i = 1, N) { use(port, tc) ; use(m[(S*i) mod M], tm) }
"""
PIPELINE = """
param N : int >= 1 = 10, M : int >= 1 = 4, tau[1..M] : time = [1, 2, 3, 2]
resource u[1..M]
L = par (i = 1, N) seq (m = 1, M) use(u[m], tau[m])
"""
GRID = """
param N : int >= 1 = 2, M : int >= 1 = 3, w[0..N-1, 2..M+1] : time = 1
L = seq (i = 0, N-1) seq (j = 2, M+1) delay(w[i, j])
"""


CUBE = """
param N : int >= 1 = 10, t : time = 1
resource u
L = par (i = 1, N) par (j = 1, N) par (k = 1, N) use(u, t)
"""
TOP = """
param N : int >= 1 = 10, M : int >= 1 = 4, t : time = 1, w : time = 2
L = par (i = 1, N) delay(M * t * (i * (N - i) + (i * i) mod N) + w * i)
"""

#: Terms of up to 1e6 may cancel out
ROUNDING = 1e-9


@settings(max_examples=cases(20), suppress_health_check=list(HealthCheck))
@given(models(), bindings(3))
def test_python_functions_equal_exact_values(text, points):
    model = read(text)
    compiled = compile_model(model)
    function = compiled_function(compiled, "python")
    for point in points:
        bound = bind(model, point)
        try:
            exact = compiled.values_at(bound)
        except ModelValueError:
            continue
        found = function(**bound)
        expected = (exact.critical_path, exact.contention, exact.bound, exact.upper)
        assert [float(one) for one in found] == pytest.approx(
            [float(one) for one in expected], abs=ROUNDING
        )


@settings(max_examples=cases(20), suppress_health_check=list(HealthCheck))
@given(models(), bindings(4))
def test_numpy_functions_equal_exact_values(text, points):
    model = read(text)
    compiled = compile_model(model)
    bound = [bind(model, point) for point in points]
    kept, expected = [], []
    for one in bound:
        try:
            expected.append(float(compiled.values_at(one).bound))
        except ModelValueError:
            continue
        kept.append(one)
    assume(kept)
    columns = {name: np.array([float(one[name]) for one in kept]) for name in model.parameters}
    with np.errstate(all="ignore"):
        found = compiled_function(compiled, "numpy")(**columns)
    assert np.broadcast_to(found[2], len(kept)) == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("target", ["python", "numpy", "numba"])
def test_arrays_of_two_dimensions(target):
    found = compiled_function(compile_model(model_of(GRID)), target)
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert found(2, 3, rows if target == "python" else np.array(rows))[2] == 21


def test_numba():
    found = compiled_function(compile_model(model_of(PIPELINE)), "numba")
    assert found(10, 4, np.array([1.0, 2, 3, 2]))[2] == 30


def test_numpy_sums_go_over_ranges_that_differ_from_point_to_point():
    found = compiled_function(compile_model(model_of(PIPELINE)), "numpy")
    with np.errstate(all="raise"):
        assert found(np.array([10, 2, 10]), np.array([4, 1, 3]), [1, 2, 3, 2])[2].tolist() == [
            30, 2, 30,
        ]  # fmt: skip
    assert found(10, 4, [1, 2, 3, 2])[2] == 30


def test_long_columns_are_taken_by_blocks():
    found = compiled_function(compile_model(model_of(BANKS)), "numpy")
    count = np.arange(1, 40_001)
    whole = found(N=count, M=8, S=4, tc=1.0, tm=4.0)
    assert whole[2] == pytest.approx(np.maximum(np.maximum(count, 5), 4 * np.ceil(count / 2)))


def test_columns_and_numbers_may_be_mixed_and_have_any_name():
    text = "param v1 : int >= 1, count : int >= 1, b0 : time = 1, np : time = 1\nresource s, u\n"
    text += "L = par (i = 1, count) seq (j = 1, v1) { use(s, b0) ; use(u, np) ; delay(np) }"
    compiled = compile_model(model_of(text))
    found = compiled_function(compiled, "numpy")
    many = np.arange(1, 20_001)
    for v1, count, b0, second in (
        (3, many, 0.5, 2.0), (many, 7, 0.5, 2.0), (3, many, many * 0.5, 2.0),
        (many * 1.0, many[::-1] * 1.0, many * 0.5, many * 0.25), (many[:9], many[:9], 1, 2),
    ):  # fmt: skip
        values = found(v1, count, b0, np_=second)
        alone = v1 * (b0 + 2 * second)
        bound = np.maximum(alone, v1 * count * np.maximum(b0, second))
        assert values[0] == pytest.approx(alone + 0 * values[2])
        assert values[2] == pytest.approx(bound)
    assert found(3, 2, 0.5, 2.0)[2] == 13.5
    before = many * 1.0
    found(3, before, before, before)
    assert (before == many).all()


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_whole_numbers_beyond_64_bits_do_not_wrap(target):
    function = compiled_function(compile_model(model_of(CUBE)), target)
    assert function(np.array(3_000_000) if target == "numpy" else 3_000_000, 1.0)[2] == 2.7e19


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_whole_numbers_of_arrays_do_not_wrap(target):
    text = "param M : int >= 1, n[1..M] : int\nL = seq (i = 1, M) delay(n[i] * n[i] * n[i])"
    function = compiled_function(compile_model(model_of(text)), target)
    assert function(2, np.array([3_000_000, 1]))[0] == 2.7e19


def test_products_that_a_loop_does_not_change_stand_before_it():
    compiled = compile_model(model_of(TOP))
    loop = python_source(compiled).partition("    for ")[2]
    assert "t" not in set(re.findall(r"\w+", loop.partition("return")[0]))
    point = {"N": 9, "M": 4, "t": Fraction(1, 3), "w": 2}
    exact = compiled.values_at(bind(compiled.model, point))
    assert compiled_function(compiled)(**point)[0] == exact.critical_path


def test_nothing_is_divided_by_zero_where_a_case_does_not_hold():
    compiled = compile_model(read("L = par (i0 = N, 0 by 2) use(uneven[i0 mod 4], 1)"))
    assert "/ (" in python_source(compiled)
    points = [bind(compiled.model, {"N": number}) for number in range(4)]
    exact = [compiled.values_at(point).upper for point in points]
    assert [compiled_function(compiled)(**point)[3] for point in points] == exact == [1, 0, 0, 0]
    columns = {
        name: np.array([float(p[name]) for p in points]) for name in compiled.model.parameters
    }
    assert compiled_function(compiled, "numpy")(**columns)[3].tolist() == [1, 0, 0, 0]


def test_sources_say_what_they_hold_for():
    compiled = compile_model(model_of(BANKS))
    for write in (python_source, numpy_source, numba_source, c_source):
        assert "Holds for N >= 1, M >= 1, S >= 1." in write(compiled)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_c(tmp_path):
    for name, text, arguments, expected in (
        ("banks", BANKS, (1000, 8, 4, 1, 4), (5, 2000, 2000, 5000)),
        ("pipe", PIPELINE, (10, 4, (1, 2, 3, 2)), (8, 30, 30, 80)),
        ("grid", GRID, (2, 3, (1, 2, 3, 4, 5, 6)), (21, 0, 21, 21)),
    ):
        source = tmp_path / f"{name}.c"
        source.write_text(c_source(compile_model(model_of(text))))
        library = tmp_path / f"{name}.so"
        subprocess.run(["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-lm"],
                       check=True)  # fmt: skip
        function = ctypes.CDLL(str(library)).model
        out = (ctypes.c_double * 4)()
        given = [
            (ctypes.c_double * len(one))(*one) if isinstance(one, tuple) else ctypes.c_double(one)
            for one in arguments
        ]
        function(*given, out)
        assert tuple(out) == expected
