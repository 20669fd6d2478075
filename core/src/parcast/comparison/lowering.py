"""Lowering: the shortest way from one kind of workload to another."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from parcast.errors import UnsupportedError
from parcast.model.query import Query
from parcast.plugins.entries import Lowering, SolverEntry, load

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


def path(lowerings: Mapping[str, Lowering], source: str, goal: str) -> tuple[Lowering, ...] | None:
    """Return the shortest chain of lowerings, exact ones before noted ones, ties by name."""
    queue: list[tuple[int, int, tuple[str, ...], str]] = [(0, 0, (), source)]
    seen: set[str] = set()
    while queue:
        length, noted, names, kind = heappop(queue)
        if kind == goal:
            return tuple(lowerings[name] for name in names)
        if kind in seen:
            continue
        seen.add(kind)
        for name, step in lowerings.items():
            if step.source == kind:
                heappush(queue, (length + 1, noted + (not step.exact), (*names, name), step.goal))
    return None


def default_of(registry: Catalog, family: str, kind: str) -> SolverEntry:
    """Return who answers for a family that registers no choice: the nearest to the kind."""

    def rank(entry: SolverEntry) -> tuple[bool, bool, int, str]:
        way = path(registry.lowerings, kind, entry.kind)
        return (way is None, entry.on_request, len(way or ()), entry.name)

    return min((entry for entry in registry.solvers.values() if entry.family == family), key=rank)


class Conversion(NamedTuple):
    """A query that came to a solver's kind."""

    query: Query
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0  #: that all steps take, as they state


def lower(
    lowerings: Mapping[str, Lowering], query: Query, goal: str
) -> tuple[Query, tuple[str, ...], tuple[str, ...]]:
    """Return the query with a workload of kind ``goal``, the steps taken and their notes.

    Raises
    ------
    UnsupportedError
        If no chain of lowerings leads there.
    """
    return convert(lowerings, query, goal)[:3]


def convert(
    lowerings: Mapping[str, Lowering], query: Query, goal: str, asked: Query | None = None
) -> Conversion:
    """Return the query with a workload of kind ``goal``, and what that takes.

    ``asked`` is the query that this one came of; it has what was made of it for other solvers.

    Raises
    ------
    UnsupportedError
        If no chain of lowerings leads there.
    """
    kind = query.workload.kind
    if kind == goal:
        return Conversion(query)
    steps = path(lowerings, kind, goal)
    if steps is None:
        raise UnsupportedError(
            f"takes {goal!r} workloads, and nothing installed turns {kind!r} into that"
        )
    notes: tuple[str, ...] = ()
    seconds = 0.0
    asked, names = asked or query, tuple(step.name for step in steps)
    for step in steps:
        seen = query.with_options(None) if step.shared else query
        key = (step.name, id(query.workload), repr(seen.options))
        seconds += asked.once((*key, "cost"), partial(_seconds, step, seen))
        workload, step_notes = asked.once(key, partial(_converted, step, seen))
        query = attrs.evolve(query, workload=workload)
        notes += tuple(step_notes)
    return Conversion(query, names, notes, seconds)


def _seconds(step: Lowering, query: Query, _asked: Query) -> float:
    return float(load(step.cost)(query)) if step.cost else 0.0


def _converted(step: Lowering, query: Query, _asked: Query) -> Any:
    return load(step.target)(query.workload, query)
