"""Aligned text tables."""

from __future__ import annotations

from collections.abc import Sequence


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines, numbers flush right below their column's head and words flush left."""
    columns = list(zip(*rows, strict=True))
    cells = [_column(column) for column in columns]
    return ["  ".join(line).rstrip() for line in zip(*cells, strict=True)]


def _column(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    numbers = all(not cell or cell[0].isdigit() or cell == "-" for cell in cells[1:])
    return [cell.rjust(width) if numbers else cell.ljust(width) for cell in cells]
