"""The built-in functions and operators on exact numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

#: Exact: whole numbers as int, others as Fraction
Exact = int | Fraction

#: Powers beyond this many bits are refused.
_MOST_BITS = 100_000


class ArithmeticRefusedError(Exception):
    """An operation has no value at these numbers; the message says why."""


def exact(value: Any) -> Exact:
    """Return a number as int where it is whole, else as Fraction."""
    kind = type(value)
    if kind is int:
        return value  # type: ignore[no-any-return]
    if kind is float and not math.isfinite(value):
        raise ArithmeticRefusedError(f"{value} is not a finite number")
    number = value if kind is Fraction else Fraction(value)
    return int(number.numerator) if number.denominator == 1 else number


def size(value: Exact) -> Exact:
    """Return the absolute value."""
    return value if value >= 0 else -value


def _quotient(a: Exact, b: Exact) -> Exact:
    if b == 0:
        raise ArithmeticRefusedError("this divides by zero")
    if type(a) is int is type(b):
        return Fraction(a, b) if a % b else a // b
    return exact(Fraction(a) / b)


def _floor_quotient(a: Exact, b: Exact) -> int:
    if b < 0:
        raise ArithmeticRefusedError("div and mod take a divisor above 0")
    if b and type(a) is int is type(b):
        return a // b
    return math.floor(_quotient(a, b))


def _power(a: Exact, b: Exact) -> Exact:
    if b.denominator != 1:
        if a < 0:
            raise ArithmeticRefusedError("a negative number has no such power")
        if b == Fraction(1, 2):
            return _sqrt(a)
        return exact(Fraction(float(a) ** float(b)))
    if a == 0 and b < 0:
        raise ArithmeticRefusedError("this divides by zero")
    if size(b) * max(a.numerator.bit_length(), a.denominator.bit_length()) > _MOST_BITS:
        raise ArithmeticRefusedError("this power is too large")
    return exact(Fraction(a) ** int(b))


def _whole(a: Exact, name: str) -> int:
    if a.denominator != 1:
        raise ArithmeticRefusedError(f"{name} takes whole numbers, not {a}")
    return int(a)


def _log2(a: Exact) -> Exact:
    """Return log2: exact for powers of two, else the nearest float."""
    if a <= 0:
        raise ArithmeticRefusedError("the logarithm takes numbers above 0")
    for number, sign in ((Fraction(a), 1), (1 / Fraction(a), -1)):
        if number.denominator == 1 and number.numerator & (number.numerator - 1) == 0:
            return sign * (number.numerator.bit_length() - 1)
    return exact(math.log2(a.numerator) - math.log2(a.denominator))


def _log(a: Exact) -> Exact:
    if a <= 0:
        raise ArithmeticRefusedError("the logarithm takes numbers above 0")
    return exact(math.log(a.numerator) - math.log(a.denominator))


def _sqrt(a: Exact) -> Exact:
    if a < 0:
        raise ArithmeticRefusedError("the square root takes numbers from 0")
    top, bottom = math.isqrt(a.numerator), math.isqrt(a.denominator)
    if top * top == a.numerator and bottom * bottom == a.denominator:
        return exact(Fraction(top, bottom))
    try:
        return exact(math.sqrt(a))
    except OverflowError:
        raise ArithmeticRefusedError("this root is too large") from None


def _exp(a: Exact) -> Exact:
    try:
        return exact(math.exp(a))
    except OverflowError:
        raise ArithmeticRefusedError("this exponential is too large") from None


#: Each with the fewest and the most arguments, None without limit
FUNCTIONS: Mapping[str, tuple[Callable[..., Exact], int, int | None]] = {
    "+": (lambda *a: exact(sum(a)), 2, None),
    "*": (lambda *a: exact(math.prod(a)), 2, None),
    "-": (lambda a, b: exact(a - b), 2, 2),
    "neg": (lambda a: -a, 1, 1),
    "/": (_quotient, 2, 2),
    "div": (_floor_quotient, 2, 2),
    "mod": (lambda a, b: exact(a - b * _floor_quotient(a, b)), 2, 2),
    "^": (_power, 2, 2),
    "<": (lambda a, b: int(a < b), 2, 2),
    "<=": (lambda a, b: int(a <= b), 2, 2),
    ">": (lambda a, b: int(a > b), 2, 2),
    ">=": (lambda a, b: int(a >= b), 2, 2),
    "==": (lambda a, b: int(a == b), 2, 2),
    "!=": (lambda a, b: int(a != b), 2, 2),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "min": (min, 1, None),
    "max": (max, 1, None),
    "abs": (size, 1, 1),
    "gcd": (lambda a, b: math.gcd(_whole(a, "gcd"), _whole(b, "gcd")), 2, 2),
    "lcm": (lambda a, b: math.lcm(_whole(a, "lcm"), _whole(b, "lcm")), 2, 2),
    "log2": (_log2, 1, 1),
    "log": (_log, 1, 1),
    "exp": (_exp, 1, 1),
    "sqrt": (_sqrt, 1, 1),
}

#: What is evaluated by rules of its own, with the number of its arguments
SPECIAL: Mapping[str, int] = {"and": 2, "or": 2, "not": 1, "?:": 3, "bern": 1}
