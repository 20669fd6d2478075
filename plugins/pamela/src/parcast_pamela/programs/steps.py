"""The form ``barrier`` in numbers: the operations of the text, each as long as all take for it.

A step lasts as long as its slowest process, its messages delivered: the longest way to the first
link, and then what the fullest link carries, or the longest message alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from parcast.model import Costs
from parcast.program import Block, Unrolled
from parcast.program.matching import Matched, is_signal
from parcast.program.source import SENDS
from parcast_pamela.programs.links import fullest


def text(matched: Matched, costs: Costs) -> str:
    """Return the equations of a program; steps that are alike are one loop."""
    unrolled = matched.unrolled
    blocks = {id(block): block for block in unrolled.blocks}
    counts = Counter(id(block) for block in unrolled.blocks)
    steps = [(count, list(_step(unrolled, blocks[key], costs))) for key, count in counts.items()]
    used = dict.fromkeys(name for _, parts in steps for name, _ in parts if name)
    lines = [
        f"seq (round_ = 1, {count}) {{ {written} }}" if count > 1 else written
        for count, parts in steps
        if (written := _written(parts))
    ]
    body = " ;\n    ".join(lines) or "skip"
    resources = [f"resource {name}" for name in used]
    return "\n".join([*resources, "root program_", "program_ =", f"    {body}"])


def _step(unrolled: Unrolled, block: Block, costs: Costs) -> Iterator[tuple[str, float]]:
    """Yield how long all are busy by themselves, and then how long each resource is.

    The resource is empty for what takes time alone.
    """
    ranks, arguments = unrolled.ranks_of(block), block.arguments
    if block.op == "compute":
        yield "", _longest(costs.compute(ranks, arguments["flops"], arguments["bytes"]))
    elif block.op == "elapse":
        yield "", _longest(costs.elapse(ranks, arguments["seconds"]))
    elif block.op in {"read", "write"}:
        yield from _accesses(ranks, arguments["bytes"], arguments["file"], costs)
    elif block.op in SENDS:
        yield from _messages(ranks, arguments["dst"], arguments["bytes"], costs)
    if block.op in {"recv", "sendrecv"}:
        yield "", 0.0 if is_signal(arguments) else most_receiving(costs)
    elif block.op in {"irecv", "wait", "waitall"}:
        by_call = costs.overhead_by == "call"
        messages = 1 if by_call else 0 if block.op == "irecv" else len(block.requests)
        yield "", messages * (float(costs.overhead_receive) if by_call else most_receiving(costs))


def most_receiving(costs: Costs) -> float:
    """Return how long any message keeps its receiver busy at most."""
    return float(max([costs.overhead_receive, *(size.overhead_receive for size in costs.sizes)]))


def _messages(ranks: Any, dst: Any, n: Any, costs: Costs) -> Iterator[tuple[str, float]]:
    targets, sizes = (np.broadcast_to(value, len(ranks)) for value in (dst, n))
    yield "", _longest(costs.sending(sizes) + costs.latency(ranks, targets, sizes))
    alone = _longest(costs.transfer(ranks, targets, sizes))
    link, seconds = fullest(ranks, targets, sizes, costs)
    yield ("", alone) if alone >= seconds else (link, seconds)


def _accesses(ranks: Any, n: Any, file: str, costs: Costs) -> Iterator[tuple[str, float]]:
    busy = defaultdict[int, float](float)
    pieces = np.broadcast_to(costs.piece(n, file), len(ranks))
    for rank, piece in zip(ranks.tolist(), pieces.tolist(), strict=True):
        for disk in costs.disks_of(rank, file):
            busy[disk] += piece
    yield "disk", max(busy.values())


def _longest(seconds: Any) -> float:
    return float(np.max(seconds, initial=0.0))


def _written(parts: Iterable[tuple[str, float]]) -> str:
    return " ; ".join(
        f"use({name}, {seconds!r})" if name else f"delay({seconds!r})"
        for name, seconds in parts
        if seconds
    )
