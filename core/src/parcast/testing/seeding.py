"""Seeds of random cases: new ones every day, and those of any day again."""

from __future__ import annotations

import os
from datetime import datetime

#: The first seeds of two days are so far apart: more cases than a night has.
_OF_A_DAY = 10_000


def first_seed() -> int:
    """Return the first seed: ``PARCAST_SEED``, or one that the day gives."""
    seed = os.environ.get("PARCAST_SEED")
    return int(seed) if seed else int(f"{datetime.now().astimezone():%y%j}") * _OF_A_DAY


def seeds(count: int) -> range:
    """Return the seeds of ``count`` random cases, from `first_seed` on.

    A test that fails is repeated with the ``PARCAST_SEED`` it had.
    """
    return range(first_seed(), first_seed() + count)
