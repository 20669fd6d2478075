"""What binds, exact derivatives, tolerance, and the compiler's check of itself."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings

import parcast_pamela
from parcast import Query, Registry
from parcast.testing import cases
from parcast_pamela.algebra import sums
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.analysis import regime, tolerance
from parcast_pamela.compilation.checked import compile_checked
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.errors import ModelError, ModelValueError
from parcast_pamela.language.reading import model_of
from parcast_pamela.solvers.bound import Bound

from .random_models import bindings, models, read

MRM = """
param P : int >= 1 = 4, N : int >= 1 = 100, tl : time = 9, ts : time = 1
resource s
L = par (p = 1, P) seq (i = 1, N) { delay(tl) ; use(s, ts) }
"""
REGISTRY = Registry([parcast_pamela])
MACHINE = REGISTRY.machine({"name": "any", "processor": {"rate": 1}})


@pytest.mark.parametrize(
    ("p", "active", "slopes"),
    [(4, "N*tl + N*ts", {"tl": 100, "ts": 100}), (12, "N*P*ts", {"tl": 0, "ts": 1200})],
)
def test_the_regime_of_the_machine_repair_model(p, active, slopes):
    compiled = compile_model(model_of(MRM))
    found = regime(compiled, bind(compiled.model, {"P": p}))
    assert repr(found.active) == active
    assert found.derivatives == slopes
    assert sum(found.elasticities.values()) == pytest.approx(1)


def test_tolerance_is_exact():
    """At P = 12 the server binds until tl + ts = 12 ts; a client alone never tolerates more."""
    compiled = compile_model(model_of(MRM))
    bound = bind(compiled.model, {"P": 12})
    assert tolerance(compiled, bound, "tl") == 11
    assert tolerance(compiled, bound, "ts") == 1


@settings(max_examples=cases(20), suppress_health_check=list(HealthCheck))
@given(models(), bindings(1))
def test_derivatives_are_one_sided_slopes(text, points):
    """T^l is convex and piecewise linear in the times, so a subgradient bounds it from below."""
    compiled = compile_model(read(text))
    try:
        bound = bind(compiled.model, points[0])
        value = compiled.values_at(bound).bound
        slope = Fraction(regime(compiled, bound, ["ts"]).derivatives["ts"])
        for moved in (Fraction(1, 7), Fraction(9)):
            other = compiled.values_at({**bound, "ts": bound["ts"] + moved}).bound
            assert other >= value + slope * moved
    except ModelValueError:
        return


def test_derivatives_are_offered_to_fitting():
    query = Query(workload=REGISTRY.workload("machine-repair"), machine=MACHINE, p=12)
    assert Bound().derivatives(query, ["ts", "tl"]) == {"ts": 1200.0, "tl": 0.0}
    assert Bound().derivatives(query, ["N"]) is None
    assert Bound().derivatives(query, ["nothing"]) is None


def test_a_wrong_formula_is_replaced_and_said(monkeypatch):
    model = model_of("param N : int >= 1 = 9\nresource s\nL = seq (i = 1, N) use(s, i)")
    right = sums.Sums.powers
    monkeypatch.setattr(sums.Sums, "powers", lambda *given: right(*given) + 1)
    found = compile_checked(model)
    assert found.notes[0].startswith("the simplified formula was wrong at {'N': ")
    assert found.values({"N": 9}).bound == 45


def divide_by_zero(*_):
    raise ZeroDivisionError


def test_a_rule_that_divides_by_zero_is_replaced_and_said(monkeypatch):
    model = model_of("param N : int >= 1 = 9\nresource s\nL = seq (i = 1, N) use(s, i)")
    monkeypatch.setattr(sums.Sums, "powers", divide_by_zero)
    found = compile_checked(model)
    assert found.notes == ("simplifying divided by zero; the formula is not simplified",)
    assert found.values({"N": 9}).bound == 45


def test_what_divides_by_zero_where_it_is_reached_is_refused_there():
    head = "param N : int >= 1 = 5, M : int >= 1 = 3\n"
    found = compile_checked(model_of(head + "L = if (M > 3) par (i = 0, N) delay(1/i)"))
    assert found.notes == ()
    assert found.values({}).bound == 0
    with pytest.raises(ModelValueError, match="divides by zero"):
        found.values({"M": 4})


def test_what_divides_by_zero_at_every_point_is_refused_at_its_place():
    with pytest.raises(ModelError, match=r"1:24: this divides by zero"):
        compile_model(model_of("L = seq (i=0, 3) delay(1/i)"))


def test_what_is_never_reached_may_divide_by_zero():
    found = compile_model(model_of("L = seq (i=0, 3) if (i > 0) delay(1/i)"))
    assert found.values({}).bound == Fraction(11, 6)


def test_a_parameter_without_default_is_checked_too(monkeypatch):
    model = model_of("param N : int >= 1, t : time, a[1..N] : time\nL = seq (i = 1, N) delay(i*t)")
    right = sums.Sums.powers
    monkeypatch.setattr(sums.Sums, "powers", lambda *given: right(*given) + 1)
    assert compile_checked(model).notes[0].startswith("the simplified formula was wrong at {")


@pytest.mark.parametrize(
    "text",
    [
        "param N : int >= 9\nassume N == 1000\nL = seq (i = 1, N) delay(i)",
        "param N : int >= 90000\nL = seq (i = 1, N) delay(i)",
    ],
)
def test_where_nothing_can_be_checked_a_note_says_so(text):
    (note,) = compile_checked(model_of(text)).notes
    assert note.startswith("no formula was compared with enumeration: ")


def test_a_right_formula_has_no_note():
    assert compile_checked(model_of(MRM)).notes == ()


@settings(max_examples=cases(20), suppress_health_check=list(HealthCheck))
@given(models(), bindings(2))
def test_the_plain_formulas_have_the_same_values(text, points):
    assume(len(text) < 150)  # the plain ones go through every loop and every instance
    model = read(text)
    simple, plain = compile_model(model), compile_model(model, simplify=False)
    for point in points:
        try:
            expected = simple.values(point)
        except ModelValueError:
            continue
        assert plain.values(point) == expected


@pytest.mark.parametrize("p", [1, 4, 16])
def test_the_solver_states_what_binds(p):
    found = REGISTRY.predict("machine-repair", MACHINE, "pamela", p=p)
    assert found.details["binds"] == ("s" if p > 10 else "critical path")
    assert found.lower == found.time <= found.upper
