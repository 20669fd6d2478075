"""The kind ``program``: what every process computes, sends, receives, reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.program.jobs import job_times
    from parcast.program.reader import parsed, read_source
    from parcast.program.source.operations import ANY, OPERATIONS
    from parcast.program.source.tree import Assign, For, If, Op, Site, Statement, Tree
    from parcast.program.summary import tally
    from parcast.program.unroll.blocks import Block, Operation, Request, Unrolled
    from parcast.program.workload import Program
else:
    __getattr__ = lazily(__name__)

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
    "job_times",
    "parsed",
    "read_source",
    "tally",
]
