"""The kind ``program``: what every process computes, sends, receives, reads and writes."""

from __future__ import annotations

from parcast.program.content import Program
from parcast.program.operations import ANY, OPERATIONS
from parcast.program.tree import Assign, For, If, Op, Site, Statement, Tree
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
    "Tree",
    "Unrolled",
]
