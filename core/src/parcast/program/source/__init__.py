"""Source: the language of programs, its tree, statements and operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.program.source.attributes import assigned, attributes_of, expressions, place
    from parcast.program.source.operations import (
        ANY,
        COLLECTIVES,
        RECEIVES,
        SENDS,
        VECTOR_COLLECTIVES,
    )
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
    __getattr__ = lazily(__name__)

__all__ = [
    "ANY",
    "COLLECTIVES",
    "RECEIVES",
    "SENDS",
    "VECTOR_COLLECTIVES",
    "Argument",
    "Assign",
    "For",
    "If",
    "Op",
    "Site",
    "Statement",
    "Tree",
    "assigned",
    "attributes_of",
    "expressions",
    "nested",
    "place",
]
