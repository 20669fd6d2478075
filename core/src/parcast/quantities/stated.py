"""Quantities as files state them: plain, with an uncertainty, or by a distribution."""

from __future__ import annotations

import math

from parcast.errors import ParcastError, UnitError
from parcast.quantities.distributions import LAWS, Distribution
from parcast.quantities.units import (
    Quantity,
    check_dimension,
    check_spread,
    has_spread,
    is_number_with_unit,
    parse_number,
)


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


def parse_quantity(value: object) -> Quantity:
    """Return the quantity a file states: a plain number in base units, or text with a unit.

    Parameters
    ----------
    value
        ``27e6``, ``"27 MB/s"`` or, with its uncertainty, ``"27 +- 1 MB/s"`` (a standard
        deviation; ``±`` and ``+/-`` mean the same), ``"25 to 29 MB/s"`` (anything between) or
        ``"lognormal:27MB/s,3MB/s"``.

    Raises
    ------
    UnitError
        If it is neither, is not finite, or has an unknown unit.
    """
    if isinstance(value, str) and _names_a_law(value):
        check_spread(value)
        return _distributed(value)
    return parse_number(value)


def _distributed(text: str) -> Quantity:
    name, _, numbers = text.strip().partition(":")
    dimension = next(
        (unit for number in numbers.split(",") if (unit := parse_number(number).dimension)), ""
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
    quantity = parse_quantity(value)
    check_dimension(quantity.dimension, dimension, value)
    return quantity.value
