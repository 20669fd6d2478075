"""Settings that take several values: ``--over NAME=VALUES``, such as 60..480*2 MFLOP/s."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs

from parcast.comparison.settings import split_assignment
from parcast.errors import ParcastError, UnitError
from parcast.quantities.formulas import parse_quantity

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:([*+])({_NUMBER}))?")
_WORD = r"(?:\d+[^\W\d_]+\d|\d+-)?[^\W\d][\w.-]*"  # 1f1b and 16-bit are words, 60us is not
_ONE = re.compile(rf"{_NUMBER}|{_WORD}")
_VALUES = re.compile(r"(?P<pieces>\S+)(?:\s+(?P<unit>\S+))?")

_SWEEP = re.compile(rf"({_NUMBER})\.\.({_NUMBER})\s*([^\W\d_]\S*|%)?")

#: More values than this are a slip of the finger.
MOST = 1000

#: Steps of a sweep.
STEPS = 20


@attrs.frozen
class Over:
    """A setting and its values, as texts that a setting takes."""

    name: str
    values: tuple[str, ...]
    unit: str = ""  #: of every value, where they are quantities

    @property
    def number(self) -> tuple[float | int | str, ...]:
        """The values in base units; what is no quantity stays as it is."""
        return tuple(map(_in_base_units, self.values))


def parse_over(text: str) -> Over:
    """Return the setting and the values of ``NAME=VALUES``.

    Parameters
    ----------
    text
        Values are a list (``64,102,162``), a range by steps (``0..1+0.25``) or by factors
        (``60..480*2``), with one unit after all of them.

    Raises
    ------
    ParcastError
        If it is none of these, or a range is empty or endless.
    """
    name, values = split_assignment(text)
    match = _VALUES.fullmatch(re.sub(r"\s*,\s*", ",", values))
    if match is None:
        raise ParcastError(
            f"--over {text!r}: write values and then one unit, such as "
            "processor.rate=60..480*2 MFLOP/s"
        )
    pieces, unit = match["pieces"].split(","), match["unit"] or ""
    texts: dict[float | int | str, str] = {}  # by value: 1 and 1.0 are one
    for number in itertools.chain.from_iterable(_values(piece, text) for piece in pieces):
        value = f"{number} {unit}".strip()
        texts.setdefault(_in_base_units(value), value)
        if len(texts) > MOST:
            raise ParcastError(f"--over {text!r}: more than {MOST} values; use a larger step")
    return Over(name, tuple(texts.values()), unit)


def read_overs(texts: Sequence[str]) -> dict[str, Over]:
    """Return the settings that vary, by name.

    Raises
    ------
    ParcastError
        If one is wrong, or given twice.
    """
    overs: dict[str, Over] = {}
    for over in map(parse_over, texts):
        if over.name in overs:
            raise ParcastError(f"--over {over.name} is given twice; list all its values in one")
        overs[over.name] = over
    return overs


def parse_sweep(text: str) -> Over:
    """Return the setting of ``NAME=FIRST..LAST UNIT``, at `STEPS` + 1 even values.

    Raises
    ------
    ParcastError
        If it is no range, or one that does not rise.
    """
    name, values = split_assignment(text)
    match = _SWEEP.fullmatch(values.strip())
    if match is None:
        raise ParcastError(
            f"--sweep {text!r}: write NAME=FIRST..LAST and a unit, such as network.startup=0..10 us"
        )
    first, last, unit = Decimal(match[1]), Decimal(match[2]), match[3] or ""
    if last <= first:
        raise ParcastError(
            f"--sweep {text!r}: the range does not rise; write the smaller end first"
        )
    numbers = (first + (last - first) * step / STEPS for step in range(STEPS + 1))
    return Over(name, tuple(f"{number.normalize():f} {unit}".strip() for number in numbers), unit)


def combinations(
    over: Mapping[str, Sequence[Any]], settings: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield every combination, the last setting varying fastest, and which have no first value.

    Raises
    ------
    ParcastError
        If a setting has no value, or is one of those that are the same everywhere.
    """
    for name, values in over.items():
        if name in settings:
            raise ParcastError(f"{name} is both set and varied over; keep one of the two")
        if not values:
            raise ParcastError(f"{name} is varied over no values; give one at least")
    for places in itertools.product(*(range(len(values)) for values in over.values())):
        at = dict(zip(over, places, strict=True))
        yield {name: over[name][place] for name, place in at.items()}, [n for n in at if at[n]]


def _values(piece: str, text: str) -> Iterator[str]:
    if ".." not in piece:
        if not piece:
            raise ParcastError(f"--over {text!r}: a value is missing between commas")
        if not _ONE.fullmatch(piece) or piece in {"p", "d"}:
            raise ParcastError(
                f"--over {text!r}: {piece!r} is neither a number nor a word; a formula of p and d "
                "is for --set"
            )
        yield piece
        return
    match = _RANGE.fullmatch(piece)
    if match is None:
        raise ParcastError(
            f"--over {text!r}: {piece!r} is no range; write FIRST..LAST, FIRST..LAST+STEP or "
            "FIRST..LAST*FACTOR and the unit after a space"
        )
    first, last, step = (Decimal(match[1]), Decimal(match[2]), Decimal(match[4] or 1))
    factors = match[3] == "*"
    endless = (step <= 1 or first <= 0) if factors else step <= 0
    if last < first or endless:
        raise ParcastError(f"--over {text!r}: the range {piece!r} is empty or endless")
    while first <= last:
        yield f"{first.normalize():f}"
        first = first * step if factors else first + step


def _in_base_units(text: str) -> float | int | str:
    try:
        value = parse_quantity(text).value
    except UnitError:
        return text
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else value
