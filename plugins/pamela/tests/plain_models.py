"""Random nests as text, and their quantities by going through every loop: no code of the compiler.

An expression is text that Python evaluates over fractions; `pamela` spells it in the language. A
process is a tuple: ``("use", resource, places, time)``, ``("delay", time)``, ``("seq", parts)``,
``("par", parts)``, ``("loop", word, index, first, last, step, body)``, ``("if", condition, then)``.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random
from typing import NamedTuple

HEAD = """param N : int >= 0, M : int >= 1, P : int >= 1, tb : time, ts : time
resource s, pool mult 2
resource line[-20..30], pair[-20..30] mult 2, uneven[q = -20..30] mult 1 + (q mod 3)
resource ring[0..P-1], upto[0..N], grid[-9..12, 0..3]
"""
NAMES = ("N", "M", "P", "tb", "ts")


class RefusedError(Exception):
    """The model has no value there."""


class Quantities(NamedTuple):
    """Equations 2 to 5, and the upper bound, of one process."""

    critical_path: Fraction
    bound: Fraction
    weighed: Fraction  #: the path with use(r, t) weighing t (1 - 1/|r|)
    load: Fraction  #: all demands per server
    demand: Counter

    @property
    def upper(self):
        return self.weighed + self.load

    def contention(self, values):
        return max((t / servers(key, values) for key, t in self.demand.items()), default=0)


def servers(key, values):
    resource, places = key
    if resource == "uneven":
        return 1 + places[0] % 3
    return 2 if resource in {"pool", "pair"} else 1


def ranges(resource, values):
    return {
        "line": ((-20, 30),), "pair": ((-20, 30),), "uneven": ((-20, 30),),
        "ring": ((0, values["P"] - 1),), "upto": ((0, values["N"]),), "grid": ((-9, 12), (0, 3)),
    }.get(resource, ())  # fmt: skip


FUNCTIONS = {
    "floor": lambda x: Fraction(math.floor(x)),
    "ceil": lambda x: Fraction(math.ceil(x)),
    "max": lambda *x: Fraction(max(x)),
    "min": lambda *x: Fraction(min(x)),
    "abs": lambda x: Fraction(abs(x)),
    "either": lambda condition, yes, no: Fraction(yes if condition else no),
    "__builtins__": {},
}


def value(expression, values):
    return eval(expression, FUNCTIONS, values)


def whole(expression, values):
    found = Fraction(value(expression, values))
    if found.denominator != 1:
        raise RefusedError(f"{expression} is {found}")
    return int(found)


def quantities(node, values):
    """Return the quantities of a process where its indices and parameters have these values."""
    kind = node[0]
    if kind in {"use", "delay"}:
        return _task(node, values)
    if kind == "if":
        if value(node[1], values):
            return quantities(node[2], values)
        return Quantities(*4 * [Fraction(0)], Counter())
    if kind == "loop":
        _, word, index, first, last, step, body = node
        steps = 1 if step is None else whole(step, values)
        span = range(whole(first, values), whole(last, values) + 1, steps)
        parts = [quantities(body, values | {index: Fraction(i)}) for i in span]
    else:
        word, parts = kind, [quantities(one, values) for one in node[1]]
    demand = Counter()
    for one in parts:
        demand.update(one.demand)
    join = sum if word == "seq" else lambda times: max(times, default=Fraction(0))
    path, bound, weighed = (join([one[i] for one in parts]) for i in range(3))
    found = Quantities(path, bound, weighed, sum(one.load for one in parts), demand)
    if word == "par":
        found = found._replace(bound=max(bound, found.contention(values)))
    return found


def _task(node, values):
    time = Fraction(value(node[-1], values))
    if time < 0:
        raise RefusedError("a time below 0")
    if node[0] == "delay":
        return Quantities(time, time, time, Fraction(0), Counter())
    _, resource, stated, _ = node
    places = tuple(whole(one, values) for one in stated)
    for place, (low, high) in zip(places, ranges(resource, values), strict=True):
        if not low <= place <= high:
            raise RefusedError("out of range")
    key = resource, places
    share = time / servers(key, values)
    return Quantities(time, time, time - share, share, Counter({key: time}))


# ---------------------------------------------------------------- as text


def pamela(expression):
    """Return an expression as the language spells it."""
    if expression.startswith("either("):
        condition, yes, no = expression[7:-1].split(", ")
        return f"({pamela(condition)} ? {pamela(yes)} : {pamela(no)})"
    return expression.replace("**", "^").replace("%", " mod ")


def text(node):
    """Return a process as the language spells it."""
    kind = node[0]
    if kind == "delay":
        return f"delay({pamela(node[1])})"
    if kind == "use":
        places = f"[{', '.join(map(pamela, node[2]))}]" if node[2] else ""
        return f"use({node[1]}{places}, {pamela(node[3])})"
    if kind == "if":
        return f"if ({pamela(node[1])}) {{ {text(node[2])} }}"
    if kind == "loop":
        _, word, index, first, last, step, body = node
        by = "" if step is None else f" by {pamela(step)}"
        return f"{word} ({index} = {pamela(first)}, {pamela(last)}{by}) {{ {text(body)} }}"
    return "{ " + (" ; " if kind == "seq" else " || ").join(map(text, node[1])) + " }"


# ---------------------------------------------------------------- drawn


def draw_model(draw: Random):
    """Return a process: one to three loops within each other, with one to three tasks in them."""
    return _nest(draw, (), draw.choice((1, 2, 2, 2, 2, 2, 3)))


def draw_point(draw: Random):
    point = {"N": draw.randrange(8), "M": draw.randint(1, 4), "P": draw.randint(1, 5)}
    times = {name: Fraction(draw.randrange(12), draw.choice((1, 2, 3))) for name in ("tb", "ts")}
    return {name: Fraction(one) for name, one in (point | times).items()}


def _nest(draw, indices, depth):
    if depth == 0:
        return _tasks(draw, indices)
    index = "ijk"[len(indices)]
    first, last = _ends(draw, indices)
    step = draw.choice((None, None, None, None, None, None, "2", "M"))
    body = _nest(draw, (*indices, index), depth - 1)
    if draw.random() < 0.1:
        body = (draw.choice(("seq", "par")), [body, _tasks(draw, (*indices, index))])
    if draw.random() < 0.08:
        body = ("if", _condition(draw, (*indices, index)), body)
    return ("loop", draw.choice(("seq", "par", "par")), index, first, last, step, body)


def _tasks(draw, indices):
    tasks = [_task_of(draw, indices) for _ in range(draw.choice((1, 1, 1, 1, 1, 2, 2, 3)))]
    return tasks[0] if len(tasks) == 1 else (draw.choice(("seq", "par")), tasks)


def _task_of(draw, indices):
    time = _time(draw, indices)
    resource = draw.choice(
        ("line",) * 8 + ("pair", "uneven", "ring", "ring", "upto", "grid", "grid", "s", "pool", "")
    )
    if not resource:
        return ("delay", time)
    place = _place(draw, indices)
    places = {
        "s": (), "pool": (), "ring": (f"({place}) % P",),
        "upto": (f"max(0, min(N, {place}))",), "grid": (place, f"({_place(draw, indices)}) % 4"),
    }.get(resource, (place,))  # fmt: skip
    return ("use", resource, places, time)


def _ends(draw, indices):
    """Return the ends of a range: rectangular, triangular, or often empty."""
    plain = ("0", "1", "2", "M", "-M", "P-3", "N-4")
    last = ("N", "P", "M", "N-1", "P-1", "N+M", "6", "floor(N/2)", "min(N, P)", "max(P, M)", "3")
    if not indices or draw.random() < 0.4:
        return draw.choice(plain[:2] * 4 + plain), draw.choice(last[:2] * 5 + last)
    i, j = draw.choice(indices), draw.choice(indices)
    sides = (i, i, f"{i}+1", f"{i}-1", f"N-{i}", f"2*{i}", f"floor({i}/2)", f"max({i}, {j})",
             f"min({i}, P)", f"{i}+{j}", f"{i}-M", f"{i} % M", f"M-{i}",
             f"ceil({i}/P)")  # fmt: skip
    side = draw.choice(sides)
    if draw.random() < 0.15:
        return side, draw.choice(sides)
    return (side, draw.choice(last)) if draw.random() < 0.5 else (draw.choice(plain), side)


def _linear(draw, indices):
    """Return a sum of indices and parameters with small whole factors."""
    if not indices:
        return draw.choice(("0", "1", "M", "P", "N", "3"))
    chosen = draw.sample(indices, draw.choice((1, 1, 1, min(2, len(indices)), len(indices))))
    terms = [draw.choice(("", "", "", "-", "2*", "M*", "-2*", "3*")) + one for one in chosen]
    if draw.random() < 0.35:
        terms.append(draw.choice(("1", "-2", "M", "N", "-P", "3")))
    return "+".join(terms).replace("+-", "-")


def _place(draw, indices):
    a, b = _linear(draw, indices), _linear(draw, indices)
    size = draw.choice(("2", "3", "M", "P"))
    return draw.choice(
        (a, a, a, a, a, f"floor(({a})/{size})", f"floor(({a})/{size})", f"({a}) % {size}",
         f"({a}) % {size}", f"max({a}, {b})", f"min({a}, {b})", f"abs({a})", f"ceil(({a})/{size})",
         f"floor(({a})/{size})**2", f"({a}) % {size}+floor(({b})/{size})",
         f"({a}) % {size}+{size}*(({b}) % 2)", f"({a})-2*floor(({a})/2)", f"max(0, {a})")
    )  # fmt: skip


def _time(draw, indices):
    a, b = _linear(draw, indices), _linear(draw, indices)
    unit = draw.choice(("tb", "ts", "tb", "1", "(tb+ts)", "2"))
    size = draw.choice(("2", "3", "M", "P"))
    shape = draw.choice(
        ("1", "1", "1", f"max(0, {a})", f"max(0, {a})", f"abs({a})", f"max(0, ({a})-({b}))",
         f"({a})**2", f"floor(abs({a})/{size})", f"(({a}) % {size})", f"min(abs({a}), {size})",
         f"max(0, min({a}, {b}))", f"max({a}, {b}, 0)", f"ceil(abs({a})/{size})",
         f"(max(0, {a})*max(0, {b}))", f"max(0, {a})**2", f"(({a}) % {size})**2",
         f"either({_condition(draw, indices)}, 1, 3)", f"(2+({a}) % {size}-({b}) % 2)",
         f"max({a}, {size})")
    )  # fmt: skip
    if shape.startswith("either("):
        return shape
    return f"{unit}*{shape}"


def _condition(draw, indices):
    a, b = _linear(draw, indices), _linear(draw, indices)
    return draw.choice(
        (f"({a}) % 2 == 0", f"({a}) <= {b}", f"({a}) > {b}", f"({a}) % M == 1",
         f"floor(({a})/M) == 1", f"({a}) == {b}", f"({a}) != {b}", f"floor(({a})/2) >= {b}")
    )  # fmt: skip
