"""Small parameters to try a model's formulas at."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from parcast.errors import ParcastError
from parcast_pamela.bindings import Bindings, bind
from parcast_pamela.evaluation import Evaluator
from parcast_pamela.language.functions import Exact
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import Number, Parameter

Point = dict[str, Any]
#: How far a whole parameter lies above its least value; the first are as likely as all others.
_STEPS = (0, 1, 2, 3, 1, 2, 3, 4, 5, 7)
#: Of so many draws a point one at least must fit what the model assumes.
_DRAWS = 24


def points(model: Model, count: int, seed: int) -> Iterator[Point]:
    """Yield different points, up to ``count``, that fit a model.

    Whole parameters come from a box at their least values. What has no default is a random
    rational, so that no two times cancel by chance; other parameters keep their defaults.
    """
    draw = random.Random(seed)  # noqa: S311  (points of a test)
    seen: list[Point] = []
    for _ in range(_DRAWS * count):
        try:
            point = _point(model, draw)
            bind(model, point)
        except ParcastError:
            continue
        if point in seen:
            continue
        seen.append(point)
        yield point
        if len(seen) == count:
            return


def _point(model: Model, draw: random.Random) -> Point:
    point: Point = {}
    for name, one in model.parameters.items():
        if not one.dims and (one.type == "int" or one.default is None):
            point[name] = _number(one, draw)
    for name, one in model.parameters.items():
        if one.dims and one.default is None:
            point[name] = _items(one, _sizes(model, one, point), draw)
    return point


def _number(parameter: Parameter, draw: random.Random) -> Exact:
    low = parameter.low
    least = low.value if isinstance(low, Number) else Fraction(1 if parameter.type == "int" else 0)
    if parameter.type == "int":
        return int(least) + draw.choice(_STEPS)
    if parameter.type == "bool":
        return draw.randrange(2)
    if parameter.type == "prob":
        return Fraction(draw.randrange(8), 7)
    return least + Fraction(draw.randint(1, 60), draw.choice((2, 3, 5, 7)))


def _sizes(model: Model, parameter: Parameter, point: Point) -> list[int]:
    evaluator = Evaluator(model, Bindings(model, point))
    ends = ((evaluator.value(e, {}) for e in (one.first, one.last)) for one in parameter.dims)
    return [max(0, int(last) - int(first) + 1) for first, last in ends]


def _items(parameter: Parameter, sizes: list[int], draw: random.Random) -> Any:
    if not sizes:
        return _number(parameter, draw)
    return [_items(parameter, sizes[1:], draw) for _ in range(sizes[0])]
