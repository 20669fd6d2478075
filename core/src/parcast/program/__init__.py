"""The kind ``program``: what every process computes, sends, receives, reads and writes."""

from __future__ import annotations

from parcast.program.operations import ANY, OPERATIONS
from parcast.program.tree import Assign, For, If, Op, Program, Site, Statement
from parcast.program.unrolled import Block, Operation, Request, Unrolled

__all__ = [
    "ANY",
    "OPERATIONS",
    "Assign",
    "Block",
    "For",
    "If",
    "Op",
    "Operation",
    "Program",
    "Request",
    "Site",
    "Statement",
    "Unrolled",
]
