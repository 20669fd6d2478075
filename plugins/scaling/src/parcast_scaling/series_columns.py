"""Which columns of a table are its sizes, which are not used, and which make it several series."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from parcast.errors import FileError, UnitError, shorten
from parcast.quantities import parse_quantity, to_base
from parcast_scaling.columns import SIZES, Row, fix_of, from_clock

_NUMBER = re.compile(r"[+-]?\d*\.?\d*(?:[eE][+-]?\d+)?")


def size_column(where: str, rows: Sequence[Row], sizes: Sequence[str]) -> tuple[str, list[str]]:
    """Return the column that p is, and those that grow as it.

    Raises
    ------
    FileError
        If there is none, or two do not grow together.
    """
    if not sizes:
        raise FileError(
            f"{where}: there is no column 'p' (or {', '.join(SIZES[1:])}), only "
            f"{shorten(', '.join(map(str, rows[0][1])))}; say which counts processes: "
            f"{where}#p=NAME"
        )
    varying = [name for name in sizes if len({str(row.get(name)) for _, row in rows}) > 1]
    if len(varying) < 2:
        return (varying or list(sizes))[0], []
    first, *others = varying
    for name in others:
        ratios = [_count(place, first, row) / _count(place, name, row) for place, row in rows]
        if max(ratios) > (1 + 1e-9) * min(ratios):
            raise FileError(
                f"{where}: {first} and {name} do not grow together ({min(ratios):g} to "
                f"{max(ratios):g} {first} for each of {name}); keep the runs of one layout, or "
                f"name the size: {where}#p={first}"
            )
    return first, others


def _count(place: str, name: str, row: Mapping[str, Any]) -> float:
    count = number(place, name, row)
    if count <= 0:
        raise FileError(f"{place}: {name} = {count:g} must be above 0; leave out runs that failed")
    return count


def unused_columns(where: str, rows: Sequence[Row], meant: Sequence[str]) -> list[str]:
    """Return columns of other measured numbers, which are not used.

    Raises
    ------
    FileError
        If a table is of several series: what tells them apart is not in the curve.
    """
    unused: list[str] = []
    apart: list[str] = []
    for name in map(str, rows[0][1]):
        values = {str(row.get(name)).strip() for _, row in rows}
        if name in meant or len(values) == 1:
            continue
        measured = all(map(_NUMBER.fullmatch, values)) and any("." in value for value in values)
        (unused if measured else apart).append(name)
    if apart:
        name, *more = apart
        others = f" ({', '.join(more)} too)" if more else ""
        first = str(rows[0][1][name]).strip()
        count = len({str(row.get(name)).strip() for _, row in rows})
        raise FileError(
            f"{where}: column {name!r} has {count} values{others}; keep the runs of one of them, "
            f"as {where}#{name}={first} does, call it n if it is the work, or remove it"
        )
    return unused


def number(place: str, name: str, row: Mapping[str, Any], unit: str = "") -> float:
    """Return the number of a column, or its seconds.

    Raises
    ------
    FileError
        If the value is none.
    """
    value = from_clock(row[name]) if unit else row[name]
    try:
        plain = value.item() if hasattr(value, "item") else value
        return to_base(plain, unit) if unit else parse_quantity(plain).value
    except (UnitError, ValueError) as error:
        reason = shorten(error, 200).rstrip(".")
        raise FileError(
            f"{place}: {name} = {shorten(repr(value))}: {reason}{fix_of(value)}"
        ) from None
