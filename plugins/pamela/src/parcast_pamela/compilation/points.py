"""Small parameters to try a model's formulas at."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs

from parcast.errors import ParcastError
from parcast_pamela.bindings import Bindings, bind
from parcast_pamela.evaluation import Evaluator
from parcast_pamela.language.arrays import Bound
from parcast_pamela.language.functions import Exact
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import Number, Parameter

#: How far a count lies above its least value. What goes wrong in long loops does so in short ones,
#: which take fewer steps.
_STEPS = (0, 1, 2, 3, 1, 2, 3, 4)
#: What is measured is a whole number up to this, cheap to add, that cancels another by no chance.
_MOST = 97
#: Of so many draws a point one at least must fit what the model assumes.
_DRAWS = 12
#: Counts that are refused may have been so for the times drawn with them.
_TRIES = 2
#: The types of what is measured, not counted
_MEASURED = frozenset({"real", "time", "bytes", "flop", "rate", "prob", "bool"})


@attrs.frozen
class Point:
    """Parameters as a user gives them, and bound."""

    parameters: Mapping[str, Any]
    bound: Mapping[str, Bound]
    size: int  #: the sum of all counts

    def __str__(self) -> str:
        return str(self.parameters)


def points(model: Model, count: int, seed: int) -> Iterator[Point]:
    """Yield different points, up to ``count``, that fit a model.

    Counts come from a box at their least values; real numbers without a unit keep their default.
    Where no such point fits what the model assumes, whatever is no count keeps its default.
    """
    draw = random.Random(seed)  # noqa: S311  (points of a test)
    tried: Counter[str] = Counter()
    left = count
    for defaults in (False, True):
        for _ in range(_DRAWS * count):
            try:
                parameters = _random_parameters(model, draw, defaults=defaults)
                counts = [
                    v for name, v in parameters.items() if model.parameters[name].type == "int"
                ]
                key = repr(counts or parameters)
                if tried[key] == _TRIES:
                    continue  # other times at the same counts find little more
                tried[key] += 1
                bound = bind(model, parameters)
            except ParcastError:
                continue
            tried[key] = _TRIES
            yield Point(parameters, bound, _size(counts))
            left -= 1
            if not left:
                return
        if left < count:
            return


def _size(counts: Any) -> int:
    return sum(map(_size, counts)) if isinstance(counts, list) else int(counts)


def _random_parameters(model: Model, draw: random.Random, *, defaults: bool) -> dict[str, Any]:
    with_defaults = _MEASURED if defaults else {"real"}
    parameters: dict[str, Any] = {}
    for name, parameter in model.parameters.items():
        if not parameter.dims and (
            parameter.default is None or parameter.type not in with_defaults
        ):
            parameters[name] = _number(parameter, draw)
    for name, parameter in model.parameters.items():
        if parameter.dims and parameter.default is None:
            parameters[name] = _items(parameter, _sizes(model, parameter, parameters), draw)
    return parameters


def _number(parameter: Parameter, draw: random.Random) -> Exact:
    low = parameter.low
    least = low.value if isinstance(low, Number) else Fraction(0)
    if parameter.type == "int":
        return int(least if isinstance(low, Number) else 1) + draw.choice(_STEPS)
    if parameter.type == "bool":
        return draw.randrange(2)
    if parameter.type == "prob":
        return Fraction(draw.randrange(8), 7)
    if parameter.type == "real":
        return least + Fraction(draw.randint(1, 60), draw.choice((2, 3, 5, 7)))
    return math.ceil(least) + draw.randint(1, _MOST)


def _sizes(model: Model, parameter: Parameter, parameters: Mapping[str, Any]) -> list[int]:
    evaluator = Evaluator(model, Bindings(model, parameters))
    ends = (
        (evaluator.value(e, {}) for e in (dimension.first, dimension.last))
        for dimension in parameter.dims
    )
    return [max(0, int(last) - int(first) + 1) for first, last in ends]


def _items(parameter: Parameter, sizes: list[int], draw: random.Random) -> Any:
    if not sizes:
        return _number(parameter, draw)
    return [_items(parameter, sizes[1:], draw) for _ in range(sizes[0])]
