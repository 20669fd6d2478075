"""What tables show of a row: settings, times, prices and energies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parcast.quantities.units import format_seconds
from parcast.results.row import Row


def spelled(value: Any) -> str:
    """Return a setting as tables show it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def time_text(seconds: float | None) -> str:
    """Return a time as tables show it, or nothing."""
    return "" if seconds is None else format_seconds(seconds)


def charged(row: Row) -> Mapping[str, Any]:
    """Return what the run is charged, where its machine states that."""
    charge: Mapping[str, Any] = row.details.get("charge", {})
    return charge


def price_text(row: Row) -> str:
    """Return the price as tables show it, or nothing."""
    price = charged(row).get("price")
    return "" if price is None else f"{price:.4g} {charged(row)['currency']}".strip()


def energy_text(row: Row) -> str:
    """Return the energy as tables show it, or nothing."""
    energy = charged(row).get("energy")
    return "" if energy is None else f"{energy / 3.6e6:.4g} kWh"
