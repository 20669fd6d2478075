"""What a value of T^l is worth: what binds, how sensitive it is, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from parcast.quantities import format_seconds
from parcast_pamela.algebra.exact import ExactValues
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.analysis import regime, tolerance
from parcast_pamela.compilation.compiler import Compiled, Values
from parcast_pamela.solvers.accuracy import estimate
from parcast_pamela.solvers.bound import binds

#: Tolerances take some hundred values of T^l, which may take so many steps each.
_MOST_STEPS = 2_000


def report_lines(
    compiled: Compiled, parameters: Mapping[str, Any], values: Values
) -> Iterator[str]:
    """Yield lines about the value of T^l at a point."""
    bound = bind(compiled.model, parameters)
    evaluate = ExactValues(bound)
    demands = {name: float(evaluate.value(demand)) for name, demand in compiled.demands.items()}
    yield f"{'binds':14} {binds(values, demands)}"
    evaluate.value(compiled.bound)
    if evaluate.steps > _MOST_STEPS:
        yield (
            f"no sensitivity and no tolerance: a value of the bound takes {evaluate.steps:,} steps "
            f"without a closed form, more than {_MOST_STEPS:,}"
        )
        return
    current = regime(compiled, bound)
    yield f"{'here':14} {current.active!r}"
    theta = values.theta
    if theta is not None and math.isfinite(theta):
        yield f"{'theta':14} {theta:.4g}"
    if (expected := estimate(values)) is not None and values.bound != values.upper:
        yield f"{'estimate':14} {expected:.6g}, were accesses random"
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
