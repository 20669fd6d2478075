"""Answers: the rows of many questions, each with its solver's prediction and its speedup."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.grid import Asked
from parcast.comparison.solving import Outcome, Task, Tell, resolve, silent, solve_all
from parcast.errors import ParcastError
from parcast.model.price import charge
from parcast.model.query import Prediction, Query, Status
from parcast.plugins.entries import Solver
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: More times than this with one process and one disk are not remembered.
MOST_KNOWN = 10_000


@attrs.frozen
class References:
    """Times with one process and one disk, by all that such a time depends on."""

    _times: dict[Any, float | None] = attrs.field(factory=dict, repr=False)
    _alive: dict[Any, Any] = attrs.field(factory=dict, repr=False)  # so that no id comes twice

    def key(self, task: Task | Prediction, query: Query) -> Any:
        """Return what the reference of a task depends on, or None where it has none."""
        if isinstance(task, Prediction) or query.workload.processes is not None:
            return None
        whole = (query.workload, query.machine, task.query.options)
        ids = tuple(map(id, whole))
        self._alive.setdefault(ids, whole)
        parameters = tuple(sorted(query.parameters.items())) if query.parameters else ()
        return (task.entry.name, *ids, parameters, query.seed, _first(query.mapping))

    def known(self) -> dict[Any, float | None]:
        """Return the times by key."""
        return {None: None, **self._times}

    def learn(self, times: Mapping[Any, float | None]) -> None:
        """Remember these times, and forget all where there is too much to remember."""
        self._times.update(times)
        if len(self._times) + len(self._alive) > MOST_KNOWN:
            self._times.clear()
            self._alive.clear()


def answer(
    registry: Catalog,
    asked: Sequence[Asked],
    references: References | None = None,
    uncertainty: int = 0,
    tell: Tell = silent,
) -> list[Row]:
    """Return a row for each question; solvers that can are asked about all of theirs at once.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    asked
        The questions.
    references
        Times with one process and one disk that are known; new ones are added.
    uncertainty
        How often to draw the uncertain numbers of each point.
    tell
        Hears what is being done.
    """
    references = references or References()
    solver_of = cache(registry.solver)
    tasks = [_task(registry, one, solver_of, tell) for one in asked]
    outcomes = solve_all(registry, tasks, tell)
    times = _reference_times(registry, references, asked, tasks, outcomes, tell)
    rows = [_row(*each) for each in zip(asked, tasks, outcomes, times, strict=True)]
    if not uncertainty:
        return rows
    return [
        _uncertain(registry, one, row, uncertainty, tell)
        for one, row in zip(asked, rows, strict=True)
    ]


def _task(
    registry: Catalog, one: Asked, solver_of: Callable[[str], Solver], tell: Tell
) -> Task | Prediction:
    tell(f"{one.solver}: p={one.query.p}, d={one.query.d} is prepared")
    if one.error is not None:
        return Prediction(status=Status.INVALID, message=str(one.error))
    return resolve(registry, one.solver, one.query, one.settings, solver_of)


def _reference_times(
    registry: Catalog,
    references: References,
    asked: Sequence[Asked],
    tasks: Sequence[Task | Prediction],
    outcomes: Sequence[Outcome],
    tell: Tell,
) -> list[float | None]:
    """Return each task's time with one process and one disk, solving what is not known."""
    keys = [references.key(task, one.query) for one, task in zip(asked, tasks, strict=True)]
    times = references.known()
    for one, outcome, key in zip(asked, outcomes, keys, strict=True):
        if one.query.p == one.query.d == 1:
            times.setdefault(key, outcome.prediction.time)
    alone: dict[Any, Task | Prediction] = {}
    for one, task, key in zip(asked, tasks, keys, strict=True):
        if isinstance(task, Task) and key not in times and key not in alone:
            query = attrs.evolve(one.query, p=1, d=1, mapping=_first(one.query.mapping))
            alone[key] = resolve(registry, task.entry.name, query, one.settings)
    solved = solve_all(registry, list(alone.values()), tell)
    for key, outcome in zip(alone, solved, strict=True):
        times[key] = outcome.prediction.time
    references.learn(times)
    return [times[key] for key in keys]


def _first(mapping: str | tuple[int, ...]) -> str | tuple[int, ...]:
    return mapping if isinstance(mapping, str) else mapping[:1]


def _row(asked: Asked, task: Task | Prediction, outcome: Outcome, reference: float | None) -> Row:
    prediction, query = outcome.prediction, asked.query
    seconds = prediction.time
    return Row(
        workload=query.workload.name,
        machine=query.machine.name,
        solver=task.entry.name if isinstance(task, Task) else asked.solver,
        p=query.p,
        d=query.d,
        mapping=query.mapping,
        params=asked.params,
        seed=query.seed,
        time=seconds,
        lower=_finite(prediction.lower),
        upper=_finite(prediction.upper),
        std=_finite(prediction.std),
        ci=prediction.ci and (prediction.ci[0], prediction.ci[1]),
        quantiles={f"{level:g}": value for level, value in prediction.quantiles.items()},
        speedup=reference / seconds if reference and seconds else None,
        parts=prediction.parts,
        status=prediction.status,
        message=prediction.message,
        notes=tuple(prediction.notes),
        binding=prediction.binding,
        details=_details(query, prediction),
        lowering=task.steps if isinstance(task, Task) else (),
        solve_seconds=outcome.seconds,
    )


def _finite(seconds: float | None) -> float | None:
    return None if seconds is None or not math.isfinite(seconds) else seconds


def _uncertain(registry: Catalog, asked: Asked, row: Row, samples: int, tell: Tell) -> Row:
    """Return the row with what its uncertain numbers make of its time."""
    from parcast.comparison.uncertainty import spread

    if row.status is not Status.OK:
        return row
    tell(f"{row.solver}: {samples:,} samples of p={row.p}, d={row.d}")
    try:
        found = spread(registry, asked, samples)
    except ParcastError as error:
        return attrs.evolve(row, status=Status.FAILED, message=str(error))
    if found is None:
        return row
    details, notes = {**row.details, "uncertainty": found}, row.notes
    if lost := found.get("unanswered"):
        count = f"{lost['count']} of {samples} samples of the uncertain numbers have no answer"
        left = "the interval is without them" if found["interval"] else "there is no interval"
        notes = (*notes, f"{count}, mostly because: {lost['reason']}; {left}")
    return attrs.evolve(row, details=details, notes=notes)


def _details(query: Query, prediction: Prediction) -> Mapping[str, Any]:
    details = dict(prediction.details)
    if prediction.assumptions:
        details["assumptions"] = list(prediction.assumptions)
    if prediction.time is not None and (charged := charge(query, prediction.time)):
        details["charge"] = charged
    return details
