"""Formulas and their values for a reader: what binds, how sensitive it is, how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from parcast.errors import shorten
from parcast.quantities import format_seconds
from parcast_pamela.algebra.exact import ExactValues
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import residual
from parcast_pamela.compilation.analysis import regime, tolerance
from parcast_pamela.compilation.compiler import Compiled, Values, theta_data
from parcast_pamela.language.functions import Exact
from parcast_pamela.solvers.accuracy import estimate
from parcast_pamela.solvers.bound import binds

#: Tolerances take some hundred values of T^l, which may take so many steps each.
_MOST_STEPS = 2_000
_QUANTITIES = {
    "critical_path": "critical path",
    "contention": "contention",
    "bound": "lower bound",
    "upper": "upper bound",
}
#: Formulas longer than this are cut in the report for a reader.
_LONGEST = 600


def _exact(value: Exact) -> dict[str, Any]:
    digits = str(value) if value.denominator != 1 else str(int(value))
    return {"exact": digits, "value": float(value)}


def report_data(compiled: Compiled, values: Values | None) -> dict[str, Any]:
    """Return formulas, and values where there are any, as JSON-ready data."""
    theta = f"log(({compiled.contention!r})/({compiled.critical_path!r}))"
    data: dict[str, Any] = {
        "model": compiled.model.name,
        **{name: repr(getattr(compiled, name)) for name in _QUANTITIES},
        "theta": theta,
        "demands": {name: repr(demand) for name, demand in compiled.demands.items()},
        "guards": [f"{guard.violation!r} == 0" for guard in compiled.guards],
        "residual": residual(compiled),
        "notes": list(compiled.notes),
    }
    if values is not None:
        exact_values: dict[str, Any] = {name: _exact(getattr(values, name)) for name in _QUANTITIES}
        exact_values |= theta_data(values.theta)
        exact_values["estimate"] = estimate(values)
        data["values"] = exact_values
    return data


def report(
    compiled: Compiled, values: Values | None, parameters: Mapping[str, Any]
) -> Iterator[str]:
    """Yield lines for a reader: formulas, values, what they are worth and when they hold."""
    for name, words in _QUANTITIES.items():
        formula = repr(getattr(compiled, name))
        if len(formula) > _LONGEST:
            formula = f"{formula[:_LONGEST]}... ({len(formula):,} characters; --json has them all)"
        yield f"{words:14} {formula}"
        if values is not None:
            yield f"{'':14} = {float(getattr(values, name)):.6g}"
    if values is not None:
        yield from _worth(compiled, parameters, values)
    for term in residual(compiled):
        yield f"without closed form: {shorten(term, 200)}"
    for guard in compiled.guards:
        yield f"holds where {shorten(repr(guard.violation), 200)} is 0 (else {guard.message})"
    yield from compiled.notes


def _worth(compiled: Compiled, parameters: Mapping[str, Any], values: Values) -> Iterator[str]:
    """Yield lines about the value of T^l at a point."""
    bound = bind(compiled.model, parameters)
    evaluate = ExactValues(bound)
    demands = {name: float(evaluate.value(demand)) for name, demand in compiled.demands.items()}
    yield f"{'bottleneck':14} {binds(values, demands)}"
    evaluate.value(compiled.bound)
    if evaluate.steps > _MOST_STEPS:
        yield (
            f"no sensitivity and no tolerance: a value of the bound takes {evaluate.steps:,} steps "
            f"without a closed form, more than {_MOST_STEPS:,}"
        )
        return
    current = regime(compiled, bound)
    yield f"{'regime':14} {current.active!r}"
    theta = values.theta
    if theta is not None and math.isfinite(theta):
        yield f"{'theta':14} {theta:.4g}"
    if (expected := estimate(values)) is not None and values.bound != values.upper:
        yield f"{'estimate':14} {expected:.6g}, if accesses were random"
    shares = sorted(current.elasticities.items(), key=lambda pair: -abs(pair[1]))
    for name, share in shares:
        if share:
            yield f"{'sensitivity':14} 1 % more {name}: {share:+.3g} %"
    for name, parameter in compiled.model.parameters.items():
        if parameter.type == "time" and not parameter.dims and not current.elasticities.get(name):
            limit = tolerance(compiled, bound, name)
            if limit is not None:
                span = f"{format_seconds(float(bound[name]))} to {format_seconds(float(limit))}"  # type: ignore[arg-type]
                yield f"{'tolerance':14} {name} may grow from {span}"
