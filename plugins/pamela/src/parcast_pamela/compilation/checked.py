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
from parcast_pamela.errors import ModelError
from parcast_pamela.language.model import Model

_QUANTITIES = ("critical_path", "contention", "bound", "upper")


def compile_checked(model: Model, check: int = 2, seed: int = 0, transfers: str = "") -> Compiled:
    """Return a model's formulas, compared with enumeration at ``check`` small parameters.

    Where they differ, which would be an error of parcast, or where a rule divides by zero, the
    formulas without any simplification are returned, with a note.

    Parameters
    ----------
    model
        With all that a machine must supply.
    check
        How many points are compared.
    seed
        Which points.
    transfers
        As `compile_model` takes it; enumeration does not know it, so that nothing is compared.

    Raises
    ------
    ModelError
        If the model has no formulas.
    """
    try:
        compiled = compile_model(model, transfers=transfers)
    except ArithmeticError:
        note = "simplifying divided by zero; the formula is not simplified"
        return _plain(model, note, transfers)
    if transfers:
        return compiled
    for point in _points(model, check, seed):
        try:
            exact = enumerate_bounds(model, point, most=_MOST_STEPS)
        except ParcastError:
            continue  # no value at this point
        try:
            found: Any = compiled.values(point)
        except (ParcastError, ArithmeticError):
            found = None
        if any(getattr(found, name, None) != getattr(exact, name) for name in _QUANTITIES):
            note = (
                f"the simplified formula was wrong at {point}; the formula is not simplified. "
                "Please report this model"
            )
            return _plain(model, note)
    return compiled


def _plain(model: Model, note: str, transfers: str = "") -> Compiled:
    try:
        return attrs.evolve(compile_plainly(model, transfers), notes=(note,))
    except ArithmeticError:
        raise ModelError(f"{model.name}: an expression of it divides by zero") from None


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
