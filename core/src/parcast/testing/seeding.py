"""How many random cases a test has, and their seeds: new ones every day, or a day's again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import date, datetime
from typing import TypeVar

#: The first seeds of two days are so far apart: more cases than a night has.
_OF_A_DAY = 100_000
_EPOCH = date(2020, 1, 1)

Item = TypeVar("Item")


def first_seed() -> int:
    """Return the first seed: ``PARCAST_SEED``, or one that the day gives."""
    seed = os.environ.get("PARCAST_SEED")
    return int(seed) if seed else (datetime.now().astimezone().date() - _EPOCH).days * _OF_A_DAY


def seeds(count: int) -> range:
    """Return the seeds of ``count`` random cases, from `first_seed` on.

    A test that fails is repeated with the ``PARCAST_SEED`` it had.
    """
    return range(first_seed(), first_seed() + count)


def turn(items: Iterable[Item], of: int) -> list[Item]:
    """Return every ``of``-th item, others every day, and all where ``PARCAST_CASES`` is set.

    Combinations are many and alike: each has its day, and a night has all.
    """
    listed = list(items)
    if os.environ.get("PARCAST_CASES"):
        return listed
    return listed[first_seed() // _OF_A_DAY % of :: of]


def cases(count: int, *, least: int = 3) -> int:
    """Return how many random cases a test has: ``PARCAST_CASES`` times ``count``.

    Where that is not set, as before a change lands, a fifth of them, and ``least`` at least where
    ``count`` is no less: a test that asks how many of a kind there are needs more.
    """
    if times := os.environ.get("PARCAST_CASES"):
        return count * int(times)
    return max(min(count, least), count // 5)
