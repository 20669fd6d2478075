"""Folding: a program in which all ranks may move on by some is simulated by the first of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from parcast.program.matching.prepare import Matched
from parcast.program.source.operations import ANY
from parcast.program.unroll.blocks import Block, Ranks, Request, Unrolled

_PEERS = ("dst", "src")

#: What is served in the order of ranks.
_IN_ORDER = frozenset({"pool", "read", "write"})


def periods_of(unrolled: Unrolled) -> Iterator[int]:
    """Yield by how many ranks all can move on without a change to the program, the least first."""
    if any(block.op in _IN_ORDER for block in unrolled.blocks):
        return
    size = unrolled.size
    distinct = list({_key(block): block for block in unrolled.blocks}.values())
    for period in (number for number in range(1, size // 2 + 1) if size % number == 0):
        if all(_moves_on(block, size, period) for block in distinct):
            yield period


def folded(unrolled: Unrolled, period: int) -> Matched:
    """Return the first ranks of an expanded program, each of which stands for all a period on.

    Their messages go to, and come from, ranks of the whole program; that is how many periods away
    a partner is.
    """
    copies = unrolled.size // period
    kept: dict[Any, Block] = {}
    blocks = []
    for block in unrolled.blocks:
        requests = tuple((r.back, id(r.ranks)) for r in block.requests)
        key = _key(block), block.site, str(block.arguments.get("tag")), requests
        if key not in kept:
            kept[key] = _first_copy(block, period, copies)
        blocks.append(kept[key])
    first = attrs.evolve(unrolled, size=period, blocks=blocks, copies=copies)
    return Matched(first, {}, ())


def _key(block: Block) -> Any:
    """Return what of a block decides whether it moves on; arrays by who they are."""
    columns = (
        (name, id(value) if isinstance(value, np.ndarray) else value)
        for name, value in block.arguments.items()
        if name != "tag" or isinstance(value, np.ndarray)
    )
    waiting = (id(request.ranks) for request in block.requests)
    return block.op, id(block.ranks), tuple(columns), tuple(waiting)


def _moves_on(block: Block, size: int, period: int) -> bool:
    """Return whether each rank of a block does what the one a period before does."""
    copies = size // period
    ranks = np.arange(size) if block.ranks is None else block.ranks
    waiting = (request.ranks for request in block.requests if request.ranks is not None)
    if not all(_shifted(members, size, period) for members in (ranks, *waiting)):
        return False
    for name, value in block.arguments.items():
        peer = name in _PEERS
        if not isinstance(value, np.ndarray):
            if peer:  # all have one partner; or who is first is taken, so the order of ranks counts
                return False
        elif peer:
            if (value == ANY).any() or not _shifted(value, size, period):
                return False
        elif not (value.reshape(copies, -1) == value[: len(value) // copies]).all():
            return False
    return True


def _shifted(ranks: Any, size: int, period: int) -> bool:
    """Return whether the ranks of each copy are those of the first, moved on."""
    copies = size // period
    if not len(ranks) or len(ranks) % copies:
        return False
    first = ranks[: len(ranks) // copies]
    moved = (first + period * np.arange(copies)[:, None]) % size
    return bool((ranks.reshape(copies, -1) == moved).all())


def _first_copy(block: Block, period: int, copies: int) -> Block:
    """Return a block of the first ranks alone."""

    def first(column: Any) -> Any:
        if not isinstance(column, np.ndarray):
            return column
        return column[: len(column) // copies].copy()

    ranks: Ranks | None = first(block.ranks)
    requests = tuple(Request(request.back, first(request.ranks)) for request in block.requests)
    return attrs.evolve(
        block,
        ranks=None if ranks is None or len(ranks) == period else ranks,
        arguments={name: first(value) for name, value in block.arguments.items()},
        requests=requests,
    )
