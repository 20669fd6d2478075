"""Kinds of wait: which part of a time goes where nobody else is on the machine, and work is even.

No number of the machine is such a wait, and to make a number better makes the wait shorter as
well. So these parts are beside the elasticities, not among them: a time is what is left of it
without either, and what each of them adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.comparison.elasticities import LEAST, REST, Resolve, Solved
from parcast.comparison.solving import solve_all
from parcast.comparison.tasks import Tell, silent
from parcast.model.costs import Costs
from parcast.model.query import Query
from parcast.program.matching.prepare import matched_program
from parcast.program.unroll.blocks import Block, Ranks, Unrolled
from parcast.program.workload import Program
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: The kinds, in the order in which they are taken away.
BACKGROUND, IMBALANCE = "background", "imbalance"

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


def without_waits(query: Query) -> Iterator[tuple[str, Query]]:
    """Yield the question without each kind of wait that there is, one after the other.

    Parts of a machine that are the doing of others say so by ``of_others``.
    """
    if query.machine.is_shared:
        parts = query.machine.parts.items()
        remaining = {name: part for name, part in parts if not getattr(part, "of_others", False)}
        query = attrs.evolve(query, machine=attrs.evolve(query.machine, parts=remaining))
        yield BACKGROUND, query
    if (even := balanced(query)) is not None:
        yield IMBALANCE, even


def with_waits(
    registry: Catalog,
    rows: Sequence[Row],
    answers: Mapping[int, Solved],
    resolve_task: Resolve,
    tell: Tell = silent,
) -> list[Row]:
    """Return the rows with the kinds of wait among their details, of the answers by their row."""
    completed = list(rows)
    kinds = waits(registry, list(answers.values()), resolve_task, tell)
    for index, parts in zip(answers, kinds, strict=True):
        if parts:
            row = completed[index]
            completed[index] = attrs.evolve(row, details={**row.details, "waits": parts})
    return completed


def waits(
    registry: Catalog, answers: Sequence[Solved], resolve_task: Resolve, tell: Tell = silent
) -> list[Mapping[str, float]]:
    """Return the parts of each answer's time that kinds of wait take, with what is left.

    They sum to 1; nothing where there is no such wait, or its answer is none.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    answers
        What was answered; all that ask one solver are solved together.
    resolve_task
        Brings a query to a solver.
    tell
        Hears what is being done.
    """
    # several solvers are asked about the same query, which is evened once for all
    queries = {id(solved.question.query): solved.question.query for solved in answers}
    without = {key: tuple(without_waits(query)) for key, query in queries.items()}
    changed = [without[id(solved.question.query)] for solved in answers]
    tasks = [
        resolve_task(solved.task.entry.name, query, solved.question.settings)
        for solved, queries in zip(answers, changed, strict=True)
        for _, query in queries
    ]
    outcomes = iter(solve_all(registry, tasks, tell))
    return [
        _parts(
            solved.outcome.prediction.time,
            {kind: next(outcomes).prediction.time for kind, _ in queries},
        )
        for solved, queries in zip(answers, changed, strict=True)
    ]


def _parts(time: float | None, without: Mapping[str, float | None]) -> Mapping[str, float]:
    parts: dict[str, float] = {}
    left = time
    for kind, seconds in without.items():
        if not time or left is None or seconds is None:
            return {}
        if abs(left - seconds) > LEAST * time:
            parts[kind] = (left - seconds) / time
        left = seconds
    return parts | {REST: 1 - sum(parts.values())} if parts else {}


def balanced(query: Query) -> Query | None:
    """Return the question about the program with its work dealt out evenly.

    Between two collectives at which all processes meet, each process that computes anywhere in the
    program computes, or elapses, for the mean of their seconds there; everything else is as it
    was. None where all do that now, where the workload is no program, where tasks go to whoever is
    free, on accelerators, and for several jobs.
    """
    content = query.workload.content
    if not isinstance(content, Program) or query.workload.jobs or content.offloads:
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
