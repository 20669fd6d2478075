"""Data blocks in columns: where each lies, how large it is, and who consumes it.

These are named tuples of arrays, because compiled kernels take no attrs values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int32]
Short: TypeAlias = NDArray[np.int16]


class Consumers(NamedTuple):
    """The nodes that each block goes to, in the order in which it is sent to them.

    Either lists, or rectangles of a grid of nodes that may run over its last column to its
    first; with rectangles, ``start`` and ``nodes`` are empty.
    """

    start: NDArray[np.int64]  #: n + 1 positions in ``nodes``
    nodes: Integers
    row: Short  #: the first row of the rectangle
    column: Short
    height: Short
    width: Short
    columns: int  #: of the grid
    first: int  #: the node at row 0, column 0

    @classmethod
    def lists(cls, start: Any, nodes: Any) -> Consumers:
        """Return consumers by lists, block b's being ``nodes[start[b]:start[b + 1]]``."""
        none = np.empty(0, np.int16)
        start, nodes = np.asarray(start, np.int64), np.asarray(nodes, np.int32)
        return cls(start, nodes, none, none, none, none, 1, 0)

    @classmethod
    def rectangles(
        cls, row: Any, column: Any, height: Any, width: Any, columns: int, first: int = 0
    ) -> Consumers:
        """Return consumers by rectangles of a grid with this many columns."""
        return cls(
            np.empty(0, np.int64),
            np.empty(0, np.int32),
            np.asarray(row, np.int16),
            np.asarray(column, np.int16),
            np.asarray(height, np.int16),
            np.asarray(width, np.int16),
            columns,
            first,
        )

    def counts(self) -> NDArray[np.int64]:
        """Return of each block how many consumers it has."""
        if len(self.start):
            return np.diff(self.start)
        return self.height.astype(np.int64) * self.width

    def as_lists(self) -> Consumers:
        """Return the same consumers as lists."""
        if len(self.start):
            return self
        counts = self.counts()
        start = np.concatenate([[0], np.cumsum(counts)])
        block = np.repeat(np.arange(len(counts)), counts)
        k = np.arange(start[-1]) - start[block]
        row = self.row[block] + k // self.width[block]
        column = (self.column[block] + k % self.width[block]) % self.columns
        return Consumers.lists(start, self.first + row * self.columns + column)


class Blocks(NamedTuple):
    """The blocks of an epoch, in the order in which their reads are issued.

    ``size`` and ``compute`` have one entry that is every block's, or one for each.
    """

    disk: Integers  #: counted over all nodes
    offset: Floats  #: where it starts on the disk, in bytes
    size: Floats  #: bytes
    compute: Floats  #: seconds that each consumer computes, on a node of speed 1
    consumers: Consumers

    def operations(self) -> int:
        """Return how many reads and computations these are."""
        return len(self.disk) + int(self.consumers.counts().sum())

    def joined(self, others: Sequence[Blocks]) -> Blocks:
        """Return these blocks and the others after them, with lists of consumers."""
        parts = [self, *others]
        lists = [part.consumers.as_lists() for part in parts]
        starts = np.concatenate([[0], *(np.diff(consumers.start) for consumers in lists)])
        nodes = np.concatenate([consumers.nodes for consumers in lists])
        return Blocks(
            np.concatenate([part.disk for part in parts]),
            np.concatenate([part.offset for part in parts]),
            np.concatenate([np.broadcast_to(part.size, part.disk.shape) for part in parts]),
            np.concatenate([np.broadcast_to(part.compute, part.disk.shape) for part in parts]),
            Consumers.lists(np.cumsum(starts), nodes),
        )


def make_blocks(disk: Any, offset: Any, size: Any, compute: Any, consumers: Consumers) -> Blocks:
    """Return blocks with columns of the types that kernels take; numbers are every block's."""
    return Blocks(
        np.asarray(disk, np.int32),
        np.asarray(offset, np.float64),
        np.atleast_1d(np.asarray(size, np.float64)),
        np.atleast_1d(np.asarray(compute, np.float64)),
        consumers,
    )
