"""A row with all of its details, as text."""

from __future__ import annotations

from typing import Any

import attrs

from parcast.cli.output import print_table, print_text
from parcast.html import flatten
from parcast.quantities.units import format_seconds
from parcast.results.row import Row


def print_row(row: Row) -> None:
    """Print a row: its numbers, its details, and what is said of it."""
    print(f"{row.workload} on {row.machine}, p = {row.p}, d = {row.d}, by {row.solver}\n")
    if row.time is None:
        print_text(f"{row.status.value}: {row.message}\n")
        return
    lines = [("time", format_seconds(row.time))]
    spread = (("lower", row.lower), ("upper", row.upper), ("std", row.std))
    lines += [(name, format_seconds(value)) for name, value in spread if value is not None]
    if row.ci is not None:
        lines.append(("95 % interval", " .. ".join(map(format_seconds, row.ci))))
    lines += [(f"quantile {q}", format_seconds(value)) for q, value in row.quantiles.items()]
    if row.speedup is not None:
        lines.append(("speedup", f"{row.speedup:.4g}"))
    if row.parts is not None:
        parts = attrs.asdict(row.parts)
        lines += [(name, format_seconds(seconds)) for name, seconds in parts.items()]
    if row.binding is not None:
        lines.append(("bottleneck", row.binding))
    lines += _details(row)
    print_table(("", ""), [list(line) for line in lines])
    for word, texts in (
        ("converted", row.lowering),
        ("note", row.notes),
        ("assumes", row.details.get("assumptions", ())),
    ):
        for text in texts:
            print_text(f"{word}: {text}")
    print()


#: As many items of a list stand in a line of text, and as many lines under one key.
_MOST_ITEMS, _MOST_LINES = 8, 16


def _details(row: Row) -> list[tuple[str, str]]:
    """Return a line for each detail, the first few where a key has a great many."""
    lines: list[tuple[str, str]] = []
    for key, value in row.details.items():
        if key == "assumptions":
            continue
        leaves = [(path, _shown(leaf)) for path, leaf in flatten({key: value})]
        lines += leaves[:_MOST_LINES]
        if len(leaves) > _MOST_LINES:
            lines.append((f"{key}, others", f"{len(leaves) - _MOST_LINES:,}; --json shows all"))
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        if len(value) <= _MOST_ITEMS:
            return ", ".join(map(_shown, value))
        least, most = min(value, key=_order), max(value, key=_order)
        return f"{len(value):,} values, {_shown(least)} .. {_shown(most)}; --json shows all"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _order(value: Any) -> tuple[float, str]:
    return (value, "") if isinstance(value, int | float) else (0.0, str(value))
