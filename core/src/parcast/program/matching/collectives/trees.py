"""Trees, stars and chains: who is whose parent, and what goes along."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.matching.collectives.groups import (
    Groups,
    Step,
    active_step,
    added,
    largest,
    powers,
    some,
)

Positions = NDArray[np.int64]

#: Collectives of a star whose messages come from its root.
_DOWN = ("bcast", "scatter", "scatterv")

#: How many children a process of Open MPI's k-nomial tree has at each of its levels, and one.
RADIX = 4


def binomial(op: str, among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield the rounds of a tree in which the parent clears the lowest set bit."""
    size, relative = among.size, (among.position - root) % among.size
    down = op in ("bcast", "scatter")
    bits = powers(largest(among))
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
        yield active_step("send", among, senders, dst=to, bytes=carried)
        yield active_step("recv", among, receivers, src=source)
        if op == "reduce":
            yield added(among, receivers, carried)


def star(op: str, among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield the messages between the root and each other process, in their order."""
    hub = among.position == root
    to_root, from_root = _hub_sides(among, hub, amount, root)
    hubs, carried = among.take(hub), some(amount, hub)
    down = op in _DOWN
    if not down:
        yield to_root
    for active, peer in others(hubs):
        if op == "scatterv" and isinstance(amount, np.ndarray):
            carried = amount[np.searchsorted(among.ranks, peer)]
        if down:
            yield active_step("send", hubs, active, dst=peer, bytes=carried)
        else:
            yield active_step("recv", hubs, active, src=peer)
        if op == "reduce":
            yield added(hubs, active, carried)
    if down:
        yield from_root


def others(hubs: Groups) -> Iterator[tuple[Any, Any]]:
    """Yield where each group's hub has another process at a position, and that process's rank."""
    for position in range(largest(hubs)):
        active = (position < hubs.size) & (position != hubs.position)
        peer = hubs.rank(np.minimum(position, hubs.size - 1))
        yield active, np.broadcast_to(peer, hubs.ranks.shape)


def _hub_sides(among: Groups, hub: NDArray[np.bool_], amount: Any, root: Any) -> tuple[Step, Step]:
    center = np.broadcast_to(among.rank(root), among.ranks.shape)
    return (
        active_step("send", among, ~hub, dst=center, bytes=amount),
        active_step("recv", among, ~hub, src=center),
    )


def asked_in_turn(among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield a gather in which the root asks each process for its block, one after another.

    As in Open MPI, a second message follows each block: it would have what is not in the first.
    """
    hub = among.position == root
    to_root, from_root = _hub_sides(among, hub, amount, root)
    yield from_root
    yield to_root
    yield Step("send", to_root.ranks, {**to_root.arguments, "bytes": 0.0})
    hubs = among.take(hub)
    seconds = []
    for active, peer in others(hubs):
        yield active_step("send", hubs, active, dst=peer, bytes=0.0)
        yield active_step("recv", hubs, active, src=peer)
        seconds.append(active_step("irecv", hubs, active, src=peer))
        yield seconds[-1]
    yield _wait_for(hubs, seconds)


def _wait_for(hubs: Groups, requests: Sequence[Step]) -> Step:
    """Return the wait of hubs that are not alone."""
    several = np.broadcast_to(hubs.size > 1, hubs.ranks.shape)
    return Step("waitall", hubs.ranks[several], {}, tuple(requests))


def star_at_once(op: str, among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield a star whose root posts all of its messages and then waits for them."""
    hub = among.position == root
    to_root, from_root = _hub_sides(among, hub, amount, root)
    hubs, carried = among.take(hub), some(amount, hub)
    posted = []
    for active, peer in others(hubs):
        if op == "scatterv" and isinstance(amount, np.ndarray):
            carried = amount[np.searchsorted(among.ranks, peer)]
        if op in _DOWN:
            posted.append(active_step("isend", hubs, active, dst=peer, bytes=carried))
        else:
            posted.append(active_step("irecv", hubs, active, src=peer))
    yield from posted
    if op not in _DOWN:
        yield to_root
    yield _wait_for(hubs, posted)
    if op == "reduce":
        yield added(hubs, hubs.size > 1, carried * (hubs.size - 1))
    if op in _DOWN:
        yield from_root


def ranks_in_turn(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield a scan in which each process hands on to the next."""
    position, size = among.position, among.size
    yield active_step("recv", among, position > 0, src=among.rank((position - 1) % size))
    yield added(among, position > 0, amount)
    after = among.rank((position + 1) % size)
    yield active_step("send", among, position < size - 1, dst=after, bytes=amount)


@attrs.frozen(eq=False)
class Tree:
    """Of each position, counted from the root: its parent and its children in their order."""

    parent: Positions  #: its own where it has none
    children: Sequence[Positions]  #: the size of the group where a process has fewer


def _chain(position: Positions, size: int) -> Tree:
    return _tree(position, [position + 1], size)


def _binary(position: Positions, size: int) -> Tree:
    """Return Open MPI's binary tree: odd positions on one side, even ones on the other."""
    width = 1 << (_bits(position + 1) - 1)  # of the level: 1, 2, 4, ...
    slots = [position + width, position + 2 * width]
    return _tree(position, slots, size)


def _bmtree(position: Positions, size: int) -> Tree:
    """Return the binomial tree in which the parent clears the highest set bit."""
    above = 1 << _bits(position)
    return _tree(position, [position + (above << k) for k in range(len(powers(size)))], size)


def _knomial(position: Positions, size: int) -> Tree:
    """Return the tree in which the parent clears the lowest digit that is not zero."""
    distances = [1]
    while distances[-1] * RADIX < size:
        distances.append(distances[-1] * RADIX)
    slots = [
        np.where(position % (distance * RADIX) == 0, position + times * distance, size)
        for distance in reversed(distances)
        for times in range(1, RADIX)
    ]
    return _tree(position, slots, size)


def _in_order_binary(position: Positions, size: int) -> Tree:
    """Return Open MPI's binary tree that keeps the order of operands, its root the last one."""
    slots = [np.full(size, size), np.full(size, size)]
    stretches = [(0, size)]
    while stretches:
        low, high = stretches.pop()
        top, right = high - 1, (high - low) // 2
        if top > low:
            slots[0][top] = top - 1
            stretches.append((low + right, top))
        if top - 1 > low:
            slots[1][top] = low + right - 1
            stretches.append((low, low + right))
    return _tree(position, slots, size)


def _bits(number: Positions) -> Positions:
    """Return how many binary digits each number has; 0 has none."""
    digits: Positions = np.frexp(number.astype(float))[1].astype(np.int64)
    return digits


def _tree(position: Positions, slots: Sequence[Positions], size: int) -> Tree:
    parent = np.zeros(size, np.int64)
    children = [np.minimum(slot, size) for slot in slots]
    for slot in children:
        parent[slot[slot < size]] = position[slot < size]
    return Tree(parent, [slot for slot in children if (slot < size).any()])


_TREES: Mapping[str, Callable[[Positions, int], Tree]] = {
    "chain": _chain,
    "binary": _binary,
    "bmtree": _bmtree,
    "knomial": _knomial,
    "in-order-binary": _in_order_binary,
}

#: Trees by name: a group of one size at a time.
TREES = tuple(_TREES)


def tree(op: str, name: str, among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield a bcast or a reduce along a tree of one of these names."""
    size = among.size
    kind = _TREES[name](np.arange(size), size)
    in_order = name == "in-order-binary"
    top, turned = (size - 1, 0) if in_order else (root, root)
    relative = (among.position - turned) % size

    def rank(position: Any) -> Any:
        return among.rank((position + turned) % size)

    below = among.position != top
    above = rank(kind.parent[relative])
    slots = [(slot[relative] < size, rank(slot[relative])) for slot in kind.children]
    if op == "bcast":
        yield active_step("recv", among, below, src=above)
        for active, child in slots:
            yield active_step("send", among, active, dst=child, bytes=amount)
        return
    for active, child in slots:
        yield active_step("recv", among, active, src=child)
        yield added(among, active, amount)
    yield active_step("send", among, below, dst=above, bytes=amount)
    if in_order:
        yield from _moved(among, amount, top, root)


def _moved(among: Groups, amount: Any, source: Any, root: Any) -> Iterator[Step]:
    """Yield the message by which a result reaches the root from where it is."""
    apart = root != source
    to, origin = (np.broadcast_to(among.rank(at), among.ranks.shape) for at in (root, source))
    yield active_step("send", among, apart & (among.position == source), dst=to, bytes=amount)
    yield active_step("recv", among, apart & (among.position == root), src=origin)


def split_binary(among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield a bcast of one half down each side of a binary tree, and their exchange."""
    size, half = among.size, amount / 2
    relative = (among.position - root) % size
    yield from tree("bcast", "binary", among, half, root)
    left = relative % 2 == 1
    peer = among.rank((relative + np.where(left, 1, -1) + root) % size)
    whole = relative == 0
    last = (relative == size - 1) & (size % 2 == 0)
    pairs = ~whole & ~last
    yield active_step("sendrecv", among, pairs, dst=peer, bytes=half, src=peer)
    if size % 2 == 0:
        to, center = among.rank((size - 1 + root) % size), among.rank(root % size)
        to, center = (np.broadcast_to(peers, among.ranks.shape) for peers in (to, center))
        yield active_step("send", among, whole, dst=to, bytes=half)
        yield active_step("recv", among, last, src=center)
