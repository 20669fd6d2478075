"""Seeds of cases by chance: others every day, and those of any day again."""

from __future__ import annotations

import os
from datetime import date

#: So many seeds of one day are of no other in the same century.
_OF_A_DAY = 10_000


def first_seed() -> int:
    """Return the first seed: ``PARCAST_SEED``, else one that the day gives."""
    asked = os.environ.get("PARCAST_SEED")
    return int(asked) if asked else int(f"{date.today():%y%j}") * _OF_A_DAY  # noqa: DTZ011  (any day will do)


def seeds(count: int) -> range:
    """Return seeds for ``count`` cases by chance, which change with the day (see `first_seed`).

    A test that fails by one of them is repeated with the same ``PARCAST_SEED``.
    """
    return range(first_seed(), first_seed() + count)
