"""What would help: each number of a machine made twice as good, and what binds then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from parcast.analysis.point import point
from parcast.comparison.elasticities import Elasticities, Solved, elasticities
from parcast.comparison.grid import Placed, Question, Scenario
from parcast.comparison.solving import resolve, solve_all
from parcast.comparison.tasks import Task, Tell, silent
from parcast.comparison.waits import without_waits
from parcast.errors import UnsupportedError
from parcast.model.numbers import improved, numbers_of
from parcast.model.price import charge
from parcast.model.query import Query, Status, is_lower_bound

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: How much better a number becomes.
FACTOR = 2

#: A number of processes, not of what a node costs.
AGGREGATORS = "storage.aggregators"


@attrs.frozen
class Improvement:
    """A machine, or a run, of which one number is twice as good."""

    #: a key path; ``p``, ``d`` or ``storage.aggregators``: twice as many; ``no imbalance`` and
    #: ``no background``: without these waits
    number: str
    time: float  #: seconds then
    gain: float  #: the part of today's time that it saves; below 0: it takes longer
    bottleneck: str | None  #: the number that most of the time scales with then
    #: of a node, up to which a run is no dearer than today; None where the machine states no price
    price: float | None


@attrs.frozen
class Improvements:
    """What one solver says would help at one point."""

    solver: str
    p: int
    d: int
    time: float  #: seconds as the machine is
    bottleneck: str | None  #: the number that most of it scales with, or the solver's word
    elasticities: Mapping[str, float]  #: parts of the time, by the numbers that it scales with
    improvements: tuple[Improvement, ...]  #: the best first
    currency: str = ""


def improvements(
    registry: Catalog,
    workload: Any,
    machine: Any,
    solver: str,
    *,
    p: int | None = None,
    d: int | None = None,
    mapping: Placed = "block",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    tell: Tell = silent,
) -> Improvements:
    """Solve again with each time of a machine halved and each rate doubled, one at a time.

    Parameters
    ----------
    registry
        Where names are looked up.
    workload, machine
        A name, path, mapping or value.
    solver
        Who is asked.
    p, d
        The point, as `parcast.analysis.advice.advise` takes it; twice as many of both are asked
        as well, where the machine has them.
    mapping, settings, seed
        As `parcast.comparison.compare.compare` takes them.
    tell
        Hears what is being done.

    Raises
    ------
    UnsupportedError
        If the solver has no answer, with its reason.
    """
    scenario, query = point(
        registry, workload, machine, p, d, mapping=mapping, settings=settings, seed=seed
    )
    chosen = scenario.settings
    queries = {"": query, **dict(_better(query, scenario, registry))}
    questions = [Question(changed, solver, chosen) for changed in queries.values()]
    resolve_task = partial(resolve, registry)
    tasks = [resolve_task(solver, question.query, chosen) for question in questions]
    outcomes = solve_all(registry, tasks, tell)
    first = outcomes[0].prediction
    if first.status is not Status.OK or not first.time:
        raise UnsupportedError(f"{solver}: {first.message or 'the time is 0'}")
    answers = {
        name: Solved(question, task, outcome)
        for name, question, task, outcome in zip(queries, questions, tasks, outcomes, strict=True)
        if isinstance(task, Task) and outcome.prediction.time
        if is_lower_bound(outcome.prediction) == is_lower_bound(first)
    }
    # what changes no bit of the time leaves the bottleneck where it is
    changing = {
        name: solved for name, solved in answers.items() if not name or _time(solved) != first.time
    }
    shares = elasticities(registry, list(changing.values()), resolve_task, tell)
    parts = dict(zip(changing, shares, strict=True))
    rows = [
        _improvement(name, solved, first.time, parts.get(name, parts[""]))
        for name, solved in answers.items()
        if name
    ]
    as_it_is = parts[""]
    charged = charge(query, first.time) or {}
    return Improvements(
        answers[""].task.entry.name,
        query.p,
        query.d,
        first.time,
        _bottleneck(answers[""], as_it_is),
        as_it_is.parts if as_it_is else {},
        tuple(sorted(rows, key=lambda row: row.time)),
        charged.get("currency", ""),
    )


def _better(query: Query, scenario: Scenario, registry: Catalog) -> Iterator[tuple[str, Query]]:
    """Return queries of which one number is better, by the number's name."""
    machine = query.machine
    for wait, without in without_waits(query):
        yield f"no {wait}", without
    for path in numbers_of(machine):
        yield path, attrs.evolve(query, machine=improved(machine, [path], FACTOR))
    if isinstance(query.mapping, str) and query.workload.processes is None:
        yield "p", scenario.query(registry, FACTOR * query.p, query.d)
    if (aggregators := machine.storage.aggregators) is not None and aggregators < query.p:
        storage = attrs.evolve(machine.storage, aggregators=FACTOR * aggregators)
        parts = {**machine.parts, "storage": storage}
        yield AGGREGATORS, attrs.evolve(query, machine=attrs.evolve(machine, parts=parts))
    if "storage" in machine.parts:
        yield "d", scenario.query(registry, query.p, FACTOR * query.d)


def _improvement(
    name: str, solved: Solved, before: float, parts: Elasticities | None
) -> Improvement:
    time = _time(solved)
    return Improvement(
        name,
        time,
        1 - time / before,
        _bottleneck(solved, parts),
        _worth(solved.question.query, name, before, time),
    )


def _time(solved: Solved) -> float:
    return solved.outcome.prediction.time or 0.0


def _bottleneck(solved: Solved, parts: Elasticities | None) -> str | None:
    return (parts and parts.largest) or solved.outcome.prediction.binding


def _worth(query: Query, name: str, before: float, time: float) -> float | None:
    """Return the price of a node for an hour at which the run costs what it costs today."""
    price = query.machine.cost.price
    if price is None or "." not in name or name == AGGREGATORS:
        return None
    return price * before / time
