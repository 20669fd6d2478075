"""What NCCL and RCCL take, as near as messages without segments come to it.

Both send an allreduce of few bytes up and down trees and one of many round rings, and an allgather
and a reduce_scatter round rings (``src/graph/tuning.cc``, 2.18 to 2.22). Their trees are
pipelined, ours are not: from `_LONG` bytes on a ring, which moves as many bytes as a pipelined
tree, stands for both. That size is assumed; it is about where a tree and a ring take as long on
nodes of eight accelerators with InfiniBand. NCCL has no other collectives but broadcast and
reduce; of these and all others the algorithms are those that are taken where none is named.
"""

from __future__ import annotations

_LONG = 2**20

_FIXED = {
    "barrier": "dissemination",
    "bcast": "binomial",
    "reduce": "binomial",
    "gather": "binomial",
    "scatter": "binomial",
    "allgather": "ring",
    "alltoall": "pairwise",
    "reduce_scatter": "ring",
    "scan": "dissemination",
    "gatherv": "linear",
    "scatterv": "linear",
    "allgatherv": "ring",
    "alltoallv": "pairwise",
}


def algorithm(op: str, _: int, n: float) -> str:
    """Return the algorithm for ``n`` bytes, whatever the number of processes is."""
    if op == "allreduce":
        return "ring" if n >= _LONG else "tree"
    return _FIXED[op]


def follows_nodes(op: str, _: int, n: float) -> bool:
    """Return whether a collective is one within nodes and one between them."""
    return op == "allreduce" and n < _LONG
