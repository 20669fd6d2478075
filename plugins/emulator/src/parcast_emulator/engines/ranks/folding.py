"""Large programs whose processes are alike, on networks that are: some ranks for all."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import numpy as np

from parcast.model import Answers, Costs
from parcast.program.matching import Matched, folded, periods_of
from parcast.program.source import SENDS
from parcast.program.unroll import Block, Unrolled
from parcast_network.folding import FoldedWiring, fold_wiring

#: A pair of ranks that is looked at costs about as much as so many operations.
_PAIR = 8


#: The latest programs, of which a machine's numbers change nothing.
_PARTS = Answers(2)


@attrs.frozen(eq=False)
class Folding:
    """The first ranks of a program, and the links as these pass them."""

    matched: Matched
    wiring: FoldedWiring


def folding_of(unrolled: Unrolled, costs: Costs) -> Folding | None:
    """Return the least ranks that stand for all, with shared links; None where there are none."""
    sends, computes = _distinct(unrolled, SENDS), _distinct(unrolled, {"compute"})
    pairs = unrolled.size * len(sends)
    if not sends or costs.contention != "fair" or _PAIR * pairs > unrolled.count():
        return None
    for period in periods_of(unrolled):
        copies = unrolled.size // period
        blocks = (*computes, *sends)
        if not all(_cost_the_same(block, unrolled, costs, copies) for block in blocks):
            continue
        columns = [
            (unrolled.ranks_of(block).reshape(copies, -1), block.arguments["dst"])
            for block in sends
        ]
        sources = np.concatenate([ranks for ranks, _ in columns], axis=1)
        targets = np.concatenate([dst.reshape(copies, -1) for _, dst in columns], axis=1)
        if wiring := fold_wiring(costs.wiring(), sources, targets):
            part = _PARTS.once((unrolled, period), partial(folded, unrolled, period))
            return Folding(part, wiring)
    return None


def _distinct(unrolled: Unrolled, ops: Any) -> list[Block]:
    """Return one block of all that do the same on the same ranks, whatever its tag."""
    blocks: dict[Any, Block] = {}
    for block in unrolled.blocks:
        if block.op in ops:
            columns = (
                (name, id(value) if isinstance(value, np.ndarray) else value)
                for name, value in block.arguments.items()
                if name != "tag"
            )
            blocks.setdefault((id(block.ranks), *columns), block)
    return list(blocks.values())


def _cost_the_same(block: Block, unrolled: Unrolled, costs: Costs, copies: int) -> bool:
    """Return whether each copy computes as long, or its messages take as long alone."""
    ranks, work = unrolled.ranks_of(block), block.arguments
    if block.op == "compute":
        return _repeats(costs.compute(ranks, work["flops"], work["bytes"]), ranks, copies)
    crossing = (costs.latency, costs.transfer_per_byte, costs.on_wire)
    columns = [cost(ranks, work["dst"], work["bytes"]) for cost in crossing]
    columns.append(costs.share(ranks, work["dst"]))
    return all(_repeats(column, ranks, copies) for column in columns)


def _repeats(column: Any, ranks: Any, copies: int) -> bool:
    rows = np.broadcast_to(column, ranks.shape).reshape(copies, -1)
    return bool((rows == rows[0]).all())
