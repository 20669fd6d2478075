"""Matching: messages, collectives and deadlock, found without a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.program.matching.blockwise import ends_in_block_order
    from parcast.program.matching.buffering import aggregator_of
    from parcast.program.matching.channels import NOTHING, TIMING
    from parcast.program.matching.collectives import algorithms, groups, is_signal
    from parcast.program.matching.collectives.handling import COPIED, OWN_BLOCK, Handling
    from parcast.program.matching.collectives.libraries import LIBRARIES
    from parcast.program.matching.columns import CODE, NONE, OPS, Columns, operation_columns
    from parcast.program.matching.expansion import (
        expand,
        find_collectives,
        groups_and_bytes,
    )
    from parcast.program.matching.folding import folded, periods_of
    from parcast.program.matching.prepare import (
        PREPARATION,
        Matched,
        conversion_cost,
        match_unrolled,
        matched_program,
    )
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "CODE",
    "COPIED",
    "LIBRARIES",
    "NONE",
    "NOTHING",
    "OPS",
    "OWN_BLOCK",
    "PREPARATION",
    "TIMING",
    "Columns",
    "Handling",
    "Matched",
    "aggregator_of",
    "algorithms",
    "conversion_cost",
    "ends_in_block_order",
    "expand",
    "find_collectives",
    "folded",
    "groups",
    "groups_and_bytes",
    "is_signal",
    "match_unrolled",
    "matched_program",
    "operation_columns",
    "periods_of",
]
