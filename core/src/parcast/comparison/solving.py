"""Solving: queries are brought to solvers, and all tasks of one solver solved together."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.lowering import Conversion, convert, default_of, path
from parcast.comparison.not_modeled import not_modeled
from parcast.comparison.settings import Settings
from parcast.comparison.tasks import PASSING, Outcome, Task, Tell, silent
from parcast.errors import (
    FileError,
    InvalidPointError,
    ParcastError,
    SolveError,
    UnsupportedError,
    is_passing,
)
from parcast.model.query import Prediction, Query, Status, is_lower_bound
from parcast.plugins.entries import Solver, SolverEntry, load
from parcast.quantities.units import format_seconds

if TYPE_CHECKING:
    from parcast.comparison.repeated import Repeated
    from parcast.plugins.catalog import Catalog


@attrs.frozen
class Budget:
    """How many seconds an answer may take, by stated costs, and how many of them are left."""

    seconds: float
    left: float

    def less(self, seconds: float) -> Budget:
        """Return the budget after something that takes so many seconds."""
        return attrs.evolve(self, left=self.left - seconds)

    def refusal(self, name: str, seconds: float) -> Prediction:
        """Return the refusal of what takes more seconds than are left."""
        total = format_seconds(self.seconds)
        over = "beyond" if seconds > self.seconds else f"and {format_seconds(self.left)} is left of"
        message = (
            f"takes about {format_seconds(seconds)}, {over} the budget of {total}; "
            f"name it (-s {name}), or allow more (--budget)"
        )
        return Prediction(status=Status.REFUSED, message=message, details={"cost": seconds})


def resolve(
    registry: Catalog,
    name: str,
    query: Query,
    settings: Settings,
    solver_of: Callable[[str], Solver] | None = None,
    load: Callable[[str], Any] = load,
    budget: Budget | None = None,
) -> Task | Prediction:
    """Return the task of the solver that answers to ``name`` here, or why there is none.

    Who has many queries gives a ``solver_of`` that makes each solver once, and a ``load``
    that looks for each target once. A conversion that takes more than is left of the ``budget``
    is not begun.
    """
    try:
        repeated = _check_workload(registry, name, query)
        lowered = Conversion(query)
        family = None if name in registry.solvers else registry.families.get(name)
        if family is not None and family.kind is not None:
            if budget and (refusal := _too_dear(registry, name, query, family.kind, load, budget)):
                return refusal
            lowered = _converted(registry, lowered, family.kind, query)
        entry = _entry(registry, name, lowered.query, load)
        options = settings.options_of(entry, query.p, query.d)
        if options is not None:
            lowered = Conversion(lowered.query.with_options(options), *lowered[1:])
        if budget and (refusal := _too_dear(registry, name, query, entry.kind, load, budget)):
            return refusal
        lowered = _converted(registry, lowered, entry.kind, query)
        reason = (solver_of or registry.solver)(entry.name).supports(lowered.query)
        if reason is not None:
            return Prediction(status=Status.REFUSED, message=str(reason))
        asked = query if lowered.steps else lowered.query
        notes = (*lowered.notes, *not_modeled(registry, entry, asked))
    except FileError:  # a wrong option is the asker's to mend
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (one solver's bug must not lose the other rows)
        return _without_answer(error)
    exact = below = True
    if lowered.steps:
        ways = [registry.lowerings[step] for step in lowered.steps]
        exact = all(way.exact for way in ways)
        below = all(way.exact or way.below for way in ways)
    return Task(entry, lowered.query, lowered.steps, notes, exact, below, lowered.seconds, repeated)


def _check_workload(registry: Catalog, name: str, query: Query) -> Repeated | None:
    """Refuse a workload that has no meaning here; return what of a recorded one is asked about."""
    workload = query.workload
    if hasattr(workload.content, "check"):  # found once, before any solver
        workload.content.check(query)
    if workload.jobs:
        from parcast.comparison.jobs import check_followed

        check_followed(registry, name)
    if workload.repetitions is None:
        return None
    from parcast.comparison.repeated import Repeated

    return Repeated(workload.repetitions, workload.repetitions.asked(query.values))


def _entry(registry: Catalog, name: str, query: Query, load: Callable[[str], Any]) -> SolverEntry:
    """Return the solver of a name, or that of a family: whom it chooses, or the nearest."""
    if name in registry.solvers:
        return registry.solvers[name]
    if name in registry.families:
        return registry.entry(load(registry.families[name].target)(query))
    return default_of(registry, name, query.workload.kind)


def _converted(registry: Catalog, lowered: Conversion, goal: str, asked: Query) -> Conversion:
    """Return what a query becomes that is converted further, where it is not of the kind yet."""
    query, steps, notes, seconds = lowered
    if query.workload.kind == goal:
        return lowered
    further = convert(registry.lowerings, query, goal, asked)
    return Conversion(
        further.query, steps + further.steps, notes + further.notes, seconds + further.seconds
    )


def _too_dear(
    registry: Catalog,
    name: str,
    query: Query,
    goal: str,
    load: Callable[[str], Any],
    budget: Budget,
) -> Prediction | None:
    """Return the refusal where a conversion takes more seconds than are left, as it states."""
    if query.workload.kind == goal:
        return None
    ways = path(registry.lowerings, query.workload.kind, goal)
    seconds = float(load(ways[0].cost)(query)) if ways and ways[0].cost else 0.0
    return budget.refusal(name, seconds) if seconds > budget.left else None


def _without_answer(error: BaseException) -> Prediction:
    """Return the row's answer where a solver raised ``error``."""
    details = {PASSING: type(error).__name__} if is_passing(error) else {}
    if isinstance(error, UnsupportedError):
        return Prediction(status=Status.REFUSED, message=str(error), details=details)
    if isinstance(error, InvalidPointError):
        return Prediction(status=Status.INVALID, message=str(error), details=details)
    foreseen = isinstance(error, ParcastError)
    message = str(error) if foreseen else f"{type(error).__name__}: {error}"
    return Prediction(status=Status.FAILED, message=" ".join(message.split()), details=details)


