"""Collectives made of other ones: one after another, or within levels and between their leaders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.matching.collectives.groups import Groups, Step, some
from parcast.program.matching.collectives.halving import allgather_from_root
from parcast.program.matching.collectives.shifts import exchange
from parcast.program.matching.collectives.trees import binomial
from parcast.program.unroll.blocks import Ranks

#: The messages of a collective of groups, of bytes, to or from a root, by the machine's algorithm.
Messages = Callable[[str, Groups, Any, Any], Iterator[Step]]


#: Collectives that are one to position 0 and one from there, each by its own algorithm.
IN_TURN = ("reduce-bcast", "reduce-scatterv", "gather-bcast")


def scatter_allgather(among: Groups, amount: Any, root: Any, *, doubling: bool) -> Iterator[Step]:
    """Yield a bcast as a binomial scatter, and an allgather by doubling or by a ring."""
    block = amount / among.size
    yield from binomial("scatter", among, block, root)
    if doubling and among.size & (among.size - 1) == 0:
        yield from allgather_from_root(among, block, root)
    else:
        yield from [exchange(among, True, 1, block)] * (among.size - 1)


def in_turn(name: str, among: Groups, amount: Any, messages: Messages) -> Iterator[Step]:
    """Yield a collective as one to position 0 and one from there."""
    total = amount
    if name == "gather-bcast":
        yield from messages("gatherv", among, amount, 0)
        total = of_all(among, amount)
        yield from messages("bcast", among, total, 0)
    elif name == "reduce-scatterv":
        yield from messages("reduce", among, amount * among.size, 0)
        yield from messages("scatterv", among, amount, 0)
    else:
        yield from messages("reduce", among, amount, 0)
        yield from messages("bcast", among, total, 0)


def of_all(among: Groups, amount: Any) -> Any:
    """Return the sum of what the processes of each lane's group have."""
    if not isinstance(amount, np.ndarray):
        return amount * among.size
    first = np.broadcast_to(among.first, among.ranks.shape)
    _, group = np.unique(first, return_inverse=True)
    return np.bincount(group, amount)[group]


@attrs.frozen(eq=False)
class Hierarchy:
    """Groups with a level that its processes are in: the inner ones, and their leaders."""

    among: Groups
    within: Groups
    leaders: Groups
    leading: NDArray[np.bool_]
    root_within: Any  #: the leader's position in each inner group
    root_between: Any  #: that of the root, or of the leader that stands for it, among leaders

    @classmethod
    def of(cls, among: Groups, instance: Ranks, root: Any) -> Hierarchy:
        """Return the hierarchy by the instance of each rank; the root leads where it is."""
        everyone = np.ones(len(among.ranks), np.bool_)
        instances = instance[among.ranks]
        within = among.regroup(everyone, instances)
        at_root = instances == instance[among.rank(root)]
        is_root = among.position == root
        leading = np.where(at_root, is_root, within.position == 0)
        leaders = among.regroup(leading, 0)
        ranks = np.broadcast_to(among.rank(root), among.ranks.shape)
        inner = within.position[np.searchsorted(among.ranks, ranks)]
        outer = leaders.position[np.searchsorted(leaders.ranks, ranks[leading])]
        return cls(among, within, leaders, leading, np.where(at_root, inner, 0), outer)


def hierarchical(
    op: str,
    among: Groups,
    amount: Any,
    root: Any,
    levels: Sequence[Ranks],
    messages: Messages,
    between: Messages,
) -> Iterator[Step]:
    """Yield a collective within the instances of levels, and between their leaders.

    Parameters
    ----------
    op, among, amount, root
        The collective.
    levels
        Of each rank the instance of each level, the nearest first.
    messages
        Of a collective within an instance of the nearest level.
    between
        Of a collective between leaders.
    """
    if not levels:
        yield from between(op, among, amount, root)
        return
    parts = Hierarchy.of(among, levels[-1], root)
    inner, nearer = parts.within, levels[:-1]

    def within(name: str, bytes_: Any) -> Iterator[Step]:
        where = parts.root_within
        yield from hierarchical(name, inner, bytes_, where, nearer, messages, messages)

    held = _held(op, parts, amount)
    if op in ("allreduce", "reduce", "barrier"):
        yield from within("reduce", amount)
    elif op in ("allgather", "gather", "gatherv"):
        yield from within("gather" if not isinstance(amount, np.ndarray) else "gatherv", amount)
    name = f"{op}v" if op in ("allgather", "gather", "scatter") else op
    yield from between(name, parts.leaders, some(held, parts.leading), parts.root_between)
    if op in ("allreduce", "bcast", "barrier"):
        yield from within("bcast", amount)
    elif op == "allgather":
        yield from within("bcast", of_all(among, amount))
    elif op in ("scatter", "scatterv"):
        yield from within("scatter" if not isinstance(amount, np.ndarray) else "scatterv", amount)


def _held(op: str, parts: Hierarchy, amount: Any) -> Any:
    """Return the bytes that each leader stands for."""
    if op in ("allgather", "gather", "gatherv", "scatter", "scatterv"):
        return np.broadcast_to(of_all(parts.within, amount), parts.among.ranks.shape)
    return amount
