"""Lowerings: phases as a program, and a program as phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.program.lowerings.to_phases import Counts, count, in_collective
else:
    __getattr__ = lazily(__name__)

__all__ = ["Counts", "count", "in_collective"]
