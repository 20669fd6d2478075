"""Numbers in files that vary with p, d and the workload's parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from parcast.errors import FormulaError, UnitError
from parcast.quantities.expressions import Expr, Num, Value, evaluate, names_in, parse
from parcast.quantities.stated import is_quantity, parse_quantity
from parcast.quantities.units import check_dimension, check_spread, unit_factor

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
            quantity = parse_quantity(value)
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
    dimension, factor = unit_factor(words[1])
    check_dimension(dimension, unit.dimension, text)
    return words[0], factor
