"""The compiler, checking itself: formulas against enumeration at small parameters."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import attrs

from parcast.errors import ParcastError
from parcast_pamela.compilation.compiler import Compiled, compile_model
from parcast_pamela.compilation.plain import compile_plainly
from parcast_pamela.enumeration import enumerate_bounds
from parcast_pamela.language.model import Model

_QUANTITIES = ("critical_path", "contention", "bound", "upper")


def compile_checked(model: Model, check: int = 2, seed: int = 0) -> Compiled:
    """Return a model's formulas, compared with enumeration at ``check`` small parameters.

    Where they differ, which would be an error of parcast, the formulas without any
    simplification are returned, with a note.

    Parameters
    ----------
    model
        With all that a machine must supply.
    check
        How many points are compared.
    seed
        Which points.
    """
    compiled = compile_model(model)
    for point in _points(model, check, seed):
        try:
            exact = enumerate_bounds(model, point, most=_MOST_STEPS)
        except ParcastError:
            continue  # no value at this point
        try:
            found: Any = compiled.values(point)
        except ParcastError:
            found = None
        if any(getattr(found, name, None) != getattr(exact, name) for name in _QUANTITIES):
            note = (
                f"the simplified formula was wrong at {point}; the formula is not simplified. "
                "Please report this model"
            )
            return attrs.evolve(compile_plainly(model), notes=(note,))
    return compiled


#: Points that take longer to enumerate are passed over.
_MOST_STEPS = 4000


def _points(model: Model, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield random small whole numbers for the int parameters; others keep their defaults."""
    draw = random.Random(seed)  # noqa: S311  (points of a test)
    whole = [
        name for name, one in model.parameters.items() if one.type == "int" and not one.dims
    ]  # fmt: skip
    for _ in range(8 * count):
        point: dict[str, Any] = {name: draw.choice((1, 2, 3, 4, 6, 8)) for name in whole}
        try:
            from parcast_pamela.bindings import bind

            bind(model, point)
        except ParcastError:
            continue
        yield point
        count -= 1
        if not count:
            return
