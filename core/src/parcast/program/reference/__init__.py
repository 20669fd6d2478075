"""References: plain evaluations of a program that solvers are held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.program.reference.fixed_order import frozen
    from parcast.program.reference.instants import (
        SAME_INSTANT,
        by_arrival,
        end_of_instant,
        latest_end,
    )
    from parcast.program.reference.process_sweep import takers_of
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "SAME_INSTANT",
    "by_arrival",
    "end_of_instant",
    "frozen",
    "latest_end",
    "takers_of",
]
