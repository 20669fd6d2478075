"""Quantities with units: ``"27 MB/s"`` becomes 27e6, and ``"Mb/s"`` a hint.

Inside parcast every number is in the base unit of its dimension: seconds, bytes,
floating-point operations, watts, or a currency unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import attrs

from parcast.errors import UnitError, did_you_mean

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}
_SMALL = {"m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12}


def _table() -> dict[str, tuple[str, float]]:
    """Return every unit with its dimension and factor."""
    units: dict[str, tuple[str, float]] = {"%": ("1", 0.01)}
    for prefix, factor in _DECIMAL.items():
        units[f"{prefix}B"] = ("B", factor)
        units[f"{prefix}bit"] = ("B", factor / 8)
        units[f"{prefix}FLOP"] = ("FLOP", factor)
    for prefix, factor in _BINARY.items():
        units[f"{prefix}B"] = ("B", factor)
        units[f"{prefix}bit"] = ("B", factor / 8)
    for prefix, factor in _SMALL.items():
        units[f"{prefix}s"] = ("s", factor)
    units |= {"s": ("s", 1.0), "min": ("s", 60.0), "h": ("s", 3600.0), "d": ("s", 86400.0)}
    units |= {"y": ("s", 365.25 * 86400.0)}
    units |= {"W": ("W", 1.0), "kW": ("W", 1e3), "MW": ("W", 1e6)}
    for currency in ("USD", "EUR", "GBP", "CHF", "JPY", "CNY"):
        units |= {currency: ("money", 1.0), f"{currency}/h": ("money/h", 1.0)}
    return units


UNITS: Mapping[str, tuple[str, float]] = _table()

#: Named where nothing says which unit is wanted.
_COMMON = ("B", "bit", "FLOP", "s", "min", "h", "d", "y", "W", "EUR", "%")

#: What people write for another unit: too ambiguous to guess, so it is named instead.
_HINTS = {
    "Kb": "kbit or kB",
    "kb": "kbit or kB",
    "Mb": "Mbit or MB",
    "Gb": "Gbit or GB",
    "Tb": "Tbit or TB",
    "b": "bit or B",
    "KB": "kB or KiB",
    "K": "kB or KiB",
    "byte": "B",
    "bytes": "B",
    "bits": "bit",
    "sec": "s",
    "second": "s",
    "seconds": "s",
    "msec": "ms",
    "usec": "us",
    "hour": "h",
    "hours": "h",
    "hrs": "h",
    "day": "d",
    "days": "d",
    "yr": "y",
    "year": "y",
    "years": "y",
}

#: The same with a prefix: endings people write, and what they stand for.
_ENDINGS = {
    "FLOPS": "FLOP/s",
    "FLOPs": "FLOP/s",
    "flops": "FLOP/s",
    "Flops": "FLOP/s",
    "Flop": "FLOP",
    "flop": "FLOP",
    "bps": "bit/s",
    "Bps": "B/s",
    "Hz": "FLOP/s",
}

#: Prefixes in the wrong case, which no unit has.
_PREFIXES = {"K": "k", "m": "M", "g": "G", "t": "T", "p": "P"}

_NUMBER = r"[+-]?(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_NAME = r"(?![eE]\d)[A-Za-zµμ%][A-Za-z0-9µμ/%]*"  # no e6 of 2e6*n
_UNIT = rf"(?P<unit>{_NAME})?"
_SIGN = r"(?:\+/?-|±)"
_SPREAD = rf"\s*(?P<number>{_NUMBER})\s*{_SIGN}\s*(?P<spread>{_NUMBER})\s*"
_QUANTITY = re.compile(rf"(?:{_SPREAD}|\s*(?P<exact>{_NUMBER})\s*){_UNIT}\s*")
_PERCENT = re.compile(rf"{_SPREAD}%\s*{_UNIT}\s*")
_INTERVAL = re.compile(
    rf"\s*(?P<least>{_NUMBER})\s*(?P<first>{_NAME})?\s+to\s+(?P<most>{_NUMBER})\s*{_UNIT}\s*"
)


@attrs.frozen
class Quantity:
    """A number in base units, with its dimension and its standard uncertainty (0 if exact).

    ``law`` says how it is distributed where it is uncertain: normal, or a law of
    `parcast.quantities.distributions` with its parameters; ``value`` is then the mean.
    """

    value: float
    dimension: str
    spread: float = 0.0
    law: str = "normal"
    parameters: tuple[float, ...] = ()


def unit_factor(unit: str, wanted: str = "") -> tuple[str, float]:
    """Return the dimension of a unit such as ``MB/s`` and its size in base units.

    Raises
    ------
    UnitError
        If the unit is unknown; a likely unit is named, or all of the dimension ``wanted``.
    """
    if unit in UNITS:
        return UNITS[unit]
    over, slash, under = unit.partition("/")
    wanted_over, _, wanted_under = wanted.partition("/") if slash else (wanted, "", "")
    numerator = _simple(over, unit, wanted_over)
    if not slash:
        return numerator
    denominator = _simple(under, unit, wanted_under)
    return f"{numerator[0]}/{denominator[0]}", numerator[1] / denominator[1]


def _simple(name: str, whole: str, wanted: str) -> tuple[str, float]:
    if name in UNITS:
        return UNITS[name]
    hint = _unit_hint(name, whole)
    if not hint:
        place = "" if name in {whole, ""} else f" in place of {name!r}"
        names = known_units(wanted) or _COMMON
        hint = f" Known{place}: {', '.join(names)}."
    raise UnitError(f"{whole!r} is not a known unit.{hint}")


def known_units(dimension: str) -> tuple[str, ...]:
    """Return the units of a dimension such as ``s`` or ``B/s``, the smallest first."""
    units = {name: size for name, (of, size) in UNITS.items() if of == dimension if name.isascii()}
    over, slash, under = dimension.partition("/")
    if slash and not units:
        return tuple(f"{name}/{under}" for name in known_units(over))
    return tuple(sorted(units, key=units.__getitem__))


def _unit_hint(name: str, whole: str) -> str:
    if name in _HINTS:
        words = [whole.replace(name, word, 1) for word in _HINTS[name].split(" or ")]
        return f" Did you mean {' or '.join(words)}?"
    for ending, base in _ENDINGS.items():
        stated = name.removesuffix(ending)
        prefix = _PREFIXES.get(stated, stated)
        if name.endswith(ending) and prefix in _DECIMAL:
            meant = whole.replace(name, prefix + base, 1).replace("/s/s", "/s")
            return f" Did you mean {meant}?"
    return did_you_mean(name, UNITS)


def is_number(value: object) -> bool:
    """Return whether a value is a number, True and False being none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_number_with_unit(text: str) -> bool:
    """Tell a number, with a unit, a spread or bounds, from any other text."""
    return bool(_QUANTITY.fullmatch(text) or _INTERVAL.fullmatch(text))


