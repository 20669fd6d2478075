"""Values of a model's parameters, given or by default, checked against what it declares."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import prod
from typing import Any

import attrs

from parcast.errors import FormulaError, UnitError, UnknownNameError, did_you_mean, shorten
from parcast.quantities import evaluate as evaluate_formula
from parcast.quantities import is_quantity, parse_quantity
from parcast.quantities import parse as parse_formula
from parcast_pamela.evaluation import Evaluator
from parcast_pamela.language.arrays import Array, Bound
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.language.functions import ArithmeticRefusedError, Exact, exact
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import Listing, Parameter

#: Arrays of more elements are refused.
MOST_ELEMENTS = 10_000_000
#: The dimensions that values of a type may have
_UNITS = {"time": "|s", "bytes": "|B", "flop": "|FLOP", "rate": "|.*/s", "prob": "|1", "bool": ""}


def to_exact(value: Any, name: str, kind: str = "real") -> Exact:
    """Return a number from what a user gives: ``3``, ``0.5``, ``"1/3"``, ``"3 us"``, ``"2**10"``.

    Raises
    ------
    ModelValueError
        If it is no finite number, or has a unit that is none of a ``kind``, a parameter's type.
    """
    try:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, float):
            return exact(Fraction(repr(value)))
        if isinstance(value, int | Fraction):
            return exact(value)
        return _from_text(str(value), kind)
    except (ValueError, OverflowError, ZeroDivisionError, ArithmeticRefusedError) as error:
        raise ModelValueError(f"{name}={shorten(value)} is no number: {error}") from None
    except (FormulaError, UnitError) as error:
        raise ModelValueError(f"{name}={shorten(value)}: {error}") from None


def _from_text(text: str, kind: str) -> Exact:
    if len(text) > 400:
        raise ValueError("the text is too long")
    try:
        return exact(Fraction(text.strip().replace("_", "")))
    except (ValueError, ZeroDivisionError):
        pass
    if is_quantity(text):
        quantity = parse_quantity(text)
        if kind in _UNITS and not re.fullmatch(_UNITS[kind], quantity.dimension):
            raise UnitError(f"its unit is none of a {kind}")
        if quantity.spread:
            raise UnitError("a model takes one value, without an uncertainty")
        return exact(Fraction(repr(quantity.value)))
    return exact(Fraction(repr(evaluate_formula(parse_formula(text), {}))))


def bind(model: Model, parameters: Mapping[str, Any]) -> dict[str, Bound]:
    """Return the value of every parameter.

    Parameters
    ----------
    model
        Linked and checked.
    parameters
        Numbers, texts such as ``"3 us"`` or ``"1/3"``, and nested lists for arrays.

    Raises
    ------
    UnknownNameError
        If the model has no such parameter.
    ModelValueError
        If a value is missing, of the wrong type or shape, or out of range, or an assumption
        of the model does not hold.
    """
    for name in parameters:
        if name not in model.parameters:
            hint = did_you_mean(name, model.parameters)
            declared = ", ".join(model.parameters) or "none"
            raise UnknownNameError(
                f"{model.name} has no parameter {name!r}.{hint} Known: {declared}."
            )
    bound = dict(Bindings(model, parameters))
    evaluator = Evaluator(model, bound)
    for assumption in model.assumptions:
        if not evaluator.value(assumption.condition, {}):
            line = assumption.position.line_text if assumption.position else ""
            raise ModelValueError(f"this assumption does not hold: {line}", assumption.position)
    return bound


class Bindings(Mapping[str, Bound]):
    """Works out parameters in any order, since defaults may use other parameters."""

    def __init__(self, model: Model, parameters: Mapping[str, Any]) -> None:
        self.model, self.parameters = model, parameters
        self._bound: dict[str, Bound] = {}
        self.in_progress: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self.model.parameters)

    def __len__(self) -> int:
        return len(self.model.parameters)

    def __getitem__(self, name: str) -> Bound:
        if name not in self._bound:
            parameter = self.model.parameters[name]
            if name in self.in_progress:
                circle = " -> ".join([*self.in_progress, name])
                raise ModelValueError(
                    f"defaults go round in a circle: {circle}", parameter.position
                )
            self.in_progress.append(name)
            evaluator = Evaluator(self.model, self)
            self._bound[name] = self._value(parameter, evaluator)
            self.in_progress.pop()
        return self._bound[name]

    def _value(self, parameter: Parameter, evaluator: Evaluator) -> Bound:
        name = parameter.name
        if parameter.dims:
            return self._array(parameter, evaluator)
        if name in self.parameters:
            if isinstance(self.parameters[name], list | tuple):
                raise ModelValueError(f"{name} is one number, not a list", parameter.position)
            value = to_exact(self.parameters[name], name, parameter.type)
        elif parameter.default is None:
            raise ModelValueError(
                f"{name} has no value; give it with --set {name}=...", parameter.position
            )
        else:
            if isinstance(parameter.default, Listing):
                raise ModelValueError(f"{name} is one number, not a list", parameter.position)
            value = evaluator.value(parameter.default, {})
        self._check(parameter, value, evaluator)
        return value

    def _array(self, parameter: Parameter, evaluator: Evaluator) -> Array:
        name = parameter.name
        lows = tuple(
            _whole(evaluator.value(dimension.first, {}), parameter) for dimension in parameter.dims
        )
        highs = tuple(
            _whole(evaluator.value(dimension.last, {}), parameter) for dimension in parameter.dims
        )
        sizes = [max(0, high - low + 1) for low, high in zip(lows, highs, strict=True)]
        if (count := prod(sizes)) > MOST_ELEMENTS:
            raise ModelValueError(f"{name} has {count:,} elements, too many", parameter.position)
        supplied = self.parameters.get(name, parameter.default)
        if supplied is None:
            raise ModelValueError(f"{name} has no values; bind a list to it", parameter.position)
        items = self._items(parameter, supplied, sizes, evaluator)
        if items is None:
            shape = " by ".join(map(str, sizes))
            raise ModelValueError(f"{name} needs {shape} values", parameter.position)
        for item in set(items):
            self._check(parameter, item, evaluator)
        return Array(name, lows, highs, tuple(items))

    def _items(
        self, parameter: Parameter, supplied: Any, sizes: list[int], evaluator: Evaluator
    ) -> list[Exact] | None:
        """Return an array's elements row by row, None if they are not of its shape."""
        name, kind = parameter.name, parameter.type
        if isinstance(supplied, Listing):
            items = [evaluator.value(item, {}) for item in supplied.items]
            return items if len(sizes) == 1 and len(items) == sizes[0] else None
        if isinstance(supplied, list | tuple):
            numbers = _flat(supplied) if _fits(supplied, sizes) else None
            return None if numbers is None else [to_exact(item, name, kind) for item in numbers]
        if attrs.has(type(supplied)):  # an expression: one number for all
            value = evaluator.value(supplied, {})
        else:
            value = to_exact(supplied, name, kind)
        return [value] * prod(sizes)

    def _check(self, parameter: Parameter, value: Exact, evaluator: Evaluator) -> None:
        name, kind = parameter.name, parameter.type
        text = shorten(value if isinstance(value, int) else float(value))
        problem = ""
        if kind == "int" and value.denominator != 1:
            problem = "must be a whole number"
        elif kind == "bool" and value not in {0, 1}:
            problem = "must be 0 or 1"
        elif kind == "prob" and not 0 <= value <= 1:
            problem = "must be from 0 to 1"
        elif kind in {"time", "bytes", "flop"} and value < 0:
            problem = "must be 0 or more"
        elif kind == "rate" and value <= 0:
            problem = "must be above 0"
        if parameter.low is not None and not problem:
            limit = evaluator.value(parameter.low, {})
            problem = f"must be {limit} or more" if value < limit else ""
        if parameter.high is not None and not problem:
            limit = evaluator.value(parameter.high, {})
            problem = f"must be {limit} or less" if value > limit else ""
        if problem:
            raise ModelValueError(f"{name}={text} {problem}", parameter.position)


def _whole(value: Exact, parameter: Parameter) -> int:
    if value.denominator != 1:
        raise ModelValueError(f"the range of {parameter.name} is not whole", parameter.position)
    return int(value)


def _fits(nested: Any, sizes: list[int]) -> bool:
    if not sizes:
        return not isinstance(nested, list | tuple)
    if not isinstance(nested, list | tuple) or len(nested) != sizes[0]:
        return False
    return all(_fits(row, sizes[1:]) for row in nested)


def _flat(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list | tuple):
        for item in nested:
            yield from _flat(item)
    else:
        yield nested
