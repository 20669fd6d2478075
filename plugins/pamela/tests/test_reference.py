"""The exact reference cases, by enumeration and by the compiled formulas.

``cases.json`` was made by an independent program. In ``expr_functions`` its 100 is corrected to
106: it had taken ``max(N div P, 2)``, which is 6, for a maximum over a range.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from parcast_pamela.bindings import bind
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.enumeration import bounds_at
from parcast_pamela.language.reading import model_of

CASES = {
    case["id"]: case
    for case in json.loads(Path(__file__).with_name("cases.json").read_text())["cases"]
}
SMALL = [name for name in CASES if "huge" not in name]


def expected(case):
    return {
        ours: Fraction(case[theirs])
        for ours, theirs in (
            ("critical_path", "phi"),
            ("contention", "omega"),
            ("bound", "Tl"),
            ("upper", "Tu_extension"),
        )
        if theirs in case
    }


@pytest.mark.parametrize("name", CASES)
def test_formulas_have_the_exact_values(name):
    case = CASES[name]
    values = compile_model(model_of(case["text"])).values(case["bindings"])
    for quantity, exact in expected(case).items():
        assert getattr(values, quantity) == exact, quantity
    if case.get("theta") is not None:
        wanted = float(case["theta"])
        assert values.theta == (pytest.approx(wanted) if math.isfinite(wanted) else wanted)


@pytest.mark.parametrize("name", SMALL)
def test_enumeration_has_the_exact_values(name):
    case = CASES[name]
    found = bounds_at(model_of(case["text"]), bind(model_of(case["text"]), case["bindings"]))
    for quantity, exact in expected(case).items():
        assert getattr(found, quantity) == exact, quantity
    named = {
        f"{resource}[{','.join(map(str, indices))}]" if indices else resource: value
        for (resource, indices), value in found.demand.items()
    }
    assert named == {key: Fraction(value) for key, value in case["demand"].items()}


def test_there_are_cases():
    assert len(CASES) == 37
