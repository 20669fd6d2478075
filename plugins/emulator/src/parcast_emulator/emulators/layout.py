"""Where the data of an application lie, and which nodes consume them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import InvalidPointError
from parcast_emulator.cluster import Cluster
from parcast_emulator.emulators.declustering import Declustering, deal

#: The columns of so many blocks of an epoch are a few GB.
MOST_BLOCKS = 50_000_000


def whole(name: str, value: float) -> int:
    """Return a number of things, rounded to the nearest; at least one.

    Raises
    ------
    InvalidPointError
        If it is less than one, or more than can be counted.
    """
    if not 1 <= value < 2**31:
        raise InvalidPointError(f"{name} = {value:g} here; it must be 1 .. {2**31 - 1}")
    return round(value)


def checked_count(count: int) -> int:
    """Return a number of blocks that are made at once, if there is room for them.

    Raises
    ------
    InvalidPointError
        If there is none.
    """
    if count > MOST_BLOCKS:
        raise InvalidPointError(
            f"an epoch has {count} blocks here; ask for fewer or larger ones, at most {MOST_BLOCKS}"
        )
    return count


@attrs.frozen
class Layout:
    """The first nodes hold the data; others consume them, or all nodes do both."""

    holders: int
    first: int  #: the first node that consumes
    consumers: int

    def disks(self, cluster: Cluster) -> int:
        """Return the number of disks with data."""
        return int(cluster.disks[self.holders])

    def disk(self, number: Any, cluster: Cluster) -> Any:
        """Return disks by numbers that go round the nodes first, then round a node's disks."""
        return number % self.holders * int(cluster.disks[1]) + number // self.holders


def layout(servers: float, p: int) -> Layout:
    """Return the layout of p nodes, ``servers`` of which hold the data; 0: all of them.

    Raises
    ------
    InvalidPointError
        If that leaves no node to consume.
    """
    if servers == 0:
        return Layout(p, 0, p)
    if servers != int(servers) or not 0 < servers < p:
        raise InvalidPointError(
            f"servers = {servers:g} of p={p} nodes; give a whole number below p, or 0 where every "
            "node holds data"
        )
    return Layout(int(servers), int(servers), p - int(servers))


@attrs.frozen(eq=False)
class Spread:
    """The cells of a plane on disks: the number of each one's disk, and its position there."""

    disk: NDArray[np.int64]
    position: NDArray[np.int64]
    height: int  #: positions that a disk has for this plane
    disks: int

    @classmethod
    def of(cls, how: Declustering, rows: int, columns: int, disks: int) -> Spread:
        """Spread a plane over disks."""
        disk = deal(how, rows, columns, disks)
        order = np.argsort(disk, kind="stable")
        position = np.empty(len(disk), np.int64)
        position[order] = np.arange(len(disk)) - np.searchsorted(disk[order], disk[order])
        return cls(disk, position, int(position.max()) + 1, disks)

    def at(self, plane: Any, cell: Any) -> tuple[Any, Any]:
        """Return disk and position of cells; each plane begins on the next disk."""
        return (self.disk[cell] + plane) % self.disks, plane * self.height + self.position[cell]
