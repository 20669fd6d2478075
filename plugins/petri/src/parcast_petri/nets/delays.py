"""Delays as the kernel reads them: operations of expressions, and parameters of laws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from parcast.quantities import Expr, Name, Num, names_in
from parcast_petri.kernel import layout as k
from parcast_petri.machine.laws import Law
from parcast_petri.nets.net import FAIR, Given, NetError, Tokens, Transition

_OPS = {"+": k.ADD, "-": k.SUBTRACT, "*": k.MULTIPLY, "/": k.DIVIDE, "neg": k.NEGATE,
        "min": k.MINIMUM, "max": k.MAXIMUM}  # fmt: skip


def code(tokens: Tokens, places: Mapping[str, int]) -> list[tuple[int, Any]]:
    """Return an expression as operations on a stack."""

    def of(expr: Expr) -> list[tuple[int, Any]]:
        if isinstance(expr, Num):
            return [(k.NUMBER, _exactly(expr.value))]
        if isinstance(expr, Name):
            return [(k.TOKENS, places[expr.id])]
        if expr.f == FAIR:
            (member,) = names_in(expr)
            return [(k.FAIR, places[member])]
        operations = of(expr.args[0])
        if len(expr.args) == 1:
            return [*operations, (_OPS["neg" if expr.f == "-" else expr.f], 0)]
        for argument in expr.args[1:]:
            operations += [*of(argument), (_OPS[expr.f], 0)]
        return operations

    return of(tokens.expr)


def _exactly(value: Any) -> Fraction:
    """Return a number as it is spelled."""
    return value if isinstance(value, Fraction) else Fraction(repr(value))


def law(transition: Transition, *, exact: bool) -> tuple[int, Any, Any, Sequence[Any]]:
    """Return how a delay is found: its kind, two parameters and a table."""
    delay = transition.delay
    if delay is None:
        return k.CONST, 0, 0, ()
    if isinstance(delay, Tokens):
        return k.MARKED, 0, 0, ()
    if isinstance(delay, Given):
        return k.GIVEN, 0, 0, (0.0,) * delay.limit
    if not isinstance(delay, Law):
        return k.CONST, delay, 0, ()
    if delay.law == "const":
        return k.CONST, delay.parameters[0], 0, ()
    if exact:
        raise NetError(
            f"transition {transition.name!r} has a random delay, so there is no exact time"
        )
    return _drawn(delay)


def _drawn(delay: Law) -> tuple[int, Any, Any, Sequence[Any]]:
    match delay.law, delay.parameters:
        case "exp", (mean,):
            return k.EXP, mean, 0, ()
        case "lognormal", (mean, std):
            spread = math.log1p((std / mean) ** 2)
            return k.LOGNORMAL, math.log(mean) - spread / 2, math.sqrt(spread), ()
        case "hyper", _:
            shares, means = delay.branches()
            return k.HYPER, 0, 0, [shares[0], means[0], 1.0, means[1]]
        case "stages", _:
            count, stage, fewer = delay.stages()
            return k.STAGES, count, stage, (fewer,)
        case "pareto", (shape, mean):
            return k.PARETO, shape, mean * (shape - 1) / shape, ()
        case "sampled", values:
            return k.SAMPLED, 0, 0, values
        case name, (first, second):
            kinds = {"erlang": k.ERLANG, "uniform": k.UNIFORM, "gamma": k.GAMMA,
                     "weibull": k.WEIBULL}  # fmt: skip
            return kinds[name], first, second, ()
    raise NetError(f"no delay can be drawn from the law {delay.law!r}")
