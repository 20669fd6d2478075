"""Files on the disks of each process's own node, for programs on machines that have such disks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parcast_emulator.processes.disks import Disks


class NodeFiles:
    """A node's accesses go to its disks in turn, and lie there one after another."""

    def __init__(self, disks: Disks, node: list[int]) -> None:
        self._disks, self._node = disks, node
        self._first = disks.cluster.disks.tolist()
        self._accesses = [0] * (len(self._first) - 1)
        self._ends = [0.0] * self._first[-1]

    def access(self, rank: int, size: float, finish: Callable[[], Any]) -> None:
        """Access a file; ``finish`` is called when the data have passed the bus."""
        node = self._node[rank]
        first, after = self._first[node], self._first[node + 1]
        disk = first + self._accesses[node] % (after - first)
        self._accesses[node] += 1
        offset, self._ends[disk] = self._ends[disk], self._ends[disk] + size
        self._disks.access(disk, offset, size, lambda _begin, _end: finish())
