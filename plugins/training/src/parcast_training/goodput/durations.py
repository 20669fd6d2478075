"""Times of a job's life in words: days, hours and minutes rather than thousands of seconds."""

from __future__ import annotations

from parcast.quantities import format_seconds

#: Units in seconds, and the least number of them that is said in them.
_UNITS = (("d", 86400.0, 3), ("h", 3600.0, 3), ("min", 60.0, 2))


def in_words(seconds: float) -> str:
    """Return a time to four digits: ``31.23 d``, ``50 h``, ``107.6 min``, ``12 s``."""
    for unit, factor, least in _UNITS:
        if seconds >= least * factor:
            return f"{_digits(seconds / factor)} {unit}"
    return format_seconds(seconds)


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def percent(share: float) -> str:
    """Return a share as a percentage, small ones to two digits."""
    value = 100 * share
    return f"{value:.2f} %" if value >= 0.1 or value == 0 else f"{value:.2g} %"
