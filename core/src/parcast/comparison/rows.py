"""Answers: the rows of many questions, each with its solver's prediction and its speedup."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.grid import Question
from parcast.comparison.settings import Settings
from parcast.comparison.solving import Budget, resolve, solve_all, within_budget
from parcast.comparison.tasks import PASSING, Outcome, Task, Tell, silent
from parcast.model.answers import Answers, Sources, key_of
from parcast.model.price import charge
from parcast.model.query import Prediction, Query, Status
from parcast.plugins.entries import load
from parcast.results.best import work_of
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: Times with one process and one disk that are remembered.
MOST_ALONE = 10_000


@attrs.frozen
class Alone:
    """What a solver says of one process and one disk: a time, or why the host let none be."""

    time: float | None = None
    problem: str = ""  #: what passes, so that it is not remembered
    kind: str = ""  #: of the error

    @classmethod
    def of(cls, outcome: Outcome) -> Alone:
        """Return what an outcome comes to."""
        prediction = outcome.prediction
        kind = str(prediction.details.get(PASSING, ""))
        return cls(prediction.time, prediction.message if kind else "", kind)


def answer(
    registry: Catalog,
    questions: Sequence[Question],
    answers: Answers | None = None,
    uncertainty: int = 0,
    tell: Tell = silent,
    *,
    explained: bool = False,
    budget: float | None = None,
) -> list[Row]:
    """Return a row for each question; solvers that can are asked about all of theirs at once.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    questions
        What is asked, each of one solver.
    answers
        Times with one process and one disk that are known; new ones are added.
    uncertainty
        How often to draw the uncertain numbers of each point.
    tell
        Hears what is being done.
    explained
        Find which number of the machine decides how much of each time, where that is cheap.
    budget
        Refuse what by the costs that solvers state is beyond so many seconds.
    """
    answers = Answers(MOST_ALONE) if answers is None else answers
    resolve_task = partial(resolve, registry, solver_of=cache(registry.solver), load=cache(load))
    tasks = _tasks(registry, questions, resolve_task, tell, explained=explained, budget=budget)
    outcomes = solve_all(registry, tasks, tell)
    alone = _references(registry, answers, questions, tasks, outcomes, tell)
    rows = [_row(*facts) for facts in zip(questions, tasks, outcomes, alone, strict=True)]
    if explained:
        rows = _with_elasticities(registry, rows, questions, tasks, outcomes, resolve_task, tell)
    if len({row.solver.partition(".")[0] for row in rows}) > 2:  # two agree, and one does not
        from parcast.comparison.disagreement import with_disagreement

        rows = with_disagreement(questions, rows)
    if any(question.query.workload.jobs for question in questions):
        from parcast.comparison.slowdowns import with_each_alone

        rows = with_each_alone(registry, questions, rows, tell)
    if not uncertainty:
        return rows
    from parcast.comparison.uncertain_rows import with_uncertainty

    return with_uncertainty(registry, questions, rows, uncertainty, tell)


def _tasks(
    registry: Catalog,
    questions: Sequence[Question],
    resolve_task: Callable[..., Task | Prediction],
    tell: Tell,
    *,
    explained: bool,
    budget: float | None,
) -> list[Task | Prediction]:
    """Return each question's task, or why there is none: those beyond the budget are refused."""
    several = len({question.query.machine.name for question in questions}) > 1
    left = None if budget is None else Budget(budget, budget)
    tasks: list[Task | Prediction] = []
    for question in questions:
        resolve_within = resolve_task if left is None else partial(resolve_task, budget=left)
        task = _task(question, resolve_within, tell, several=several)
        tasks.append(task)
        if explained and isinstance(task, Task):
            question.query.once("uneven", _uneven)  # while its operations are at hand
        if left is not None and isinstance(task, Task):
            left = left.less(task.conversion)
    return tasks if left is None else within_budget(registry, tasks, left)


def _task(
    question: Question,
    resolve_task: Callable[[str, Query, Settings], Task | Prediction],
    tell: Tell,
    *,
    several: bool,
) -> Task | Prediction:
    tell(f"{question.solver}: p={question.query.p}, d={question.query.d} is prepared")
    if question.error is not None:
        return Prediction(status=Status.INVALID, message=str(question.error))
    task = resolve_task(question.solver, question.query, question.settings)
    if isinstance(task, Task) and (several or question.query.machine.is_charged):
        question.query.once("work", work_of)  # now, while the operations of this point are at hand
    return task


def _references(
    registry: Catalog,
    answers: Answers,
    questions: Sequence[Question],
    tasks: Sequence[Task | Prediction],
    outcomes: Sequence[Outcome],
    tell: Tell,
) -> list[Alone]:
    """Return each task's time with one process and one disk, solving what is not known."""
    sources = list(map(_sources, questions, tasks))
    keys = list(map(key_of, sources))
    distinct = dict(zip(keys, sources, strict=True))
    times: dict[Any, Any] = {key: answers.get(facts) for key, facts in distinct.items()}
    times[()] = Alone()
    for question, outcome, key in zip(questions, outcomes, keys, strict=True):
        if times[key] is None and question.query.p == question.query.d == 1:
            times[key] = Alone.of(outcome)
    alone: dict[Any, Task | Prediction] = {}
    for question, task, key in zip(questions, tasks, keys, strict=True):
        if isinstance(task, Task) and times[key] is None and key not in alone:
            query = attrs.evolve(question.query, p=1, d=1, mapping=_first(question.query.mapping))
            alone[key] = resolve(registry, task.entry.name, query, question.settings)
    solved = solve_all(registry, list(alone.values()), tell)
    for key, outcome in zip(alone, solved, strict=True):
        times[key] = Alone.of(outcome)
    for key, facts in distinct.items():
        if not times[key].kind:
            answers.once(facts, partial(times.get, key))
    return [times[key] for key in keys]


