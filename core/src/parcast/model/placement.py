"""Placement: which process runs on which node, and what share of it each one gets."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.machine import Machine, Nodes
from parcast.model.query import Query

Ranks = NDArray[np.int64]


@attrs.frozen(eq=False)
class Placement:
    """Where every process runs; the arrays have one entry for each rank."""

    node: Ranks
    speed: NDArray[Any]  #: relative to processor.rate: weight, boost, and share of a core
    sharing: Ranks  #: processes on the node of this one, itself included
    nodes: int  #: how many there are, idle ones included
    #: among the processes of its node, in the order of ranks: 0, 1, ...
    position: Ranks = attrs.field(
        default=attrs.Factory(lambda self: _positions(self.node), takes_self=True)
    )

    def same_node(self, first: Any, second: Any) -> Any:
        """Return whether two ranks, or the ranks of two arrays, run on one node."""
        return self.node[first] == self.node[second]

    def turns(self, per_node: int) -> Ranks:
        """Return how many processes use what each one uses of a node that has several.

        Parameters
        ----------
        per_node
            How many a node has of it; the i-th process of a node uses i mod ``per_node``.
        """
        used = self.node * per_node + self.position % per_node
        _, inverse, counts = np.unique(used, return_inverse=True, return_counts=True)
        turns: Ranks = counts[inverse]
        return turns


def _positions(node: Ranks) -> Ranks:
    order = np.argsort(node, kind="stable")
    ordered = node[order]
    positions = np.empty(len(node), np.int64)
    positions[order] = np.arange(len(node)) - np.searchsorted(ordered, ordered)
    return positions


def place(query: Query) -> Placement:
    """Return the placement that the query's mapping gives on the nodes of its machine.

    ``block`` fills the cores of one node after another, ``cyclic`` deals processes to the
    nodes in turn, and a tuple names each process's node. With ``nodes.oversubscribe`` more
    processes than cores share them: ``block`` then cuts the ranks into runs of equal length,
    one for each node.

    Raises
    ------
    UnsupportedError
        If a process would be left without a core.
    InvalidPointError
        If the tuple is not of p nodes of the machine.
    """
    nodes, p = query.machine.nodes, query.p
    count = nodes.number
    if isinstance(query.mapping, tuple):
        node = _listed(query.mapping, p, count)
        count = count or int(node.max()) + 1
    else:
        count = count or -(-p // nodes.cores)
        node = _dealt(query.mapping, p, count, nodes)
    _, inverse, processes = np.unique(node, return_inverse=True, return_counts=True)
    sharing = processes[inverse]
    if not nodes.oversubscribe and sharing.max() > nodes.cores:
        full = node[sharing.argmax()]
        raise UnsupportedError(
            f"{sharing.max()} processes on node {full} of {nodes.cores} cores; map them to more "
            "nodes or --set nodes.oversubscribe=true"
        )
    # beyond p, more cores are all the same, and numpy holds no larger numbers
    share = np.minimum(1.0, min(nodes.cores, p) / sharing)
    speed = _weights(nodes, node) * share * _boost(query.machine, sharing)
    return Placement(node, speed, sharing, count)


def _boost(machine: Machine, sharing: Ranks) -> Any:
    """Return how much faster cores are while others of their node idle, in proportion to these."""
    boost, cores = machine.processor.boost, machine.nodes.cores
    if boost == 1 or cores == 1:
        return boost
    idle = np.maximum(0, cores - sharing) / (cores - 1)
    return 1 + (boost - 1) * idle


def _dealt(mapping: str, p: int, count: int, nodes: Nodes) -> Ranks:
    crowded = p > count * nodes.cores
    if crowded and not nodes.oversubscribe:
        counted = "1 node" if count == 1 else f"{count} nodes"
        raise UnsupportedError(
            f"{p} processes on {count * nodes.cores} cores ({counted} of {nodes.cores}); give more "
            "nodes or --set nodes.oversubscribe=true"
        )
    ranks = np.arange(p)
    if mapping == "cyclic":
        return ranks % min(count, p)
    return ranks * count // p if crowded else ranks // min(nodes.cores, p)


def _listed(mapping: tuple[int, ...], p: int, count: int | None) -> Ranks:
    if len(mapping) != p:
        raise InvalidPointError(
            f"mapping: at p={p} it names {len(mapping)} nodes; name one for each process"
        )
    last = (count or 2**63) - 1
    for rank, node in enumerate(mapping):
        if not 0 <= node <= last:
            raise InvalidPointError(
                f"mapping: at p={p} rank {rank} is on node {node}, outside 0 .. {last}; name "
                "nodes of the machine or raise nodes.count"
            )
    return np.array(mapping, dtype=np.int64)


def _weights(nodes: Nodes, node: Ranks) -> NDArray[np.float64]:
    ends = np.cumsum([group.count for group in nodes.groups])
    weights = np.array([*(group.weight for group in nodes.groups), 1.0])
    return weights[np.searchsorted(ends, node, side="right")]
