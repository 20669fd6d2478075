"""A program whose processes all compute equally long, to see what imbalance takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model.costs import Costs
from parcast.model.query import Query
from parcast.program.matching.prepare import matched_program
from parcast.program.unroll.blocks import Block, Ranks, Unrolled
from parcast.program.workload import Program

#: Processes whose work differs by less, relatively, are balanced.
_SAME = 1e-9

#: What is work, and the amounts of it: the first one alone makes a time.
_SCALED = {"compute": ("flops", "bytes"), "elapse": ("seconds",)}

#: Collectives that no process leaves before all have come.
_MEETINGS = frozenset(
    {"barrier", "allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter"}
)

#: Blocks between two meetings.
_Span = tuple[Block, ...]


def balanced(query: Query) -> Query | None:
    """Return the question about the program with its work dealt out evenly.

    Between two collectives at which all processes meet, each process that computes anywhere in the
    program computes, or elapses, for the mean of their seconds there; everything else is as it
    was. None where all do that now, where tasks go to whoever is free, on accelerators, and
    for several jobs.

    Parameters
    ----------
    query
        Of a ``program``.
    """
    content = query.workload.content
    if not isinstance(content, Program) or content.jobs or content.offloads:
        return None
    unrolled = matched_program(query, pools=True).native
    if unrolled.pools:
        return None
    evener = _Evener(unrolled, Costs.of(query, unrolled.needs() - {"messages", "io"}))
    spans = list(_spans(unrolled))
    evened = {span: evener.evened(span) for span in set(spans)}
    if all(after is span for span, after in evened.items()):
        return None
    blocks = [block for span in spans for block in evened[span]]
    content = Program(None, recorded=attrs.evolve(unrolled, blocks=blocks))
    return attrs.evolve(query, workload=attrs.evolve(query.workload, content=content))


def _spans(unrolled: Unrolled) -> Iterator[_Span]:
    """Yield the blocks up to each meeting of all processes, it included, and those after the last.

    Rounds of a loop share their blocks, which are equal where they are the same, and so do spans.
    """
    span: list[Block] = []
    for block in unrolled.blocks:
        span.append(block)
        if _meets_all(block, unrolled.size):
            yield tuple(span)
            span = []
    yield tuple(span)


def _meets_all(block: Block, size: int) -> bool:
    together = block.op in _MEETINGS or bool(block.arguments.get("collective"))
    everybody = block.ranks is None or len(block.ranks) == size
    return together and everybody and block.arguments.get("color") is None


class _Evener:
    """Deals out the work of spans among the processes that compute anywhere in a program."""

    def __init__(self, unrolled: Unrolled, costs: Costs) -> None:
        self._unrolled = unrolled
        self._costs = costs
        self._computing = self._seconds(unrolled.blocks) > 0

    def evened(self, span: _Span) -> _Span:
        """Return the span with equal work; itself where it has that."""
        seconds = self._seconds(span)
        own = seconds[self._computing]
        if not own.any() or own.max() <= own.min() * (1 + _SAME):
            return span
        busy = seconds > 0
        factors = np.ones(self._unrolled.size)
        factors[busy] = own.mean() / seconds[busy]
        scaled = {block: _scaled(block, factors) for block in set(span)}
        after = [scaled[block] for block in span]
        idle = np.flatnonzero(self._computing & ~busy)
        if idle.size:
            place = next(i for i, block in enumerate(after) if _takes_more(block))
            after[place] = self._with_work(after[place], idle, own.mean())
        return tuple(after)

    def _seconds(self, blocks: Sequence[Block]) -> NDArray[np.float64]:
        """Return how many seconds each process computes in these blocks."""
        seconds = np.zeros(self._unrolled.size)
        for block in blocks:
            if block.op in _SCALED:
                amounts = [block.arguments[name] for name in _SCALED[block.op]]
                at = self._unrolled.ranks_of(block)
                seconds[at] += getattr(self._costs, block.op)(at, *amounts)
        return seconds

    def _with_work(self, block: Block, idle: Ranks, seconds: float) -> Block:
        """Return the block with so many seconds of work for processes that have none."""
        ranks = np.union1d(self._unrolled.ranks_of(block), idle)
        amounts = {}
        for name in _SCALED[block.op]:
            amounts[name] = np.zeros(self._unrolled.size)
            amounts[name][self._unrolled.ranks_of(block)] = block.arguments[name]
        first = _SCALED[block.op][0]
        amounts[first][idle] = seconds / getattr(self._costs, block.op)(idle, 1.0)
        ours = {name: column[ranks] for name, column in amounts.items()}
        return attrs.evolve(block, ranks=ranks, arguments={**block.arguments, **ours})


def _takes_more(block: Block) -> bool:
    """Whether more processes may take part in it: all else that it says holds for everybody."""
    amounts = _SCALED.get(block.op)
    return amounts is not None and not any(
        isinstance(value, np.ndarray) for k, value in block.arguments.items() if k not in amounts
    )


def _scaled(block: Block, factors: NDArray[np.float64]) -> Block:
    if block.op not in _SCALED:
        return block
    own = factors if block.ranks is None else factors[block.ranks]
    changed = {name: block.arguments[name] * own for name in _SCALED[block.op]}
    return attrs.evolve(block, arguments={**block.arguments, **changed})
