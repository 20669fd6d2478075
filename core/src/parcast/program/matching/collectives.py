"""Collectives: which messages between two processes each algorithm consists of.

It is the cost of a collective, not what becomes of its data. The algorithms are those of
MPICH (Thakur, Rabenseifner & Gropp 2005, Optimization of collective communication operations).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import FileError, did_you_mean, shorten
from parcast.program.unroll.blocks import Ranks

_ROOTED = ("binomial", "linear")

#: The algorithms of every collective; the first is used unless another is named.
ALGORITHMS: Mapping[str, tuple[str, ...]] = {
    "barrier": ("dissemination",),
    "bcast": _ROOTED,
    "reduce": _ROOTED,
    "gather": _ROOTED,
    "scatter": _ROOTED,
    "allreduce": ("dissemination", "ring", "tree"),
    "allgather": ("dissemination", "ring"),
    "alltoall": ("bruck", "pairwise"),
    "reduce_scatter": ("bruck", "pairwise"),
    "scan": ("dissemination", "linear"),
    "gatherv": ("linear",),
    "scatterv": ("linear",),
    "allgatherv": ("dissemination", "ring"),
    "alltoallv": ("pairwise",),
}


def algorithms(text: str | None = None) -> Mapping[str, str]:
    """Return the algorithm of every collective, as ``allreduce ring, alltoall pairwise`` says.

    Raises
    ------
    FileError
        If a collective or its algorithm is not known.
    """
    chosen = {op: names[0] for op, names in ALGORITHMS.items()}
    for part in filter(None, map(str.strip, (text or "").split(","))):
        op, _, name = part.partition(" ")
        name = name.strip()
        if op not in ALGORITHMS:
            hint = did_you_mean(op, ALGORITHMS) or f" Known: {', '.join(ALGORITHMS)}."
            raise FileError(f"network.collectives: there is no collective {shorten(op)!r}.{hint}")
        if name not in ALGORITHMS[op]:
            options = f" Known: {', '.join(ALGORITHMS[op])}."
            hint = did_you_mean(name, ALGORITHMS[op]) or options
            raise FileError(f"network.collectives: {op} has no algorithm {shorten(name)!r}.{hint}")
        chosen[op] = name
    return chosen


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

    def take(self, lanes: NDArray[np.bool_]) -> Groups:
        """Return some of the lanes, in the same groups."""
        return Groups(
            self.ranks[lanes],
            self.position[lanes],
            some(self.size, lanes),
            self.members,
            some(self.first, lanes),
        )


@attrs.frozen(eq=False)
class Step:
    """One operation on some processes: ``send``, ``recv`` or ``sendrecv``, its tag left out."""

    op: str
    ranks: Ranks
    arguments: Mapping[str, Any]

    def take(self, lanes: NDArray[Any]) -> Step:
        """Return the step of some of its processes, as a mask or their places."""
        columns = {name: some(column, lanes) for name, column in self.arguments.items()}
        return Step(self.op, self.ranks[lanes], columns)


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


def steps(op: str, algorithm: str, among: Groups, bytes_: Any, root: Any) -> list[Step]:
    """Return the messages of a collective, each process's in its order.

    Bytes and root are numbers, or a column over the lanes; groups of one send nothing. In a
    ``scatterv`` the bytes are those that a process gets.
    """
    amount = bytes_ * 1.0  # products of integers would wrap
    if op == "allgatherv" and isinstance(amount, np.ndarray):
        gather = _gather_ring if algorithm == "ring" else _gather_rounds
        return [step for step in gather(among, amount) if len(step.ranks)]
    if algorithm == "tree":
        messages = [*_binomial("reduce", among, amount, 0), *_binomial("bcast", among, amount, 0)]
    elif algorithm == "binomial":
        messages = list(_binomial(op, among, amount, root))
    elif algorithm == "linear":
        messages = list(_chain(among, amount) if op == "scan" else _star(op, among, amount, root))
    elif algorithm == "ring":
        messages = list(_ring(op, among, amount))
    else:
        rounds = _rounds(op, algorithm, among.size, amount)
        messages = [_exchange(among, *turn) for turn in rounds]
    return [step for step in messages if len(step.ranks)]


def _step(op: str, among: Groups, active: Any, **columns: Any) -> Step:
    step = Step(op, among.ranks, columns)
    return step if np.all(active) else step.take(np.broadcast_to(active, among.ranks.shape))


def _exchange(among: Groups, active: Any, shift: int, amount: Any) -> Step:
    """Return the round in which each process sends ``shift`` processes further."""
    to = among.rank((among.position + shift) % among.size)
    source = among.rank((among.position - shift) % among.size)
    return _step("sendrecv", among, active, dst=to, bytes=amount, src=source)


def _rounds(op: str, algorithm: str, size: Any, amount: Any) -> Iterator[tuple[Any, int, Any]]:
    """Yield of each round: who takes part, how far it sends, and how much."""
    largest = int(np.max(size, initial=0))
    shifts = range(1, largest) if algorithm == "pairwise" else _powers(largest)
    for shift in shifts:
        if op in ("allgather", "allgatherv"):
            yield shift < size, shift, amount * np.minimum(shift, size - shift)
        else:
            yield shift < size, shift, amount * size / 2 if algorithm == "bruck" else amount


def _powers(limit: int) -> list[int]:
    """Return the powers of two below ``most``."""
    return [1 << k for k in range(max(limit - 1, 0).bit_length())]


def _ring(op: str, among: Groups, amount: Any) -> Iterator[Step]:
    times, share = among.size - 1, amount
    if op == "allreduce":
        times, share = 2 * times, amount / among.size
    completed = 0
    for last in np.unique(times).tolist():
        yield from [_exchange(among, times >= last, 1, share)] * (last - completed)
        completed = last


def _gather_ring(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds in which each process hands on the block that came last."""
    for turn in range(int(np.max(among.size, initial=0)) - 1):
        handed = among.of((among.position - turn) % among.size, amount)
        yield _exchange(among, turn + 1 < among.size, 1, handed)


