"""The kind ``program``: what every process computes, sends, receives, reads and writes."""

from __future__ import annotations

from parcast.program.source.operations import ANY, OPERATIONS
from parcast.program.source.tree import Assign, For, If, Op, Site, Statement, Tree
from parcast.program.unroll.blocks import Block, Operation, Request, Unrolled
from parcast.program.workload import Program

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
