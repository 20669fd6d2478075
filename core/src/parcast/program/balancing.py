"""A program whose processes all compute equally long, to see what imbalance takes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model.costs import Costs
from parcast.model.query import Query
from parcast.program.unroll.blocks import Block, Unrolled
from parcast.program.workload import Program

#: Processes whose work differs by less, relatively, are balanced.
_SAME = 1e-9

_SCALED = {"compute": ("flops", "bytes"), "elapse": ("seconds",)}


def balanced(query: Query) -> Query | None:
    """Return the question about the program with its work dealt out evenly.

    All that a process computes, or elapses, is scaled so that it takes the mean of the seconds that
    those take who compute; everything else is as it was. None where all take that now, where
    tasks go to whoever is free, on accelerators, and for several jobs.

    Parameters
    ----------
    query
        Of a ``program``.
    """
    content = query.workload.content
    if not isinstance(content, Program) or content.jobs or content.offloads:
        return None
    unrolled = content.at(query)
    if unrolled.pools:
        return None
    seconds = _computing(unrolled, Costs.of(query, unrolled.needs() - {"messages", "io"}))
    computing = seconds > 0
    if not computing.any() or seconds.max() <= seconds[computing].min() * (1 + _SAME):
        return None
    factors = np.ones(query.p)
    factors[computing] = seconds[computing].mean() / seconds[computing]
    scaled = {id(block): _scaled(block, factors) for block in unrolled.blocks}
    evened = attrs.evolve(unrolled, blocks=[scaled[id(block)] for block in unrolled.blocks])
    workload = attrs.evolve(query.workload, content=Program(None, recorded=evened))
    return attrs.evolve(query, workload=workload)


def _computing(unrolled: Unrolled, costs: Costs) -> NDArray[np.float64]:
    """Return the seconds that each process computes."""
    seconds = np.zeros(unrolled.size)
    for block in unrolled.blocks:
        at = unrolled.ranks_of(block)
        if block.op == "compute":
            seconds[at] += costs.compute(at, block.arguments["flops"], block.arguments["bytes"])
        elif block.op == "elapse":
            seconds[at] += costs.elapse(at, block.arguments["seconds"])
    return seconds


def _scaled(block: Block, factors: Any) -> Block:
    if block.op not in _SCALED:
        return block
    own = factors if block.ranks is None else factors[block.ranks]
    changed = {name: block.arguments[name] * own for name in _SCALED[block.op]}
    return attrs.evolve(block, arguments={**block.arguments, **changed})
