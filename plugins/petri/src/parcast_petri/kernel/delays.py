"""Delays: expressions of tokens, and laws."""

from __future__ import annotations

import math
from typing import Any

from parcast_petri.kernel.layout import (
    ADD,
    CODE,
    CODE_AT,
    DELAY,
    DIVIDE,
    ERLANG,
    EXP,
    FAIR,
    GAMMA,
    GIVEN,
    KIND,
    LOGNORMAL,
    MARKING,
    MINIMUM,
    MULTIPLY,
    NEGATE,
    NUMBER,
    OPERAND,
    PARETO,
    RATE,
    SAMPLED,
    SECOND,
    STACK,
    STAGES,
    SUBTRACT,
    TABLE,
    TABLE_AT,
    TOKENS,
    UNIFORM,
    WEIBULL,
)


def evaluate(m: Any, f: Any, which: int) -> Any:
    """Return the value of an expression of tokens at the present marking."""
    top = -1
    for k in range(m[m[CODE_AT] + which], m[m[CODE_AT] + which + 1]):
        op = m[m[CODE] + k]
        if op == NUMBER:
            top += 1
            f[m[STACK] + top] = f[m[OPERAND] + k]
        elif op == TOKENS:
            top += 1
            f[m[STACK] + top] = f[m[OPERAND]] * 0 + m[m[MARKING] + int(f[m[OPERAND] + k])]
        elif op == FAIR:
            top += 1
            f[m[STACK] + top] = f[m[RATE] + int(f[m[OPERAND] + k])]
        elif op == NEGATE:
            f[m[STACK] + top] = -f[m[STACK] + top]
        else:
            top -= 1
            a, b = f[m[STACK] + top], f[m[STACK] + top + 1]
            if op == ADD:
                f[m[STACK] + top] = a + b
            elif op == SUBTRACT:
                f[m[STACK] + top] = a - b
            elif op == MULTIPLY:
                f[m[STACK] + top] = a * b
            elif op == DIVIDE:
                f[m[STACK] + top] = a / b
            elif op == MINIMUM:
                f[m[STACK] + top] = min(a, b)
            else:
                f[m[STACK] + top] = max(a, b)
    return f[m[STACK]]


def sample(m: Any, f: Any, t: int, draw: Any) -> Any:
    """Return a delay drawn from the law of a transition."""
    kind, first, second = m[m[KIND] + t], f[m[DELAY] + t], f[m[SECOND] + t]
    if kind == EXP:
        return -first * math.log1p(-draw.random())
    if kind == ERLANG:
        product = 1.0
        for _ in range(int(first)):
            product *= 1.0 - draw.random()
        return -second / first * math.log(product)
    if kind == UNIFORM:
        return first + (second - first) * draw.random()
    if kind == GAMMA:
        return second / first * draw.standard_gamma(first)
    if kind == LOGNORMAL:
        return math.exp(first + second * draw.standard_normal())
    if kind == WEIBULL:
        return second * (-math.log1p(-draw.random())) ** (1.0 / first)
    if kind == PARETO:
        return second * (1.0 - draw.random()) ** (-1.0 / first)
    return sample_table(m, f, t, draw)


def sample_table(m: Any, f: Any, t: int, draw: Any) -> Any:
    """Return a delay drawn from a law with a table, or the next that is given."""
    kind, first, second = m[m[KIND] + t], f[m[DELAY] + t], f[m[SECOND] + t]
    low, high = m[m[TABLE_AT] + t], m[m[TABLE_AT] + t + 1]
    if kind == STAGES:
        stages = int(first) - 1 if draw.random() < f[m[TABLE] + low] else int(first)
        product = 1.0
        for _ in range(stages):
            product *= 1.0 - draw.random()
        return -second * math.log(product)
    if kind == GIVEN:
        f[m[DELAY] + t] = first + 1
        return f[m[TABLE] + low + int(first)]
    if kind == SAMPLED:
        return f[m[TABLE] + low + int((high - low) * draw.random())]
    u = draw.random()  # hyperexponential: pairs of cumulated probability and mean
    while low < high - 2 and u >= f[m[TABLE] + low]:
        low += 2
    return -f[m[TABLE] + low + 1] * math.log1p(-draw.random())
