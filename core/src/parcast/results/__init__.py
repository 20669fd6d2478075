"""Results: rows in one schema, their columns, tables, frames, files and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.results.columns import GRID, axes, short
    from parcast.results.row import SCHEMA, plain
    from parcast.results.texts import merge_similar
else:
    __getattr__ = lazily(__name__)

__all__ = ["GRID", "SCHEMA", "axes", "merge_similar", "plain", "short"]
