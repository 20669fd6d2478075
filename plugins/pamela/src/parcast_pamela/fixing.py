"""Parameters made constants of a model, so that its formulas have their numbers in them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from parcast.errors import UnknownNameError, did_you_mean
from parcast_pamela.bindings import Bindings
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import Apply, Assume, Let, Name, Number, Parameter


def with_constants(model: Model, values: Mapping[str, Any]) -> Model:
    """Return a model in which parameters are constants.

    Parameters
    ----------
    model
        Linked and checked.
    values
        As `parcast_pamela.bindings.bind` takes them; arrays stay parameters.

    Raises
    ------
    UnknownNameError
        If the model has no such parameter.
    ModelValueError
        If a value is none of the parameter's type or range, or the parameter is an array.
    """
    for name, value in values.items():
        model = _with(model, name, value)
    return model


def _with(model: Model, name: str, value: Any) -> Model:
    parameter = model.parameters.get(name)
    if parameter is None:
        hint = did_you_mean(name, model.parameters)
        declared = ", ".join(model.parameters) or "none"
        raise UnknownNameError(f"{model.name} has no parameter {name!r}.{hint} Known: {declared}.")
    if parameter.dims:
        raise ModelValueError(f"{name} is an array; only a number can be fixed", parameter.position)
    number = _number(model, parameter, value)
    others = {key: declaration for key, declaration in model.parameters.items() if key != name}
    constant = Let(name, (), Number(Fraction(number)), position=parameter.position)
    return attrs.evolve(
        model,
        parameters=others,
        lets={**model.lets, name: constant},
        assumptions=(*model.assumptions, *_symbolic_limits(parameter)),
    )


def _number(model: Model, parameter: Parameter, value: Any) -> Any:
    """Return a value of the parameter's type, within those limits that are numbers."""
    numbers = attrs.evolve(
        parameter,
        low=parameter.low if isinstance(parameter.low, Number) else None,
        high=parameter.high if isinstance(parameter.high, Number) else None,
    )
    alone = attrs.evolve(model, parameters={parameter.name: numbers}, assumptions=())
    return Bindings(alone, {parameter.name: value})[parameter.name]


def _symbolic_limits(parameter: Parameter) -> list[Assume]:
    """Return the limits that depend on other parameters, to be checked at every point."""
    return [
        Assume(Apply(sign, (Name(parameter.name), limit)), position=parameter.position)
        for sign, limit in ((">=", parameter.low), ("<=", parameter.high))
        if limit is not None and not isinstance(limit, Number)
    ]
