"""Matching: messages, collectives and deadlock, found without a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.lazy import lazily

if TYPE_CHECKING:
    from parcast.program.matching.blockwise import ends_in_block_order
    from parcast.program.matching.channels import NOTHING, TIMING
    from parcast.program.matching.collectives import algorithms, groups
    from parcast.program.matching.columns import CODE, NONE, OPS, Columns
    from parcast.program.matching.deadlock import Matched
    from parcast.program.matching.expansion import expand, is_collective
    from parcast.program.matching.prepare import matched
else:
    __getattr__ = lazily(
        __name__,
        {
            "blockwise": "ends_in_block_order",
            "channels": "NOTHING TIMING",
            "collectives": "algorithms groups",
            "columns": "CODE Columns NONE OPS",
            "deadlock": "Matched",
            "expansion": "expand is_collective",
            "prepare": "matched",
        },
    )

__all__ = [
    "CODE",
    "NONE",
    "NOTHING",
    "OPS",
    "TIMING",
    "Columns",
    "Matched",
    "algorithms",
    "ends_in_block_order",
    "expand",
    "groups",
    "is_collective",
    "matched",
]
