"""Python's arithmetic on many ranks at once.

A value is a Python number, the same on every lane, or an array with one for each: int64,
float64, bool, or object where Python's numbers are of several types or beyond 64 bits.
What numpy computes is proven to be what Python computes; the rest Python computes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import FormulaError
from parcast.program.unroll.blocks import Ranks
from parcast.quantities.expressions import BITWISE, FUNCTIONS, OPERATORS, Value

#: Integers up to here are floats, exactly.
_EXACT = 2**53


class LaneError(FormulaError):
    """What a rank does that has no meaning; the message follows the words ``rank 3``."""

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = int(rank)


def fits(value: Value) -> bool:
    """Return whether a number is a float or has no more than 64 bits."""
    return isinstance(value, float) or -(2**63) <= value < 2**63


def apply(f: str, args: Sequence[Any], ranks: Ranks) -> Any:
    """Return what the strict operator or function ``f`` of Python gives on every lane."""
    arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
    if not arrays:
        return _on_lane(f, args, ranks[0])
    plain = [_plain(arg) for arg in args]
    fast = None
    if f in _FAST and not any(arg is None for arg in plain):
        with np.errstate(all="ignore"):
            fast = _FAST[f](f, *plain)
    return fast if fast is not None else _lane_by_lane(f, args, arrays, ranks)


_ERRORS = (FormulaError, ArithmeticError, ValueError, TypeError)


def _function(f: str) -> Callable[..., Value]:
    return OPERATORS[f] if f in OPERATORS else FUNCTIONS[f][2]


def _on_lane(f: str, args: Sequence[Any], rank: int) -> Value:
    try:
        return _function(f)(*args)
    except ZeroDivisionError:
        raise LaneError("meets a division by zero", rank) from None
    except OverflowError:
        raise LaneError("meets an overflow", rank) from None
    except FormulaError as error:
        call = f"{f}()" if f in FUNCTIONS else f"'{f}'"
        raise LaneError(f"cannot compute {call}: {error}", rank) from None
    except (ValueError, TypeError) as error:
        short = all(isinstance(arg, float) or arg.bit_length() < 256 for arg in args)
        call = f"{f}({', '.join(map(str, args))})" if f in FUNCTIONS and short else f"'{f}'"
        raise LaneError(f"cannot compute {call}: {error}", rank) from None


def _lane_by_lane(f: str, args: Sequence[Any], arrays: list[Any], ranks: Ranks) -> NDArray[Any]:
    if len(arrays) == 1 and arrays[0].dtype != object:
        values, first, positions = np.unique(arrays[0], return_index=True, return_inverse=True)
        args = [values if arg is arrays[0] else arg for arg in args]
        return _array(_results(f, args, ranks[first]))[positions]
    return _array(_results(f, args, ranks))


def _results(f: str, args: Sequence[Any], ranks: Ranks) -> list[Value]:
    columns = [arg.tolist() if isinstance(arg, np.ndarray) else [arg] * len(ranks) for arg in args]
    try:
        return list(map(_function(f), *columns))
    except _ERRORS:  # one lane after another, to find which
        return [_on_lane(f, lane, rank) for rank, *lane in zip(ranks, *columns, strict=True)]


def _array(values: list[Value]) -> NDArray[Any]:
    kinds = set(map(type, values))
    if kinds in ({bool}, {float}):
        return np.array(values)
    whole = kinds <= {bool, int} and fits(min(values)) and fits(max(values))
    return np.array(values, np.int64 if whole else object)


def _plain(value: Any) -> Any:
    """Return a value with int64 in place of bool, or None where Python must compute itself."""
    if isinstance(value, np.ndarray):
        return None if value.dtype == object else value * 1 if value.dtype == bool else value
    return None if not fits(value) else int(value) if isinstance(value, bool) else value


def _whole(value: Any) -> bool:
    return value.dtype == np.int64 if isinstance(value, np.ndarray) else isinstance(value, int)


def _bounds(value: Any) -> tuple[int, int]:
    array = isinstance(value, np.ndarray)
    return (int(value.min()), int(value.max())) if array else (value, value)


def _largest(values: Sequence[Any]) -> int:
    """Return the largest magnitude of the integers among values."""
    return max((abs(b) for value in values if _whole(value) for b in _bounds(value)), default=0)


# What numpy computes is proven to be Python's value, or is None: then Python computes it.


def _arithmetic(f: str, *args: Any) -> Any:
    """Floats (and int64 made floats) round as in Python; integers reach extremes at corners."""
    if all(map(_whole, args)):
        corners = [OPERATORS.get(f, abs)(*corner) for corner in product(*map(_bounds, args))]
        if not (fits(min(corners)) and fits(max(corners))):
            return None
    return _UFUNCS[f](*args)


def _comparison(f: str, a: Any, b: Any) -> Any:
    if _whole(a) != _whole(b) and _largest((a, b)) > _EXACT:
        return None
    return _UFUNCS[f](a, b)


def _division(f: str, a: Any, b: Any) -> Any:
    whole = _whole(a) and _whole(b)
    if f == "/":
        safe = not whole or _largest((a, b)) <= _EXACT
    else:
        safe = not whole or _bounds(a)[0] > -(2**63)  # floats: both take C's exact fmod
    return _UFUNCS[f](a, b) if safe and np.all(b) else None


def _power(_: str, base: Any, exponent: Any) -> Any:
    if not (_whole(base) and _whole(exponent)) or _bounds(exponent)[0] < 0:
        return None
    small = _largest((base,)).bit_length() * _bounds(exponent)[1] <= 62
    return np.power(base, exponent) if small else None


def _bits(f: str, *args: Any) -> Any:
    """Two's complement of 64 bits; what a shift pushes out of it is left to Python."""
    if not all(map(_whole, args)):
        return None
    if f in {"<<", ">>"}:
        (low, high), (least, most) = map(_bounds, args)
        bits = max(low.bit_length(), high.bit_length()) if f == "<<" else 0
        if least < 0 or bits + most > 62:
            return None
    return _UFUNCS[f](*args)


def _extreme(f: str, *args: Any) -> Any:
    whole = [_whole(arg) for arg in args]
    if all(whole) or (not any(whole) and all(np.isfinite(arg).all() for arg in args)):
        return reduce(np.minimum if f == "min" else np.maximum, args)
    return None


def _rounding(f: str, a: Any) -> Any:
    if _whole(a):
        return a
    return _UFUNCS[f](a).astype(np.int64) if np.all(np.abs(a) < 2.0**62) else None


def _root(_: str, a: Any) -> Any:
    return np.sqrt(a) if np.all(a >= 0) else None


_UFUNCS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.abs,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "floor": np.floor,
    "ceil": np.ceil,
    "^": np.bitwise_xor,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "~": np.invert,
}
_FAST: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("+", "-", "*", "neg", "pos", "abs"), _arithmetic),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _comparison),
    **dict.fromkeys(("/", "//", "%"), _division),
    **dict.fromkeys(("min", "max"), _extreme),
    **dict.fromkeys(("floor", "ceil"), _rounding),
    **dict.fromkeys(BITWISE, _bits),
    "**": _power,
    "sqrt": _root,
    "not": lambda _, a: np.logical_not(a),
}
