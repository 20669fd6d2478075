"""References: plain evaluations of a program that solvers are held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.lazy import lazily

if TYPE_CHECKING:
    from parcast.program.reference.fixed_order import frozen
else:
    __getattr__ = lazily(
        __name__,
        {
            "fixed_order": "frozen",
        },
    )

__all__ = [
    "frozen",
]
