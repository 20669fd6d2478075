"""Numbers as files state them: quantities, exact or uncertain, and formulas."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from parcast.errors import FormulaError, ParcastError, UnitError
from parcast.quantities.distributions import LAWS, Distribution
from parcast.quantities.expressions import Expr, Num, Value, evaluate, names_in, parse
from parcast.quantities.units import (
    Quantity,
    check_dimension,
    check_spread,
    has_spread,
    is_number_with_unit,
    parse_number,
    unit_factor,
)

_UNIT = re.compile(r"[^\W\d][\w/%]*")
_OPEN = re.compile(r"([-+*/%^(,<>=]|\b(?:and|or|not|if|else))$")


@attrs.frozen
class Unit:
    """What a field takes: its dimension, its range, and words that stand for formulas."""

    dimension: str
    positive: bool = False
    most: float = math.inf
    preset: Callable[[str], str | None] | None = None

    def check(self, value: float, stated: object) -> float:
        """Return ``value`` if the field may hold it, else raise `UnitError`."""
        if not math.isfinite(value):
            raise UnitError(f"{stated!r} is not a finite number")
        if value < 0 or (self.positive and value == 0):
            bound = "above 0" if self.positive else "0 or more"
            raise UnitError(f"{stated!r} must be {bound}")
        if value > self.most:
            raise UnitError(f"{stated!r} must be at most {self.most:g}")
        return value

    def holds(self, values: Any) -> Any:
        """Tell of each value of an array whether it is within the field's range."""
        return ((values > 0) if self.positive else (values >= 0)) & (values <= self.most)


@attrs.frozen
class Whole:
    """A field that takes whole numbers from ``least`` up."""

    least: int = 0


@attrs.frozen
class Formula:
    """An arithmetic formula of p, d and parameters, in the base unit of its field.

    Examples
    --------
    >>> Formula.read("6*sqrt(p)", Unit("1"))({"p": 16})
    24.0
    >>> Formula.read("2*n**3 MFLOP", Unit("FLOP"))({"n": 10})
    2000000000.0
    """

    text: str
    expr: Expr
    factor: float = 1.0

    @classmethod
    def read(cls, value: object, unit: Unit) -> Formula:
        """Return the formula that a file states: a number, a quantity, or arithmetic text.

        Raises
        ------
        FormulaError, UnitError
            If it is none of these, has a unit of another dimension, or is a negative constant.
        """
        text = str(value)
        if isinstance(value, str) and unit.preset and (spelled := unit.preset(value)):
            text = spelled
        if not isinstance(value, str) or is_quantity(text):
            quantity = parse_quantity(value, unit.dimension)
            check_dimension(quantity.dimension, unit.dimension, value)
            return cls(str(value), parse(repr(unit.check(quantity.value, value))))
        check_spread(text)
        formula, factor = _split_unit(text, unit)
        return cls(str(value), parse(formula), factor)

    def __call__(self, values: Mapping[str, Value]) -> float:
        """Return the value at ``values``, in base units.

        Raises
        ------
        FormulaError
            If a name is unknown or the value is not finite.
        """
        if isinstance(self.expr, Num):  # most are, and are asked for again and again
            result = float(self.expr.value) * self.factor
        else:
            result = float(evaluate(self.expr, values)) * self.factor
        if not math.isfinite(result):
            raise FormulaError("the value is not finite")
        return result

    @property
    def names(self) -> frozenset[str]:
        """Every name the formula reads."""
        return names_in(self.expr)


def _split_unit(text: str, unit: Unit) -> tuple[str, float]:
    words = text.rsplit(maxsplit=1)
    if len(words) < 2 or _OPEN.search(words[0]) or not _UNIT.fullmatch(words[1]):
        return text, 1.0
    dimension, factor = unit_factor(words[1], unit.dimension)
    check_dimension(dimension, unit.dimension, text)
    return words[0], factor


def is_quantity(text: str) -> bool:
    """Tell a number, with a unit or what stands in its place, from any other text."""
    return is_number_with_unit(text) or _names_a_law(text)


def _names_a_law(text: str) -> bool:
    name, colon, _ = text.strip().partition(":")
    return bool(colon) and name in LAWS


def is_uncertain(value: object) -> bool:
    """Tell whether a number is stated with an uncertainty, be it a wrong one."""
    if not isinstance(value, str):
        return False
    if not _names_a_law(value):
        return has_spread(value)
    try:
        return parse_quantity(value).spread > 0
    except UnitError:  # said where the number is read
        return True


def parse_quantity(value: object, wanted: str = "") -> Quantity:
    """Return the quantity a file states: a plain number in base units, or text with a unit.

    Parameters
    ----------
    value
        ``27e6``, ``"27 MB/s"`` or, with its uncertainty, ``"27 +- 1 MB/s"`` (a standard
        deviation; ``±`` and ``+/-`` mean the same), ``"25 to 29 MB/s"`` (anything between) or
        ``"lognormal:27MB/s,3MB/s"``.
    wanted
        The dimension it should have, whose units are named where that of ``value`` is unknown.

    Raises
    ------
    UnitError
        If it is neither, is not finite, or has an unknown unit.
    """
    if isinstance(value, str) and _names_a_law(value):
        check_spread(value)
        return _distributed(value, wanted)
    return parse_number(value, wanted)


def _distributed(text: str, wanted: str) -> Quantity:
    name, _, numbers = text.strip().partition(":")
    dimension = next(
        (unit for number in numbers.split(",") if (unit := parse_number(number, wanted).dimension)),
        "",
    )
    try:
        law = Distribution.read(text.strip(), dimension)
    except ParcastError as error:
        raise UnitError(str(error)) from None
    return Quantity(law.mean, dimension, math.sqrt(law.variance), name, law.parameters)


def to_base(value: object, dimension: str) -> float:
    """Return ``value`` in the base unit of ``dimension``; a plain number is already in it.

    Raises
    ------
    UnitError
        If the unit is of another dimension, or `parse_quantity` refuses the value.
    """
    quantity = parse_quantity(value, dimension)
    check_dimension(quantity.dimension, dimension, value)
    return quantity.value
