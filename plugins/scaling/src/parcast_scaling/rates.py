"""Rates of work, such as ns/day and GFLOP/s, which become times of a unit of work."""

from __future__ import annotations

import re

#: Names of rates that say no unit.
_UNNAMED = re.compile(r"(?:aggregate |total )?(?:rate|fom|figure of merit|throughput|performance)")

_FLOPS = re.compile(r"([kmgtpe])flop(?:s|/s| per s(?:econd)?)")

_PER = re.compile(r"(.*?\S) ?(?:/| per ) ?(s|sec|second|min|minute|h|hour|day|d)")

_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0,
            "hour": 3600.0, "day": 86400.0, "d": 86400.0}  # fmt: skip


def unit_of_rate(name: str, unit: str = "") -> tuple[str, float] | None:
    """Return the unit of work of a rate, and the seconds that a rate of 1 takes for it.

    ``ns/day`` is 1 ns in 86400 s. None where the name is no rate's.
    """
    for text in (unit, name):
        plain = text.strip().lower()
        if match := _FLOPS.fullmatch(plain):
            return f"{match[1].upper()}FLOP", 1.0
        if match := _PER.fullmatch(plain):
            work = re.sub(r"^1 ", "", text.strip()[: len(match[1])])
            return work, _SECONDS[match[2]]
    if _UNNAMED.fullmatch(re.sub(r"[ _-]+", " ", name.strip().lower())):
        return "unit of work", 1.0
    return None
