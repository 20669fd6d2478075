"""The text of measurements: tables by commas, semicolons, tabs, blanks or bars."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from parcast.cells import meant
from parcast.errors import FileError, shorten
from parcast.files.extrap import Raw

#: A line of text with its number.
Line = tuple[int, str]

#: ``|---|:--:|`` under the heads of a table of Markdown, ``|---+---|`` of Org.
_RULE = re.compile(r"\|[\s|:+-]*")

_NUMBER = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")


def read_csv(text: str, where: str) -> Iterator[Raw]:
    """Read a table by commas, semicolons, tabs, blanks or bars, with names of columns first.

    Blanks divide only where nothing else does and each line has as many words. A comment before
    numbers that has as many words as they are is their heads. Bars are those of Markdown and Org,
    with any text around the one table.

    Raises
    ------
    FileError
        If a line has not as many values as there are columns, or a file has several tables of bars.
    """
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    table = _between_bars(lines, where) or _by_blanks(lines) or _by_delimiter(lines, where)
    heads: list[str] = []
    for number, cells in table:
        values = [meant(cell.strip()) for cell in cells]
        position = f"{where}:{number}"
        if heads:
            yield position, _by_name(heads, values, position)
        elif len(set(values)) < len(values):
            twice = next(name for name in values if values.count(name) > 1)
            raise FileError(
                f"{position}: a column {shorten(repr(twice))} stands twice; give each a name "
                f"of its own, such as {shorten(twice)}1"
            )
        heads = heads or values


def _between_bars(lines: Sequence[Line], where: str) -> list[tuple[int, list[str]]]:
    """Return the cells of the one table whose lines begin with a bar; none where there is none."""
    rows = [(n, line.strip()) for n, line in lines if line.lstrip().startswith("|")]
    rules = [n for n, line in rows if _RULE.fullmatch(line)]
    if not rules:
        return []
    if len(rules) > 1:
        places = ", ".join(map(str, rules))
        raise FileError(
            f"{where}: it has {len(rules)} tables, with heads above lines {places}; give a file of "
            "one of them"
        )
    return [
        (n, line.strip("|").split("|")) for n, line in rows if n >= rules[0] - 1 and n not in rules
    ]


def _by_blanks(lines: Sequence[Line]) -> list[tuple[int, list[str]]]:
    """Return the words of a table that nothing but blanks divides; none where it is no table."""
    kept = [(n, line) for n, line in lines if not line.lstrip().startswith("#")]
    if len(kept) < 2 or any(set(line) & set(",;\t") for _, line in kept):
        return []
    rows = [(n, line.split()) for n, line in kept]
    comments = [(n, line.lstrip(" #").split()) for n, line in lines if n < rows[0][0]]
    if comments and all(map(_NUMBER.fullmatch, rows[0][1])):
        rows.insert(0, comments[-1])
    return rows if len(rows[0][1]) > 1 and len({len(words) for _, words in rows}) == 1 else []


def _by_delimiter(lines: Sequence[Line], where: str) -> Iterator[tuple[int, list[str]]]:
    lines = [(n, line) for n, line in lines if not line.lstrip().startswith("#")]
    if not lines:
        return
    delimiter = max(",;\t", key=lines[0][1].count)
    table = csv.reader((line + "\n" for _, line in lines), delimiter=delimiter)
    try:
        for cells in table:
            yield lines[table.line_num - 1][0], cells
    except csv.Error as error:
        raise FileError(f"{where}:{lines[table.line_num - 1][0]}: {error}") from None


def _by_name(heads: Sequence[str], values: Sequence[str], position: str) -> dict[str, str]:
    if len(values) != len(heads):
        raise FileError(
            f"{position}: {len(values)} values for {len(heads)} columns; give one for each"
        )
    return dict(zip(heads, values, strict=True))
