"""Many files in few words: a pattern that matches them alone, and one note for all alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from glob import escape

from parcast_machines_from.records import shortened

#: So many files are named one by one.
_NAMED = 3

_NOTE = re.compile(r"(.+?)(?::\d+)?: (.*)", re.DOTALL)


def pattern_of(names: Sequence[str]) -> str:
    """Return what all names begin and end with, and a star between."""
    prefix = _beginning(names)
    suffix = _beginning([name[len(prefix) :][::-1] for name in names])[::-1]
    return f"{escape(prefix)}*{escape(suffix)}"


def pattern_of_alone(names: Sequence[str], others: Collection[str]) -> str:
    """Return a pattern of all names that none of the others match; empty where there is none."""
    pattern = pattern_of(names)
    return "" if any(fnmatchcase(name, pattern) for name in set(others) - set(names)) else pattern


def _beginning(names: Sequence[str]) -> str:
    """Return what all names begin with."""
    first, last = min(names), max(names)
    alike = (at for at, letter in enumerate(first) if last[at : at + 1] != letter)
    return first[: next(alike, len(first))]


def called(names: Sequence[str], others: Collection[str] = (), *, whole: bool = False) -> str:
    """Return files by few names, or by a pattern that none of the others match.

    Parameters
    ----------
    names
        Of the files.
    others
        Names of all files, these among them.
    whole
        Name each file where no pattern does, since people have to type them.
    """
    names = list(dict.fromkeys(names))
    if len(names) <= _NAMED:
        return ", ".join(names)
    if pattern := pattern_of_alone(names, others):
        return pattern
    return ", ".join(names) if whole else shortened(names, _NAMED - 1)


def gathered(notes: Sequence[str], paths: Collection[str]) -> Iterator[str]:
    """Yield notes on files, one for all files of which the same is said.

    Parameters
    ----------
    notes
        Such as ``a.out:7: a reason``; others are yielded as they are.
    paths
        All files.
    """
    groups: dict[str, list[str]] = {}
    for note in notes:
        match = _NOTE.fullmatch(note)
        if match and match[1] in paths:
            groups.setdefault(match[2], []).append(note)
        else:
            groups.setdefault(note, []).append("")
    for reason, alike in groups.items():
        if len(alike) == 1 or not alike[0]:
            yield alike[0] or reason
            continue
        places = [match[1] for note in alike if (match := _NOTE.fullmatch(note))]
        times = f" ({len(places)} times)" if len(places) > len(set(places)) else ""
        yield f"{called(places, paths)}: {reason}{times}"
