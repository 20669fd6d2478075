"""Compiled formulas equal enumeration, exactly, for random models at random parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, seed, settings

from parcast.testing import cases, first_seed
from parcast_pamela.algebra import rules, sums
from parcast_pamela.algebra.demands import Demands
from parcast_pamela.algebra.patterns import Patterns
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import compiled_function
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.compilation.conditions import Conditions
from parcast_pamela.compilation.guards import Guards
from parcast_pamela.enumeration import bounds_at
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.language.reading import model_of

from .random_models import bindings, models, read

QUANTITIES = ("critical_path", "contention", "bound", "upper")


MODELS = cases(100)


def agree(text, points):
    """Check one model; where enumeration refuses a point, so must the formulas."""
    model = read(text)
    compiled = compile_model(model)
    for point in points:
        try:
            exact = bounds_at(model, bind(model, point))
        except ModelValueError:
            with pytest.raises(ModelValueError):
                compiled.values(point)
            continue
        found = compiled.values(point)
        for quantity in QUANTITIES:
            assert getattr(found, quantity) == getattr(exact, quantity), quantity


#: A proof once divided by the floor here, which is 0 in the first iteration
DIVIDED = """L = seq (i0 = 0, 1) { {
  { use(s, 1) } || { if (floor(i0/M) == 1) { use(s, 2) } }
} }
"""
POINTS = [
    {"N": 5, "M": size, "P": 2, "tau": "1", "ts": "1", "p": chance}
    for size in (1, 2, 3)
    for chance in ("0", "1/3")
]


HEAD = "param P : int >= 1, N : int >= 1\nresource cpu[0..P-1]\n"
#: What has no value where it is not reached
UNREACHED = (
    "L = par (r = 0, P-1) if (P == 1) delay(1) else seq (k = 0, -((r-1-N) div (P-1)) - 1) delay(1)",
    "L = if (P == 1) delay(1) else delay(N/(P-1))",
    "L = { if (P > 1) delay(N/(P-1)) || if (P > 1) delay(2/(P-1)) }",
    "L = par (i = 0, 3) if (P != i) delay(N/abs(P-i)) else delay(log2(i))",
    "L = delay(P != 1 and N mod (P-1) == 0 ? N div (P-1) : P == 1 or 3 div (P-1) > 1 ? 2 : 3)",
    "L = delay(P == 1 ? 1 : (P-1)^(-2) + log2(P-1) + sqrt(P-2))",
    "param a[1..3] = [4, 2, 3]\nL = seq (i = 0, N) if (i == 0 or i > 3) delay(1) else delay(a[i])",
    "L = if (P == 1) skip else if (bern(1/3) and 6 div (P-1) > 2) delay(N)",
)


@pytest.mark.parametrize("text", UNREACHED)
def test_what_is_not_reached_needs_no_value(text):
    model = model_of(HEAD + text)
    compiled = compile_model(model)
    function = compiled_function(compiled, "numpy")
    arrays = {"a": np.array([4.0, 2.0, 3.0])} if "a[" in text else {}
    for p, n in ((1, 1), (1, 5), (2, 4), (3, 7), (5, 2)):
        exact, found = (
            bounds_at(model, bind(model, {"P": p, "N": n})),
            compiled.values({"P": p, "N": n}),
        )
        values = [getattr(exact, quantity) for quantity in QUANTITIES]
        assert [getattr(found, quantity) for quantity in QUANTITIES] == values
        with np.errstate(all="raise"):
            at = function(P=np.array([p * 1.0]), N=np.array([n * 1.0]), **arrays)
        assert [float(np.max(one)) for one in at] == pytest.approx([float(one) for one in values])


@seed(first_seed())
@settings(max_examples=MODELS, suppress_health_check=list(HealthCheck), database=None)
@given(models(), bindings(2))
@example(DIVIDED, POINTS)
def test_formulas_equal_enumeration(text, points):
    agree(text, points)


def wrong_count(self, low, high):
    return high - low + 1


def wrong_ceil(self, one):
    return self.floor(one)


def wrong_crossing(self, index, low, high, atom, rest):
    return self.sum(index, atom.arguments[0] * rest)


def wrong_most(self, place, index):
    return self.rules.count(index.low, index.high) * 0 + 1


def wrong_powers(self, power, low, high):
    return self._faulhaber(power, high) - self._faulhaber(power, low)


def wrong_direction(self, one, index):
    return 1


def wrong_uniform(self, one, instances):
    return one.time if one.loops else None


def wrong_divisor(self, one, place, scope):
    return one


def wrong_possible(self, node, scope):
    return self.truth(node, scope), self.truth(node, scope)


MUTANTS = {
    "empty ranges count below 0": (rules.Rules, "count", wrong_count),
    "floor for ceil": (rules.Rules, "ceil", wrong_ceil),
    "one side of a crossing": (sums.Sums, "_crossing", wrong_crossing),
    "classes of one": (Patterns, "largest_class", wrong_most),
    "an end too few": (sums.Sums, "powers", wrong_powers),
    "everything rises": (rules.Signs, "direction", wrong_direction),
    "everything is uniform": (Demands, "_uniform", wrong_uniform),
    "T^u of expectations": (Conditions, "possible", wrong_possible),
    "divisors of arms not taken": (Guards, "divisor", wrong_divisor),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_rule_is_noticed(name, monkeypatch):
    owner, method, wrong = MUTANTS[name]
    monkeypatch.setattr(owner, method, wrong)

    @settings(
        max_examples=400, suppress_health_check=list(HealthCheck), derandomize=True, database=None,
        phases=["generate"], report_multiple_bugs=False,
    )  # fmt: skip
    @given(models(), bindings(3))
    def noticed(text, points):
        agree(text, points)

    with pytest.raises(Exception):  # noqa: B017
        noticed()
