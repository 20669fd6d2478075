"""Lists of whole numbers as people write them: ``4,9,16``, ``1..64``, ``1..64*2``, ``0..64+8``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parcast.errors import ParcastError

_RANGE = re.compile(r"(\d{1,15})\.\.(\d{1,15})(?:([*+])(\d{1,15}))?")

#: More points than this are a slip of the finger.
MOST = 1_000_000


def parse_numbers(name: str, text: str, least: int = 1) -> tuple[int, ...]:
    """Return the numbers that ``text`` lists, in order, each once.

    Raises
    ------
    ParcastError
        If a piece is neither a number nor a range, or a range is empty.
    """
    numbers: dict[int, None] = {}
    for piece in text.replace(" ", "").split(","):
        for number in _piece(name, piece, least):
            numbers[number] = None
            if len(numbers) > MOST:
                raise ParcastError(f"{name} {text!r}: more than {MOST:,} values; use a larger step")
    return tuple(numbers)


def _piece(name: str, piece: str, least: int) -> Iterator[int]:
    match = _RANGE.fullmatch(piece)
    if match is None:
        if not re.fullmatch(r"\d{1,15}", piece) or int(piece) < least:
            raise ParcastError(
                f"{name} {piece!r}: write whole numbers from {least} to 10**15, "
                "such as 4,9,16 or 1..64 or 1..64*2"
            )
        yield int(piece)
        return
    first, last, sign, step = int(match[1]), int(match[2]), match[3] or "+", int(match[4] or 1)
    if first < least or last < first or step < 1 or (sign == "*" and (step < 2 or first < 1)):
        raise ParcastError(
            f"{name} {piece!r}: the range is empty or endless; write FIRST..LAST*FACTOR"
        )
    while first <= last:
        yield first
        first = first * step if sign == "*" else first + step
