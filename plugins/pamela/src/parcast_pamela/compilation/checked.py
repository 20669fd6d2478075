"""The compiler, checking itself: formulas against enumeration at small parameters."""

from __future__ import annotations

import attrs

from parcast.errors import ParcastError
from parcast_pamela.compilation.compiler import Compiled, compile_model
from parcast_pamela.compilation.points import Point, points
from parcast_pamela.enumeration import Bounds, bounds_at
from parcast_pamela.language.errors import ModelError, TooLargeError, TooManyStepsError
from parcast_pamela.language.model import Model

_QUANTITIES = ("critical_path", "contention", "bound", "upper")
#: Points that take more steps to enumerate, or by a formula with loops left in it, are passed over.
_MOST_STEPS = 1200
#: Where this leaves none, the smallest points may take so many.
_MOST_ALONE = 12_000
_UNCHECKED = (
    "no formula was compared with enumeration: the model has no small parameters that fit, or "
    "takes too many steps there"
)


def compile_checked(model: Model, check: int = 8, seed: int = 0, transfers: str = "") -> Compiled:
    """Return a model's formulas, compared with enumeration at ``check`` small parameters.

    Where they differ, which would be an error of parcast, where a rule divides by zero or a
    formula becomes too large, the formulas without any simplification are returned, with a note;
    they are compared too. Where nothing can be compared a note says so.

    Parameters
    ----------
    model
        With all that a machine must supply.
    check
        How many points are compared.
    seed
        Which points.
    transfers
        As `compile_model` takes it.

    Raises
    ------
    ModelError
        If the model has no formulas, or none that agree with enumeration.
    """
    try:
        compiled = compile_model(model, transfers=transfers)
    except TooLargeError:
        return _plain(model, "the formula becomes too large; it is not simplified", transfers)
    except ArithmeticError:
        note = "simplifying divided by zero; the formula is not simplified"
        return _plain(model, note, transfers)
    tried = list(points(model, check, seed))
    smallest = sorted(tried, key=lambda point: point.size)[:2]
    for candidates, step_limit in ((tried, _MOST_STEPS), (smallest, _MOST_ALONE)):
        compared = 0
        for point in candidates:
            agrees = _agrees(compiled, point, transfers, step_limit)
            if agrees is False:
                note = (
                    f"the simplified formula was wrong at {point}; the formula is not simplified. "
                    "Please report this model"
                )
                return _plain(model, note, transfers, point)
            compared += agrees is not None
        if compared:
            return compiled
    return attrs.evolve(compiled, notes=(_UNCHECKED,))


def _agrees(
    compiled: Compiled, point: Point, transfers: str, step_limit: int = _MOST_ALONE
) -> bool | None:
    """Return whether formulas have the values of enumeration; None where there are none."""
    model = compiled.model
    try:
        expected = bounds_at(model, point.bound, step_limit=step_limit, transfers=transfers)
    except ParcastError:
        return None  # no value at this point, or none in so few steps
    try:
        values = compiled.values_at(point.bound, step_limit)
    except TooManyStepsError:
        return None
    except (ParcastError, ArithmeticError):
        return False
    return _rows(values) == _rows(expected)


def _rows(values: object | Bounds) -> list[object]:
    return [getattr(values, name) for name in _QUANTITIES]


def _plain(model: Model, note: str, transfers: str, point: Point | None = None) -> Compiled:
    try:
        compiled = attrs.evolve(
            compile_model(model, simplify=False, transfers=transfers), notes=(note,)
        )
    except ArithmeticError:
        raise ModelError(f"{model.name}: an expression of it divides by zero") from None
    for candidate in (point,) if point is not None else points(model, 2, 0):
        if _agrees(compiled, candidate, transfers) is False:
            raise ModelError(
                f"{model.name}: its formulas differ from enumeration at {candidate}, simplified or "
                "not, which is an error of parcast; please report this model"
            )
    return compiled
