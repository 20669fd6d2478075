"""Source: the language of programs, its tree, statements and operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.lazy import lazily

if TYPE_CHECKING:
    from parcast.program.source.attributes import assigned, place
    from parcast.program.source.operations import ANY, COLLECTIVES, RECEIVES, SENDS
    from parcast.program.source.tree import (
        Argument,
        Assign,
        For,
        If,
        Op,
        Site,
        Statement,
        Tree,
        nested,
    )
else:
    __getattr__ = lazily(
        __name__,
        {
            "attributes": "assigned place",
            "operations": "ANY COLLECTIVES RECEIVES SENDS",
            "tree": "Argument Assign For If Op Site Statement Tree nested",
        },
    )

__all__ = [
    "ANY",
    "COLLECTIVES",
    "RECEIVES",
    "SENDS",
    "Argument",
    "Assign",
    "For",
    "If",
    "Op",
    "Site",
    "Statement",
    "Tree",
    "assigned",
    "nested",
    "place",
]
