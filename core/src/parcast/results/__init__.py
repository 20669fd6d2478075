"""Results: rows in one schema, their columns, tables, frames, files and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.lazy import lazily

if TYPE_CHECKING:
    from parcast.results.columns import GRID, axes, short
    from parcast.results.grouping import merge_similar
    from parcast.results.row import SCHEMA, plain
else:
    __getattr__ = lazily(
        __name__,
        {
            "columns": "GRID axes short",
            "grouping": "merge_similar",
            "row": "SCHEMA plain",
        },
    )

__all__ = [
    "GRID",
    "SCHEMA",
    "axes",
    "merge_similar",
    "plain",
    "short",
]