def _sources(question: Question, task: Task | Prediction) -> Sources:
    """Return all that a task's time with one process depends on; nothing where it has none."""
    query = question.query
    if isinstance(task, Prediction) or query.workload.processes is not None:
        return ()
    point = (query.workload, query.machine, query.seed, _first(query.mapping))
    return (task.entry.name, task.query.options, *point, *sorted(query.parameters.items()))


def _first(mapping: str | tuple[int, ...]) -> str | tuple[int, ...]:
    return mapping if isinstance(mapping, str) else mapping[:1]


def _row(question: Question, task: Task | Prediction, outcome: Outcome, alone: Alone) -> Row:
    prediction, query = outcome.prediction, question.query
    seconds, notes, details = prediction.time, prediction.notes, _details(query, prediction)
    if alone.kind and seconds is not None:
        notes = (*notes, f"no speedup: with one process and one disk, {alone.problem}")
        details = {PASSING: alone.kind, **details}
    speedup = alone.time / seconds if alone.time and seconds else None
    if speedup is not None and speedup < 1 and query.p > 1:
        from parcast.comparison.growing_work import scaled_speedup

        if scaled := scaled_speedup(query, speedup):
            details = {**details, "scaled_speedup": scaled.speedup}
            notes = (*notes, scaled.note)
    return Row(
        workload=query.workload.name,
        machine=query.machine.name,
        solver=task.entry.name if isinstance(task, Task) else question.solver,
        p=query.p,
        d=query.d,
        mapping=query.mapping,
        params=question.params,
        seed=query.seed,
        time=seconds,
        lower=_finite(prediction.lower),
        upper=_finite(prediction.upper),
        std=_finite(prediction.std),
        ci=prediction.ci and (prediction.ci[0], prediction.ci[1]),
        quantiles={f"{level:g}": value for level, value in prediction.quantiles.items()},
        speedup=speedup,
        parts=prediction.parts,
        status=prediction.status,
        message=prediction.message,
        notes=tuple(notes),
        binding=prediction.binding,
        details=details,
        lowering=task.steps if isinstance(task, Task) else (),
        solve_seconds=outcome.seconds,
    )


def _with_elasticities(
    registry: Catalog,
    rows: Sequence[Row],
    questions: Sequence[Question],
    tasks: Sequence[Task | Prediction],
    outcomes: Sequence[Outcome],
    resolve_task: Callable[[str, Query, Settings], Task | Prediction],
    tell: Tell,
) -> list[Row]:
    """Return rows whose bottleneck is the number of the machine that most of the time scales with.

    What the solver itself names is then among the details, and so are the kinds of wait.
    """
    from parcast.comparison.elasticities import (
        Solved,
        affordable,
        by_parts,
        elasticities,
        with_bottleneck,
    )

    solutions = {
        index: Solved(question, task, outcome)
        for index, (question, task, outcome) in enumerate(
            zip(questions, tasks, outcomes, strict=True)
        )
        if isinstance(task, Task)
    }
    solved, left_out = affordable(registry, solutions)
    rows = [by_parts(row) if at in left_out and row.time else row for at, row in enumerate(rows)]
    results = elasticities(registry, list(solved.values()), resolve_task, tell)
    for (index, answer), explained in zip(solved.items(), results, strict=True):
        if explained is not None:
            sources = answer.question.query.machine.sources
            rows[index] = with_bottleneck(rows[index], explained, sources)
    waiting = {i: solution for i, solution in solved.items() if _may_wait(solution.question.query)}
    if not waiting:
        return rows
    from parcast.comparison.waits import with_waits

    return with_waits(registry, rows, waiting, resolve_task, tell)


def _may_wait(query: Query) -> bool:
    """Whether others are on the machine, or the work of processes may be uneven."""
    return query.machine.is_shared or query.once("uneven", _uneven)


def _uneven(query: Query) -> bool:
    is_program = query.workload.kind == "program"
    uneven: bool = is_program and query.workload.content.may_be_uneven(query)
    return uneven


def _finite(seconds: float | None) -> float | None:
    return None if seconds is None or not math.isfinite(seconds) else seconds


def _details(query: Query, prediction: Prediction) -> Mapping[str, Any]:
    details = dict(prediction.details)
    if prediction.assumptions:
        details["assumptions"] = list(prediction.assumptions)
    if prediction.time is not None and query.machine.is_charged:
        details["charge"] = charge(query, prediction.time)
    if prediction.time is not None and (work := query.once("work", _no_work)):
        details["work"] = work
    return details


def _no_work(_: Query) -> Mapping[str, float]:
    return _NO_WORK


_NO_WORK: Mapping[str, float] = {}
