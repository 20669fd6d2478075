"""Computations on accelerators as the seconds that they take on a machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model.accelerator import Accelerator
from parcast.model.placement import place
from parcast.model.query import Query
from parcast.program.source.operations import OFFLOADED
from parcast.program.source.tree import is_offloaded
from parcast.program.unroll.blocks import Block, Column, Ranks, Unrolled

#: How many processes share the accelerator of each of these ranks.
_Turns = Callable[[Block], Column]


def timed_on_accelerators(unrolled: Unrolled, query: Query) -> Unrolled:
    """Return a program whose computations on accelerators elapse, as long as they take.

    So every family charges them alike. A program without any is returned as it is.

    Raises
    ------
    UnsupportedError
        If the machine has no accelerator, or none of that precision; or if a task of a pool
        computes on one, and processes share these unequally.
    """
    parts = (unrolled, *(pool.work for pool in unrolled.pools))
    offloaded = (b for part in parts for b in part.blocks if is_offloaded(b.arguments))
    first = next(offloaded, None)
    if first is None:
        return unrolled
    accelerator = query.machine.accelerator
    if accelerator is None:
        raise UnsupportedError(
            f"{unrolled.line(first.site)}: compute(on='gpu') needs an accelerator, and machine "
            f"{query.machine.name!r} states none; state [accelerator] or choose a machine with one"
        )
    turns = place(query).turns(accelerator.per_node)
    pools = tuple(
        attrs.evolve(pool, work=_timed(pool.work, accelerator, partial(_alike, turns, pool.work)))
        for pool in unrolled.pools
    )
    durations = _timed(unrolled, accelerator, lambda block: _of_ranks(turns, block.ranks))
    return attrs.evolve(durations, pools=pools)


def _timed(unrolled: Unrolled, accelerator: Accelerator, turns: _Turns) -> Unrolled:
    timed: dict[int, Block] = {}  # blocks repeat, and stay shared
    blocks = []
    for block in unrolled.blocks:
        if is_offloaded(block.arguments):
            if id(block) not in timed:
                timed[id(block)] = _elapsing(unrolled, block, accelerator, turns(block))
            block = timed[id(block)]  # noqa: PLW2901  (in its place)
        blocks.append(block)
    return attrs.evolve(unrolled, blocks=blocks)


def _elapsing(unrolled: Unrolled, block: Block, accelerator: Accelerator, turns: Column) -> Block:
    _, precision, kind = (block.arguments[name] for name in OFFLOADED)
    flops, moved = block.arguments["flops"], block.arguments["bytes"]
    try:
        seconds = turns * accelerator.seconds(flops, moved, precision=precision, kind=kind)
    except UnsupportedError as error:
        raise UnsupportedError(f"{unrolled.line(block.site)}: {error}") from None
    column = seconds if np.ndim(seconds) else float(seconds)
    return attrs.evolve(block, op="elapse", arguments={"seconds": column})


def _of_ranks(turns: Any, ranks: Ranks | None) -> Column:
    """Return one number where all have the same."""
    own = turns if ranks is None else turns[ranks]
    return int(own[0]) if (own == own[0]).all() else own


def _alike(turns: Any, work: Unrolled, block: Block) -> Column:
    """Return how many share the accelerator of whoever does a task."""
    if turns.min() != turns.max():
        raise UnsupportedError(
            f"{work.line(block.site)}: a task computes on an accelerator, which {turns.min()} to "
            f"{turns.max()} processes share here; give every node as many processes"
        )
    return int(turns[0])
