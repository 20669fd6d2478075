"""Slow plain references: rational state enumeration that shares no code with the plugin."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

CASES = json.loads(Path(__file__).with_name("data").joinpath("spmd.json").read_text())


def compositions(total, parts):
    """Yield every way to put ``total`` jobs into ``parts`` places."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def enumerate_network(populations, delays, demands):
    """Return exact rational means by summing the product form over every state.

    ``demands[k][r]`` for queue k; returns throughput[r] and lengths[k][r].
    """
    classes, queues = len(populations), len(demands)

    def measure(counts):
        total = Fraction(0)
        lengths = [[Fraction(0)] * classes for _ in range(queues)]
        places = [list(compositions(n, queues + 1)) for n in counts]
        for state in itertools.product(*places):
            weight = Fraction(1)
            for r in range(classes):
                weight *= Fraction(delays[r]) ** state[r][queues] / math.factorial(state[r][queues])
            for k in range(queues):
                here = [state[r][k] for r in range(classes)]
                weight *= math.factorial(sum(here))
                for r in range(classes):
                    weight *= Fraction(demands[k][r]) ** here[r] / math.factorial(here[r])
            total += weight
            for k in range(queues):
                for r in range(classes):
                    lengths[k][r] += weight * state[r][k]
        return total, lengths

    whole, lengths = measure(populations)
    rates = []
    for r in range(classes):
        fewer = list(populations)
        fewer[r] -= 1
        rates.append(measure(fewer)[0] / whole if populations[r] else Fraction(0))
    return rates, [[value / whole for value in row] for row in lengths]


def response_eq17(i, z, x):
    """Eq. 17 as printed, in rational numbers."""
    over = under = Fraction(0)
    for waiting in range(i):
        term = x**waiting * z ** (i - 1 - waiting) / math.factorial(i - 1 - waiting)
        over += (waiting + 1) * term
        under += term
    return x * over / under


def response_eq22(i, z, x, y):
    """Eq. 22 as printed, in rational numbers."""
    over = under = Fraction(0)
    for e1, e2, e3 in compositions(i - 1, 3):
        term = x**e1 * y**e2 * z**e3 / math.factorial(e3)
        over += (e1 + 1) * term
        under += term
    return x * over / under
