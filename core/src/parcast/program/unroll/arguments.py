"""Arguments of operations as columns, checked for what the operation takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parcast.program.source.operations import Argument
from parcast.program.unroll.arithmetic import LaneError, fits
from parcast.program.unroll.blocks import Column, Ranks
from parcast.program.unroll.lanes import finite
from parcast.quantities.expressions import Value

#: Amounts in bytes, which are whole but for rounding: less than this part of them.
_IN_BYTES, _ROUNDING = frozenset({"bytes", "result"}), 1e-9

_PEERS = {"dst": "sends to", "src": "receives from", "master": "has as its master"}


def column(value: Any, ranks: Ranks, size: int, argument: Argument) -> Column:
    """Return the column of a value on these ranks, one number where all have the same.

    Raises
    ------
    LaneError
        If a rank's value is not what the argument takes.
    """
    if argument.takes == "amount":
        return _amount(finite(value, ranks), ranks, argument.name)
    if argument.takes == "rank":
        return _peer(value, ranks, size, _PEERS[argument.name])
    checked: Column = whole(value, ranks, lambda v: f"gives {argument.name} {v}")
    if argument.takes == "whole":
        _check(
            checked >= 0, checked, ranks, lambda v: f"gives {argument.name} {v}; it starts from 0"
        )
    return checked


def whole(value: Any, ranks: Ranks, says: Callable[[object], str], bits: int | None = 64) -> Any:
    """Return a value whose lanes must all be integers, of 64 bits unless ``bits`` is None.

    ``says`` puts a wrong value into words.
    """
    if value.__class__ is int and fits(value):
        return value  # most are

    def wrong(v: Value) -> str:
        if isinstance(v, int):
            digits = v if v.bit_length() < 256 else f"a number of {v.bit_length():,} bits"
            return f"{says(digits)}, which is beyond 64 bits"
        return f"{says(v)}, where only whole numbers go; make it whole by // or floor()"

    def right(v: Value) -> bool:
        return isinstance(v, int) and (bits is None or fits(v))

    if isinstance(value, np.ndarray) and value.dtype == np.int64:
        return value
    if not isinstance(value, np.ndarray):
        _check(right(value), value, ranks, wrong)
        return int(value)
    _check(np.array([right(v) for v in value.tolist()]), value, ranks, wrong)
    return value.astype(np.int64) if bits else value * 1


def _amount(value: Any, ranks: Ranks, name: str) -> Column:
    if isinstance(value, np.ndarray):
        if value.dtype not in (np.int64, np.float64):
            value = value.astype(np.int64 if value.dtype == bool else np.float64)
    elif not isinstance(value, float):
        value = int(value) if fits(value) else float(value)
    _check(value >= 0, value, ranks, lambda v: f"gives {name} {v}; an amount cannot be negative")
    amount: Column = _rounded(value) if name in _IN_BYTES else value
    return amount


def _rounded(value: Any) -> Any:
    """Return bytes as whole numbers where rounding alone makes them none.

    Else rounding would decide whether a message is eager, or of which size.
    """
    if isinstance(value, int) or (isinstance(value, np.ndarray) and value.dtype == np.int64):
        return value
    nearest = np.rint(value)
    near = abs(value - nearest) <= _ROUNDING * nearest
    if isinstance(value, np.ndarray):
        return np.where(near, nearest, value)
    return float(nearest) if near else value


def _peer(value: Any, ranks: Ranks, size: int, verb: str) -> Column:
    if value.__class__ is int and 0 <= value < size:
        number: int = value
        return number  # most are

    def outside(v: Value) -> str:
        hint = f"put it under 'if {'size > 1' if size == 1 else '...'}' or wrap it by '% size'"
        return f"{verb} {v}, outside 0 .. {size - 1}; {hint}"

    peers: Column = whole(value, ranks, lambda v: f"{verb} {v}")
    _check((peers >= 0) & (peers < size), peers, ranks, outside)
    return peers


def _check(ok: Any, value: Any, ranks: Ranks, says: Callable[[Value], str]) -> None:
    if ok.all() if isinstance(ok, np.ndarray) else ok:
        return
    lane = int(np.argmin(ok))
    number = value.item(lane) if isinstance(value, np.ndarray) else value
    raise LaneError(says(number), ranks[lane])
