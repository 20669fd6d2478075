"""Groups of processes, and the steps that a collective among them consists of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model.messages import SIGNAL
from parcast.program.unroll.blocks import Ranks


@attrs.frozen(eq=False)
class Groups:
    """Processes in groups, a lane for each process; numbers where there is one group."""

    ranks: Ranks  #: rising
    position: Ranks  #: of each process in its group
    size: Any  #: of its group
    members: Ranks  #: the ranks of all groups, one group after the other
    first: Any  #: where its group starts there

    def rank(self, position: Any) -> Any:
        """Return the rank that has this position in each lane's group."""
        return self.members[self.first + position]

    def of(self, position: Any, column: Any) -> Any:
        """Return what a column has for the process at this position of each lane's group."""
        if not isinstance(column, np.ndarray):
            return column
        return column[np.searchsorted(self.ranks, self.rank(position))]

    def by_place(self, levels: Sequence[Ranks]) -> Groups:
        """Return the same groups, in each of which processes that are near follow each other.

        ``levels`` are of each rank the instance of each level, the nearest first.
        """
        first = np.broadcast_to(self.first, self.ranks.shape)
        order = np.lexsort((self.ranks, *(instance[self.ranks] for instance in levels), first))
        starts = first[order]
        position, members = np.empty(len(order), np.int64), self.members.copy()
        position[order] = np.arange(len(order)) - np.searchsorted(starts, starts)
        members[first + position] = self.ranks
        return attrs.evolve(self, position=position, members=members)

    def take(self, lanes: NDArray[np.bool_]) -> Groups:
        """Return some of the lanes, in the same groups."""
        return Groups(
            self.ranks[lanes],
            self.position[lanes],
            some(self.size, lanes),
            self.members,
            some(self.first, lanes),
        )

    def regroup(self, lanes: NDArray[np.bool_], color: Any) -> Groups:
        """Return some of the lanes in groups of their own: those of one group and one color."""
        group = np.broadcast_to(self.first, self.ranks.shape)
        columns = np.stack([group, np.broadcast_to(color, self.ranks.shape)])[:, lanes]
        _, apart = np.unique(columns, axis=1, return_inverse=True)
        return groups(self.ranks[lanes], apart.reshape(-1))


#: What a process does with bytes in its own memory: it adds up two buffers, copies one, copies the
#: block that it has for itself, or sends that to itself.
HANDLING = ("add", "copy", "own", "to_itself")


@attrs.frozen(eq=False)
class Step:
    """One operation on some processes, its tag left out.

    It is a ``send``, ``recv``, ``sendrecv``, ``isend`` or ``irecv``, or a ``waitall`` that waits
    for the requests of earlier steps; or one of `HANDLING`, which elapses where it is priced.
    """

    op: str
    ranks: Ranks
    arguments: Mapping[str, Any]
    waits: tuple[Step, ...] = ()

    def take(self, lanes: NDArray[Any]) -> Step:
        """Return the step of some of its processes, as a mask or their places."""
        columns = {name: some(column, lanes) for name, column in self.arguments.items()}
        return Step(self.op, self.ranks[lanes], columns, self.waits)

    @property
    def is_signal(self) -> bool:
        """Whether it sends a message that costs nothing."""
        return is_signal(self.arguments)


def is_signal(arguments: Mapping[str, Any]) -> bool:
    """Return whether an operation on some processes sends a message that costs nothing."""
    return bool(np.all(arguments.get("bytes", 0) == SIGNAL))


def some(column: Any, lanes: Any) -> Any:
    """Return a column of some lanes only."""
    return column[lanes] if isinstance(column, np.ndarray) else column


def groups(ranks: Ranks, color: Any) -> Groups:
    """Return the groups of equal color; processes keep the order of their ranks."""
    if not isinstance(color, np.ndarray):
        return Groups(ranks, np.arange(len(ranks)), len(ranks), ranks, 0)
    _, group, sizes = np.unique(color, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    first = (np.cumsum(sizes) - sizes)[group]
    position = np.empty(len(ranks), np.int64)
    position[order] = np.arange(len(ranks)) - first[order]
    return Groups(ranks, position, sizes[group], ranks[order], first)


def parts(among: Groups, *keys: Any) -> Iterator[tuple[NDArray[np.bool_] | None, list[Any]]]:
    """Yield the lanes on which all keys are alike, None for all of them, and these keys."""
    if not any(isinstance(key, np.ndarray) for key in keys):
        yield None, list(keys)
        return
    table = np.stack([np.broadcast_to(key, among.ranks.shape) for key in keys]).astype(float)
    distinct, part = np.unique(table, axis=1, return_inverse=True)
    for index, values in enumerate(distinct.T.tolist()):
        yield (None if len(distinct.T) == 1 else part.reshape(-1) == index), values


def active_step(op: str, among: Groups, active: Any, **columns: Any) -> Step:
    """Return an operation of the lanes that are active; its columns are over all lanes."""
    step = Step(op, among.ranks, columns)
    return step if np.all(active) else step.take(np.broadcast_to(active, among.ranks.shape))


def added(among: Groups, active: Any, amount: Any) -> Step:
    """Return what follows a receive of bytes that are added to a process's own."""
    return active_step("add", among, active, bytes=amount)


def powers(limit: int) -> list[int]:
    """Return the powers of two below ``limit``."""
    return [1 << k for k in range(max(limit - 1, 0).bit_length())]


def largest(among: Groups) -> int:
    """Return the size of the largest group."""
    return int(np.max(among.size, initial=0))
