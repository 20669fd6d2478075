"""Unrolling: a tree at one point as the operations of every process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.program.unroll.blocks import Block, Pool, Request, Unrolled, is_collective
    from parcast.program.unroll.unrolling import unroll
else:
    __getattr__ = lazily(__name__)

__all__ = ["Block", "Pool", "Request", "Unrolled", "is_collective", "unroll"]
