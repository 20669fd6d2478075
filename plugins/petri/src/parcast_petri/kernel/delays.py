"""Delays: expressions of tokens, and laws."""

from __future__ import annotations

import math
from typing import Any

from parcast_petri.kernel import layout as k


def evaluate(m: Any, f: Any, which: int) -> Any:
    """Return the value of an expression of tokens at the present marking."""
    codes, operands, top = m[k.CODE], m[k.OPERAND], m[k.STACK] - 1
    for i in range(m[m[k.CODE_AT] + which], m[m[k.CODE_AT] + which + 1]):
        op = m[codes + i]
        if op == k.NUMBER:
            top += 1
            f[top] = f[operands + i]
        elif op == k.TOKENS:
            top += 1
            f[top] = f[operands] * 0 + m[m[k.MARKING] + int(f[operands + i])]
        elif op == k.FAIR:
            top += 1
            f[top] = f[m[k.RATE] + int(f[operands + i])]
        elif op == k.NEGATE:
            f[top] = -f[top]
        else:
            top -= 1
            a, b = f[top], f[top + 1]
            if op == k.ADD:
                f[top] = a + b
            elif op == k.SUBTRACT:
                f[top] = a - b
            elif op == k.MULTIPLY:
                f[top] = a * b
            elif op == k.DIVIDE:
                f[top] = a / b
            elif op == k.MINIMUM:
                f[top] = min(a, b)
            else:
                f[top] = max(a, b)
    return f[m[k.STACK]]


def sample(m: Any, f: Any, t: int, draw: Any) -> Any:
    """Return a delay drawn from the law of a transition."""
    kind, first, second = m[m[k.KIND] + t], f[m[k.DELAY] + t], f[m[k.SECOND] + t]
    if kind == k.EXP:
        return -first * math.log1p(-draw.random())
    if kind == k.ERLANG:
        product = 1.0
        for _ in range(int(first)):
            product *= 1.0 - draw.random()
        return -second / first * math.log(product)
    if kind == k.UNIFORM:
        return first + (second - first) * draw.random()
    if kind == k.GAMMA:
        return second / first * draw.standard_gamma(first)
    if kind == k.LOGNORMAL:
        return math.exp(first + second * draw.standard_normal())
    if kind == k.WEIBULL:
        return second * (-math.log1p(-draw.random())) ** (1.0 / first)
    if kind == k.PARETO:
        return second * (1.0 - draw.random()) ** (-1.0 / first)
    return sample_table(m, f, t, draw)


def sample_table(m: Any, f: Any, t: int, draw: Any) -> Any:
    """Return a delay drawn from a law with a table, or the next that is given."""
    kind, first, second = m[m[k.KIND] + t], f[m[k.DELAY] + t], f[m[k.SECOND] + t]
    low, high = m[m[k.TABLE_AT] + t], m[m[k.TABLE_AT] + t + 1]
    if kind == k.STAGES:
        stages = int(first) - 1 if draw.random() < f[m[k.TABLE] + low] else int(first)
        product = 1.0
        for _ in range(stages):
            product *= 1.0 - draw.random()
        return -second * math.log(product)
    if kind == k.GIVEN:
        f[m[k.DELAY] + t] = first + 1
        return f[m[k.TABLE] + low + int(first)]
    if kind == k.SAMPLED:
        return f[m[k.TABLE] + low + int((high - low) * draw.random())]
    u = draw.random()  # hyperexponential: pairs of cumulated probability and mean
    while low < high - 2 and u >= f[m[k.TABLE] + low]:
        low += 2
    return -f[m[k.TABLE] + low + 1] * math.log1p(-draw.random())
