"""Rounds in which each process sends as far as any other, such as dissemination and a ring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parcast.model.messages import SIGNAL
from parcast.program.matching.collectives.groups import (
    Groups,
    Step,
    active_step,
    added,
    largest,
    powers,
)

#: Collectives in which what a round of `rounds` brings is added up.
_ADDING = ("allreduce", "scan", "reduce_scatter")


def exchange(among: Groups, active: Any, shift: int, amount: Any) -> Step:
    """Return the round in which each process sends ``shift`` processes further."""
    to = among.rank((among.position + shift) % among.size)
    source = among.rank((among.position - shift) % among.size)
    return active_step("sendrecv", among, active, dst=to, bytes=amount, src=source)


def rounds(op: str, algorithm: str, among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds of ``dissemination``, ``pairwise`` and ``bruck``."""
    size, limit = among.size, largest(among)
    for shift in range(1, limit) if algorithm == "pairwise" else powers(limit):
        carried = amount
        if op in ("allgather", "allgatherv"):
            carried = amount * np.minimum(shift, size - shift)
        elif algorithm == "bruck":
            carried = amount * size / 2
        yield exchange(among, shift < size, shift, carried)
        if op in _ADDING:
            yield added(among, shift < size, carried)


def ring(op: str, among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds to the right; those of a sum come first."""
    if op == "allreduce":
        share = amount / among.size
        yield from _turns("reduce_scatter", among, share)
        yield from _turns("allgather", among, share)
    else:
        yield from _turns(op, among, amount)


def _turns(op: str, among: Groups, share: Any) -> Iterator[Step]:
    times, completed = among.size - 1, 0
    for last in np.unique(times).tolist():
        turn = [exchange(among, times >= last, 1, share)]
        if op in _ADDING:
            turn.append(added(among, times >= last, share))
        yield from turn * (last - completed)
        completed = last


def in_network(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield what stands for a collective that switches do, in groups that are in order.

    When all have come, each sends to the one after it, so that the cables below a switch carry the
    bytes once up and once down; when all have arrived, all go on.
    """
    join = list(rounds("barrier", "dissemination", among, SIGNAL))
    yield from join
    yield exchange(among, among.size > 1, 1, amount)
    yield from join


def gather_ring(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds in which each process hands on the block that came last."""
    for turn in range(largest(among) - 1):
        handed = among.of((among.position - turn) % among.size, amount)
        yield exchange(among, turn + 1 < among.size, 1, handed)


def gather_rounds(among: Groups, amount: Any, toward: int = 1) -> Iterator[Step]:
    """Yield the rounds of a dissemination of blocks of unlike sizes.

    Before the round of ``shift`` a process has that many blocks, those up to its own, or from its
    own on where it sends ``toward`` -1. In the last one fewer are missing: a sum by the powers of
    two in their number, as no sum of amounts that only add up loses what a difference would.
    """
    sums: list[Any] = []  # of each process, the blocks up to its own: 1, 2, 4, ...
    for shift in powers(largest(among)):
        sums.append(amount if not sums else sums[-1] + among.of(
            (among.position - toward * (shift // 2)) % among.size, sums[-1]))  # fmt: skip
        count, before = np.minimum(shift, among.size - shift), 0
        carried = np.zeros(len(among.ranks))
        for power, some_of in enumerate(sums):
            bit = (count >> power) & 1
            carried += bit * among.of((among.position - toward * before) % among.size, some_of)
            before = before + (bit << power)
        yield exchange(among, shift < among.size, toward * shift, carried)


def bruck(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds of an allgather by Bruck: blocks from the own one on go to the left."""
    if isinstance(amount, np.ndarray):
        yield from gather_rounds(among, amount, -1)
        return
    for shift in powers(largest(among)):
        carried = amount * np.minimum(shift, among.size - shift)
        yield exchange(among, shift < among.size, -shift, carried)


def modified_bruck(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds of an alltoall by Bruck, each of the blocks that have its bit to go."""
    for shift in powers(among.size):
        blocks = sum(1 for block in range(among.size) if block & shift)
        yield exchange(among, True, shift, amount * blocks)


def pairwise_exchange(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds by exclusive or where the size is a power of two, else by shifts."""
    if among.size & (among.size - 1):
        yield from rounds("alltoall", "pairwise", among, amount)
        return
    for distance in range(1, among.size):
        peer = among.rank(among.position ^ distance)
        yield active_step("sendrecv", among, True, dst=peer, bytes=amount, src=peer)


def neighbor(among: Groups, amount: Any) -> Iterator[Step]:
    """Yield the rounds of an allgather between neighbors, two blocks at a time.

    With an odd number of processes it is a ring, as in Open MPI.
    """
    position, size = among.position, among.size
    if size % 2:
        yield from gather_ring(among, amount)
        return
    even = position % 2 == 0
    peers = [among.rank((position + np.where(even, way, -way)) % size) for way in (1, -1)]
    yield active_step("sendrecv", among, True, dst=peers[0], bytes=amount, src=peers[0])
    pair = position - position % 2
    carried, received = pair, [pair, pair]
    for turn in range(1, size // 2):
        way = turn % 2
        received[way] = (received[way] + np.where(even, 2, -2) * (1 - 2 * way)) % size
        blocks = among.of(carried, amount) + among.of(carried + 1, amount)
        peer = peers[way]
        yield active_step("sendrecv", among, True, dst=peer, bytes=blocks, src=peer)
        carried = received[way]