def has_spread(text: str) -> bool:
    """Tell whether a number is stated with a spread or bounds, be they wrong ones."""
    if not is_number_with_unit(text):
        return False
    if (match := _QUANTITY.fullmatch(text)) and match["exact"]:
        return False
    try:
        return parse_number(text).spread > 0
    except UnitError:  # said where the number is read
        return True


def check_spread(text: str) -> None:
    """Refuse a ``+-`` that is not between two numbers: in a formula it would be a sum.

    Raises
    ------
    UnitError
        With how to write it.
    """
    if match := _PERCENT.fullmatch(text):
        raise UnitError(f"{text!r}: {_without_percent(match)}")
    if re.search(_SIGN, text) and not _QUANTITY.fullmatch(text):
        raise UnitError(
            f"{text!r}: +- stands between two plain numbers with one unit after both, as in "
            '"27 +- 1 MB/s"; a workload\'s formula may use a parameter that is such a number'
        )


def _without_percent(match: re.Match[str]) -> str:
    value, spread, unit = float(match["number"]), float(match["spread"]), match["unit"]
    meant = f'"{match["number"]} +- {abs(value) * spread / 100:g}{f" {unit}" if unit else ""}"'
    if unit:
        return f"an uncertainty is in the unit of its number; write {meant}"
    both = f'"{value / 100:g} +- {spread / 100:g}"'
    return f"it is not clear what the percent are of; write {meant} or {both}"


def parse_number(value: object, wanted: str = "") -> Quantity:
    """Return a number in base units, or text with a unit, a spread or bounds.

    Raises
    ------
    UnitError
        If it is neither, is not finite, or has an unknown unit; those of the dimension
        ``wanted`` are then named.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnitError(f"{value!r} is not a number")
    if isinstance(value, str):
        return _parse_text(value, wanted)
    return Quantity(_finite(value, value), "")


def _parse_text(text: str, wanted: str) -> Quantity:
    check_spread(text)
    match = _QUANTITY.fullmatch(text)
    if match is None and (interval := _INTERVAL.fullmatch(text)):
        return _between(interval, text, wanted)
    if match is None:
        raise UnitError(f"{text!r} is not a number with a unit")
    dimension, factor = _unit_of(match["unit"], text, wanted)
    value = _finite(float(match["exact"] or match["number"]) * factor, text)
    spread = _finite(float(match["spread"] or 0) * factor, text)
    if spread < 0:
        raise UnitError(f"{text!r} has a negative uncertainty")
    return Quantity(value, dimension, spread)


def _unit_of(unit: str | None, text: str, wanted: str) -> tuple[str, float]:
    try:
        return unit_factor(unit, wanted) if unit else ("", 1.0)
    except UnitError as error:
        raise UnitError(f"{text!r}: {error}") from None


def _between(match: re.Match[str], text: str, wanted: str) -> Quantity:
    dimension, factor = _unit_of(match["unit"], text, wanted)
    first = _unit_of(match["first"] or match["unit"], text, wanted)
    if first[0] != dimension:
        raise UnitError(f"{text!r}: both bounds need a unit of the same kind")
    least = _finite(float(match["least"]) * first[1], text)
    upper = _finite(float(match["most"]) * factor, text)
    if least > upper:
        raise UnitError(f"{text!r}: the first bound is above the second")
    spread = (upper - least) / math.sqrt(12)
    return Quantity((least + upper) / 2, dimension, spread, "uniform", (least, upper))


def _finite(number: float, stated: object) -> float:
    try:
        if math.isfinite(number):
            return float(number)
    except OverflowError:
        raise UnitError("an integer beyond 1.8e308 is not a finite number") from None
    raise UnitError(f"{stated!r} is not a finite number")


def check_dimension(dimension: str, wanted: str, stated: object) -> None:
    """Refuse a unit of another dimension; no unit at all (``""``) fits everywhere."""
    if dimension and dimension != wanted:
        if wanted == "1":
            raise UnitError(f"{stated!r} must be a plain number, without {dimension}")
        raise UnitError(f"{stated!r} is in {dimension}, not in {wanted}")


def format_seconds(seconds: float) -> str:
    """Return a time to four digits in a readable unit: ``1,415 s``, ``12.5 us``."""
    rounded = float(f"{abs(seconds):.4g}")  # 0.99999 s are 1 s, not 1000 ms
    if rounded >= 1e9:
        return f"{seconds:.4g} s"
    if rounded >= 1000:
        return f"{seconds:,.0f} s"
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if rounded >= factor or seconds == 0:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"
