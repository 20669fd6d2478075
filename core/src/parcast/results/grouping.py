"""Sentences that differ in one number are told once, with its range."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def merge_similar(sentences: Iterable[str]) -> dict[str, list[str]]:
    """Return what is to be told, each with the sentences that it stands for.

    Parameters
    ----------
    sentences
        All different.
    """
    groups: dict[str, list[str]] = {}
    for sentence in sentences:
        groups.setdefault(_NUMBER.sub("#", sentence), []).append(sentence)
    merged: dict[str, list[str]] = {}
    for group in groups.values():
        ranged = _ranged(group)
        merged |= (
            {sentence: [sentence] for sentence in group} if ranged is None else {ranged: group}
        )
    return merged


def _ranged(group: Sequence[str]) -> str | None:
    """Return one sentence with a range where sentences differ in one of their numbers."""
    columns = list(zip(*map(_NUMBER.findall, group), strict=True))
    varying = [index for index, column in enumerate(columns) if len(set(column)) > 1]
    if len(varying) != 1:
        return None
    (index,) = varying
    number = list(_NUMBER.finditer(group[0]))[index]
    least, largest = (choose(columns[index], key=float) for choose in (min, max))
    return f"{group[0][: number.start()]}{least} to {largest}{group[0][number.end() :]}"
