"""Columns of tables of times as people write them: other names, units in heads, repeats beside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from parcast.errors import FileError, shorten

Row = tuple[str, Mapping[str, Any]]

#: The ends of files that are tables, of times or of amounts.
TABLES = (".csv", ".tsv")

#: Names of the column of sizes and of the column of times.
SIZES = ("p", "processes", "ranks", "nodes")
TIMES = ("time", "seconds", "walltime", "wall time", "wall_time", "runtime", "elapsed", "duration")

#: Columns that follow from the times, and are not used.
DERIVED = ("speedup", "efficiency", "std", "stddev", "stdev", "error")

#: ``time (ms)`` or ``time [s]``.
_WITH_UNIT = re.compile(r"(.*\S)\s*[(\[]\s*([^)\]]+?)\s*[)\]]")

#: ``time1``, ``time_2``, ``time.3``, ``run 4``.
_REPEATED = re.compile(rf"({'|'.join(TIMES)}|run|repeat)[ _.-]?\d+")

_SECONDS = {"sec": "s", "secs": "s", "second": "s", "seconds": "s", "minutes": "min", "hours": "h"}


def plain_rows(where: str, rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """Return the rows with a time each, under the names that columns have here, and remarks.

    Raises
    ------
    FileError
        If the first line is no header, or does not tell columns apart.
    """
    heads = [str(name) for name in rows[0][1]]
    _check_heads(where, heads)
    plain = {head: _plain(head) for head in heads}
    if len(set(plain.values())) < len(heads):  # p and P: they stay as they are
        return list(rows), ()
    repeats = [head for head in heads if _REPEATED.fullmatch(plain[head][0])]
    if len(repeats) + any(name in TIMES for name, _ in plain.values()) < 2:
        repeats = []
    several = [*(head for head in heads if repeats and plain[head][0] in TIMES), *repeats]
    others = [head for head in heads if head not in several]
    expanded: list[Row] = []
    for place, row in rows:
        known = {plain[head][0]: _cell(row[head], plain[head][1]) for head in others if head in row}
        if not several:
            expanded.append((place, known))
        expanded += [
            (place, {**known, "time": _cell(row[head], plain[head][1])})
            for head in several
            if str(row[head]).strip()  # one repeat less
        ]
    derived = [head for head in others if plain[head][0] in DERIVED]
    remarks = (f"not used: {', '.join(derived)}, which times tell",) if derived else ()
    return expanded, remarks


def _check_heads(where: str, heads: Sequence[str]) -> None:
    if all(re.fullmatch(r"[\d.,+\-eE\s]+", head) for head in heads):
        raise FileError(
            f"{where}: its first line is no header but {shorten(', '.join(heads))}; write names of "
            "columns above it, such as p,time"
        )
    words = heads[0].lower().split()
    if len(heads) == 1 and {*words} & {*SIZES} and {*words} & {*TIMES}:
        raise FileError(
            f"{where}: nothing but blanks divides {heads[0]!r}; write commas, semicolons or tabs"
        )


def _plain(head: str) -> tuple[str, str]:
    """Return a column's name in lower case, and its unit where it has one."""
    match = _WITH_UNIT.fullmatch(head)
    name, unit = match.groups() if match else (head, "")
    lower = name.strip().lower()
    if lower in {*SIZES, *TIMES, *DERIVED, "n"} or _REPEATED.fullmatch(lower):
        return lower, _SECONDS.get(unit.lower(), unit)
    return head, ""


def _cell(value: Any, unit: str) -> Any:
    """Return a value with the unit of its column, where it has none of its own."""
    return f"{value} {unit}" if unit and re.fullmatch(r"[\d.eE+-]+", str(value)) else value


def fix_of(value: Any) -> str:
    """Return what to do about a value that is no number, as the end of a sentence."""
    text = str(value).strip()
    if re.search(r"\d,\d", text):
        return "; write a decimal point, and nothing between thousands"
    if re.fullmatch(r"\d+\s*(nodes?|ranks?|processes|procs?|cores?)", text):
        return "; write the number alone"
    if not re.search(r"\d", text):
        return "; leave out runs that failed"
    return ""


def from_clock(value: Any) -> Any:
    """Return ``01:30:00`` in seconds, and anything else as it is."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d(?:\.\d+)?)", str(value).strip())
    if match is None:
        return value
    days, hours, minutes, seconds = (float(word or 0) for word in match.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds
