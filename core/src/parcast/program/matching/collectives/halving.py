"""Exchanges with the process that differs in a bit: recursive doubling and halving.

Where the number of processes is no power of two, some first hand what they have to another one
that stands for both, as in Thakur, Rabenseifner & Gropp 2005, section 4.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.matching.collectives.groups import Groups, Step, active_step, added, powers
from parcast.program.matching.collectives.shifts import bruck

_OUT = -1


@attrs.frozen(eq=False)
class Fold:
    """A group of one size folded to a power of two: who stands for whom.

    Of the first pairs the ``even`` or the ``odd`` process is idle; or, ``high``, those whose
    position is no less than the power.
    """

    among: Groups
    idle: Literal["even", "odd", "high"]

    @property
    def power(self) -> int:
        """How many take part."""
        return 1 << (int(self.among.size).bit_length() - 1)

    @property
    def extra(self) -> int:
        """How many are idle."""
        return int(self.among.size) - self.power

    @property
    def virtual(self) -> NDArray[np.int64]:
        """The position of each lane among those that take part; `_OUT` where it is idle."""
        position = self.among.position
        if self.idle == "high":
            return np.where(position < self.power, position, _OUT)
        paired = np.where(position % 2 == (self.idle == "even"), position // 2, _OUT)
        return np.where(position < 2 * self.extra, paired, position - self.extra)

    def real(self, virtual: Any) -> Any:
        """Return the position of one that takes part."""
        if self.idle == "high":
            return virtual
        paired = 2 * virtual + (self.idle == "even")
        return np.where(virtual < self.extra, paired, virtual + self.extra)

    @property
    def partner(self) -> Any:
        """The position of the one that each lane of a pair is with."""
        position = self.among.position
        if self.idle == "high":
            return (position + np.where(position < self.power, self.power, -self.power)) % (
                2 * self.power
            )
        return position ^ 1

    def enter(self, amount: Any) -> Iterator[Step]:
        """Yield the messages of those that are idle to those that stand for them, and the sums."""
        yield from self._between(amount, inward=True)
        if self.extra:
            yield added(self.among, self._standing, amount)

    def leave(self, amount: Any) -> Iterator[Step]:
        """Yield the messages back."""
        yield from self._between(amount, inward=False)

    def _between(self, amount: Any, *, inward: bool) -> Iterator[Step]:
        if not self.extra:
            return
        out, standing = self.virtual == _OUT, self._standing
        peer = self.among.rank(self.partner % self.among.size)
        senders, receivers = (out, standing) if inward else (standing, out)
        yield active_step("send", self.among, senders, dst=peer, bytes=amount)
        yield active_step("recv", self.among, receivers, src=peer)

    @property
    def _standing(self) -> NDArray[np.bool_]:
        """Whether each lane stands for one that is idle."""
        virtual = self.virtual
        standing: NDArray[np.bool_] = (virtual != _OUT) & (virtual < self.extra)
        return standing

    def added(self, amount: Any) -> Step:
        """Return the sum of what those that take part received."""
        return added(self.among, self.virtual != _OUT, amount)

    def exchange(self, distance: int, amount: Any) -> Step:
        """Return the round in which those that take part meet at a distance of one bit."""
        virtual = self.virtual
        peer = self.among.rank(self.real(np.maximum(virtual, 0) ^ distance))
        active = virtual != _OUT
        return active_step("sendrecv", self.among, active, dst=peer, bytes=amount, src=peer)


def recursive_doubling(op: str, among: Groups, amount: Any) -> Iterator[Step]:
    """Yield an allreduce, barrier, scan, allgather or allgatherv by recursive doubling."""
    if op == "scan":
        yield from _scan(among, amount)
    elif op in ("allgather", "allgatherv"):
        yield from _gathered(among, amount)
    else:
        fold = Fold(among, "high" if op == "barrier" else "even")
        yield from fold.enter(amount)
        for distance in powers(fold.power):
            yield fold.exchange(distance, amount)
            yield fold.added(amount)
        yield from fold.leave(amount)


def _scan(among: Groups, amount: Any) -> Iterator[Step]:
    for distance in powers(among.size):
        peer = among.position ^ distance
        active = peer < among.size
        rank = among.rank(np.minimum(peer, among.size - 1))
        yield active_step("sendrecv", among, active, dst=rank, bytes=amount, src=rank)
        yield added(among, active, amount)


def _gathered(among: Groups, amount: Any) -> Iterator[Step]:
    if among.size & (among.size - 1):  # as Open MPI does
        yield from bruck(among, amount)
        return
    carried = amount  # the blocks of all that a process has met
    for distance in powers(among.size):
        peer = among.position ^ distance
        rank = among.rank(peer)
        yield active_step("sendrecv", among, True, dst=rank, bytes=carried, src=rank)
        carried = carried + among.of(peer, carried)


def allgather_from_root(among: Groups, block: Any, root: Any) -> Iterator[Step]:
    """Yield an allgather by recursive doubling over positions counted from a root."""
    relative = (among.position - root) % among.size
    for distance in powers(among.size):
        rank = among.rank(((relative ^ distance) + root) % among.size)
        carried = block * distance
        yield active_step("sendrecv", among, True, dst=rank, bytes=carried, src=rank)


def rabenseifner(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield an allreduce: a reduce-scatter by halving, then an allgather by doubling."""
    fold = Fold(among, "even")
    yield from fold.enter(amount)
    halved = [fold.exchange(bit, amount / (2 * bit)) for bit in powers(fold.power)]
    for bit, step in zip(powers(fold.power), halved, strict=True):
        yield step
        yield fold.added(amount / (2 * bit))
    yield from reversed(halved)
    yield from fold.leave(amount)


def rabenseifner_reduce(among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield a reduce: a reduce-scatter by halving, then a gather to the root."""
    fold = Fold(among, "odd")
    power, extra = fold.power, fold.extra
    yield from fold.enter(amount)
    for bit in powers(power):
        yield fold.exchange(bit, amount / (2 * bit))
        yield fold.added(amount / (2 * bit))
    idle = (root < 2 * extra) & (root % 2 == 1)  # the root: it takes the place of position 0
    yield from _place_taken(among, amount / power, root, idle)
    virtual = np.where(idle & (among.position == root), 0, fold.virtual)
    virtual = np.where(idle & (among.position == 0), _OUT, virtual)
    of_root = np.where(idle, 0, np.where(root < 2 * extra, root // 2, root - extra))
    for bit in reversed(powers(power)):
        active = (virtual != _OUT) & (virtual // (2 * bit) == of_root // (2 * bit))
        peer = np.maximum(virtual, 0) ^ bit
        rank = among.rank(np.where(idle & (peer == 0), root, fold.real(peer)))
        senders = active & (virtual // bit != of_root // bit)
        carried = amount / (2 * bit)
        yield active_step("send", among, senders, dst=rank, bytes=carried)
        yield active_step("recv", among, active & ~senders, src=rank)


def _place_taken(among: Groups, block: Any, root: Any, idle: Any) -> Iterator[Step]:
    """Yield the message by which an idle root gets the block of position 0."""
    to, first = (np.broadcast_to(among.rank(at), among.ranks.shape) for at in (root, 0))
    yield active_step("send", among, idle & (among.position == 0), dst=to, bytes=block)
    yield active_step("recv", among, idle & (among.position == root), src=first)


def recursive_halving(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield a reduce_scatter by recursive halving, the farthest first."""
    fold = Fold(among, "even")
    yield from fold.enter(amount * among.size)
    for bit in reversed(powers(fold.power)):
        virtual = np.maximum(fold.virtual, 0)
        low, kept = (virtual ^ bit) // bit * bit, virtual // bit * bit
        yield fold.exchange(bit, amount * _between(fold, low, low + bit))
        yield fold.added(amount * _between(fold, kept, kept + bit))
    yield from fold.leave(amount)


def _between(fold: Fold, low: Any, high: Any) -> Any:
    """Return how many blocks are of those from one to another: two of each that stands for two."""
    return high + np.minimum(high, fold.extra) - low - np.minimum(low, fold.extra)


def butterfly(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield a reduce_scatter by halving, the nearest first, and a mirror permutation.

    Träff 2005, An improved algorithm for (non-commutative) reduce-scatter.
    """
    fold = Fold(among, "even")
    power, extra, virtual = fold.power, fold.extra, np.maximum(fold.virtual, 0)
    yield from fold.enter(amount * among.size)
    first, blocks = np.zeros_like(virtual), power
    for bit in powers(power):
        blocks //= 2
        upper = (virtual & bit) > 0
        low = first + np.where(upper, 0, blocks)
        first = first + np.where(upper, blocks, 0)
        yield fold.exchange(bit, amount * _between(fold, low, low + blocks))
        yield fold.added(amount * _between(fold, first, first + blocks))
    yield from _mirrored(fold, amount, virtual, extra)


def _mirrored(fold: Fold, amount: Any, virtual: Any, extra: int) -> Iterator[Step]:
    """Yield the messages of each result to the process that it is of."""
    among, taking = fold.among, fold.virtual != _OUT
    mirror = _mirror(virtual, fold.power)
    rank = among.rank(fold.real(mirror))
    idle = among.rank(np.maximum(fold.real(mirror) - 1, 0))
    yield active_step("send", among, taking & (mirror < extra), dst=idle, bytes=amount)
    moved = taking & (mirror != virtual)
    yield active_step("sendrecv", among, moved, dst=rank, bytes=amount, src=rank)
    holder = _mirror(np.minimum(among.position // 2, fold.power - 1), fold.power)
    source = among.rank(fold.real(holder))
    yield active_step("recv", among, ~taking, src=source)


def _mirror(virtual: Any, power: int) -> Any:
    """Return positions with their bits in the opposite order."""
    bits, mirrored = powers(power), np.zeros_like(virtual)
    for low, high in zip(bits, reversed(bits), strict=True):
        mirrored = mirrored | np.where(virtual & low, high, 0)
    return mirrored