def _gather_rounds(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds of a dissemination of blocks of unlike sizes.

    Before the round of ``shift`` a process has that many blocks, those up to its own. In the last
    one fewer are missing: a sum by the powers of two in their number, as no sum of amounts that
    only add up loses what a difference would.
    """
    sums: list[Any] = []  # of each process, the blocks up to its own: 1, 2, 4, ...
    for shift in _powers(int(np.max(among.size, initial=0))):
        sums.append(amount if not sums else sums[-1] + among.of(
            (among.position - shift // 2) % among.size, sums[-1]))  # fmt: skip
        count, before = np.minimum(shift, among.size - shift), 0
        carried = np.zeros(len(among.ranks))
        for power, some_of in enumerate(sums):
            bit = (count >> power) & 1
            carried += bit * among.of((among.position - before) % among.size, some_of)
            before = before + (bit << power)
        yield _exchange(among, shift < among.size, shift, carried)


def _binomial(op: str, among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield the rounds of a tree in which the parent clears the lowest set bit."""
    size, relative = among.size, (among.position - root) % among.size
    down = op in ("bcast", "scatter")
    bits = _powers(int(np.max(size, initial=0)))
    for bit in reversed(bits) if down else bits:
        children = relative % (2 * bit) == bit
        parents = (relative % (2 * bit) == 0) & (relative + bit < size)
        above = among.rank((relative - bit + root) % size)
        below = among.rank((relative + bit + root) % size)
        carried = amount
        if op in ("gather", "scatter"):  # the blocks of the child's subtree
            carried = amount * np.minimum(bit, size - relative - bit * down)
        senders, to, receivers, source = (
            (parents, below, children, above) if down else (children, above, parents, below)
        )
        yield _step("send", among, senders, dst=to, bytes=carried)
        yield _step("recv", among, receivers, src=source)


def _star(op: str, among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield the messages between the root and each other process, in their order."""
    hub = among.position == root
    to_root, from_root = _hub_sides(among, hub, amount, root)
    hubs, carried = among.take(hub), some(amount, hub)
    down = op in ("bcast", "scatter", "scatterv")
    if not down:
        yield to_root
    for position in range(int(np.max(among.size, initial=0))):
        active = (position < hubs.size) & (position != hubs.position)
        peer = hubs.rank(np.minimum(position, hubs.size - 1))
        peer = np.broadcast_to(peer, hubs.ranks.shape)
        if op == "scatterv" and isinstance(amount, np.ndarray):
            carried = amount[np.searchsorted(among.ranks, peer)]
        if down:
            yield _step("send", hubs, active, dst=peer, bytes=carried)
        else:
            yield _step("recv", hubs, active, src=peer)
    if down:
        yield from_root


def _hub_sides(among: Groups, hub: NDArray[np.bool_], amount: Any, root: Any) -> tuple[Step, Step]:
    center = np.broadcast_to(among.rank(root), among.ranks.shape)
    return (
        _step("send", among, ~hub, dst=center, bytes=amount),
        _step("recv", among, ~hub, src=center),
    )


def _chain(among: Groups, amount: Any) -> Iterator[Step]:
    position, size = among.position, among.size
    yield _step("recv", among, position > 0, src=among.rank((position - 1) % size))
    after = among.rank((position + 1) % size)
    yield _step("send", among, position < size - 1, dst=after, bytes=amount)