def within_budget(
    registry: Catalog, tasks: Sequence[Task | Prediction], budget: Budget
) -> list[Task | Prediction]:
    """Return the tasks, with a refusal in place of each whose cost no longer fits, cheap first.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    tasks
        What is asked. Solvers that state no cost are taken to be quick.
    budget
        What is left of it for solving, by the costs that solvers state.
    """
    answered = list(tasks)
    costs = [
        (stated_cost(registry, task) or 0.0, index, task.entry.name)
        for index, task in enumerate(tasks)
        if isinstance(task, Task)
    ]
    for seconds, index, name in sorted(costs):
        if seconds > budget.left:
            answered[index] = budget.refusal(name, seconds)
        else:
            budget = budget.less(seconds)
    return answered


def stated_cost(registry: Catalog, task: Task) -> float | None:
    """Return the seconds that a task's solver says it takes; None where it states none."""
    solver = registry.solver(task.entry.name)
    seconds: float | None = solver.cost(task.query) if hasattr(solver, "cost") else None
    return seconds


def solve_all(
    registry: Catalog, tasks: Sequence[Task | Prediction], tell: Tell = silent
) -> list[Outcome]:
    """Return an outcome for each task, solving each solver's tasks together.

    ``tell`` hears, in words for people, which solver is asked how many points.
    """
    outcomes: dict[int, Outcome] = {}
    batches: dict[str, list[int]] = {}
    for index, task in enumerate(tasks):
        if isinstance(task, Prediction):
            outcomes[index] = Outcome(task)
        else:
            batches.setdefault(task.entry.name, []).append(index)
    for name, indices in batches.items():
        queries = [tasks[index].query for index in indices]  # type: ignore[union-attr]
        say = partial(_say, tell, name, len(queries))
        outcomes |= zip(indices, _solve_batch(registry.solver(name), queries, say), strict=True)
    return [
        outcomes[index] if isinstance(task, Prediction) else _as_asked(task, outcomes[index])
        for index, task in enumerate(tasks)
    ]


def _as_asked(task: Task, outcome: Outcome) -> Outcome:
    """Return what a solver's answer is to the workload that was asked about."""
    prediction = outcome.prediction
    if task.notes or not task.exact:
        prediction = _of_unlowered(task, prediction)
    if task.repeated is not None:
        prediction = task.repeated.of_run(prediction)
    return outcome if prediction is outcome.prediction else Outcome(prediction, outcome.seconds)


def _of_unlowered(task: Task, prediction: Prediction) -> Prediction:
    """Add the lowering's notes; a bound of an approximation is none of the workload asked."""
    prediction = attrs.evolve(prediction, notes=(*task.notes, *prediction.notes))
    if task.exact:
        return prediction
    details = (
        {**prediction.details, "bound": "lower"}
        if is_lower_bound(prediction)
        else prediction.details
    )
    lower = prediction.lower if task.below else None
    return attrs.evolve(prediction, lower=lower, upper=None, details=details)


def _say(tell: Tell, name: str, count: int, solved: int) -> None:
    tell(f"{name}: {solved:,} of {count:,} points" if count > 1 else name)


def _solve_batch(
    solver: Any, queries: Sequence[Query], say: Callable[[int], None]
) -> list[Outcome]:
    """Solve at once where the solver can; one by one where it cannot, or where that failed."""
    say(0)
    if len(queries) > 1 and hasattr(solver, "solve_many"):
        start = time.perf_counter()
        try:
            predictions = [_checked(answer) for answer in solver.solve_many(queries)]
        except (Exception, SystemExit):  # noqa: BLE001  (the points are asked again, each for its own reason)
            predictions = []
        if len(predictions) == len(queries):
            seconds = (time.perf_counter() - start) / len(queries)
            return [Outcome(prediction, seconds) for prediction in predictions]
    outcomes = []
    for index, query in enumerate(queries):
        say(index)
        outcomes.append(_solve_one(solver, query))
    return outcomes


def _solve_one(solver: Any, query: Query) -> Outcome:
    start = time.perf_counter()
    try:
        prediction = _checked(solver.solve(query))
    except (Exception, SystemExit) as error:  # noqa: BLE001  (one solver's bug must not lose the other rows)
        prediction = _without_answer(error)
    return Outcome(prediction, time.perf_counter() - start)


def _checked(prediction: Any) -> Prediction:
    if not isinstance(prediction, Prediction):
        raise SolveError(f"the solver gave {prediction!r} where a Prediction belongs")
    time_ = prediction.time
    if time_ is not None and not (isinstance(time_, int | float) and 0 <= time_ < math.inf):
        raise SolveError(f"the solver gave the time {prediction.time!r}")
    return prediction
