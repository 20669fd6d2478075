"""Numbers as a machine's file states them: with unit, uncertainty and source."""

from __future__ import annotations

from typing import Any

import attrs

_UNITS = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B/s": ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")),
    "FLOP/s": ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s")),
    "1/s": ((1.0, "/s"),),
    "B": ((1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "B")),
}

#: A relative spread below this is not stated.
_LEAST_STATED = 0.002


@attrs.frozen
class Stated:
    """A number of a machine's file."""

    key: str  #: ``network.startup``
    value: Any
    source: str


def quantity(value: float, unit: str, spread: float = 0.0) -> str:
    """Return a number with four digits, its unit, and its standard uncertainty.

    Parameters
    ----------
    value
        In the base unit: seconds, bytes or operations a second, bytes.
    unit
        ``s``, ``B/s``, ``FLOP/s``, ``1/s`` or ``B``.
    spread
        The standard uncertainty relative to the value.
    """
    scale, name = next(
        ((scale, name) for scale, name in _UNITS[unit] if abs(value) >= 0.9995 * scale),
        _UNITS[unit][-1],
    )
    text = f"{value / scale:.4g}"
    if spread >= _LEAST_STATED and value > 0:
        return f"{text} +- {value * spread / scale:.2g} {name}"
    return f"{text} {name}"


def size_text(size: float) -> str:
    """Return bytes as people write them: ``8 KiB``."""
    for scale, name in _UNITS["B"]:
        if size >= scale and size % scale == 0:
            return f"{size / scale:.0f} {name}"
    return f"{size:.0f} B"
