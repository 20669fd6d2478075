"""Tasks: a query brought to one solver, and what became of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.lowering import Conversion, convert, path
from parcast.comparison.not_modeled import not_modeled
from parcast.comparison.settings import Settings
from parcast.errors import (
    FileError,
    InvalidPointError,
    ParcastError,
    SolveError,
    UnsupportedError,
    is_passing,
)
from parcast.model.query import Prediction, Query, Status, is_lower_bound
from parcast.model.workload import Repetitions
from parcast.plugins.entries import JOBS, Solver, SolverEntry, load
from parcast.quantities.units import format_seconds

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


Tell = Callable[[str], None]  #: hears, in words for people, what is being done


def silent(_text: str) -> None:
    """Tell nobody."""


#: The detail of an answer that the host spoiled, and that no study keeps: the kind of error.
PASSING = "passing"


@attrs.frozen
class Repeated:
    """Repetitions that a recorded run has, and how many are asked about."""

    repetitions: Repetitions
    asked: float

    @classmethod
    def of(cls, query: Query) -> Repeated | None:
        """Return what a query asks about, None where its workload repeats nothing.

        Raises
        ------
        InvalidPointError
            If there is no such number of repetitions.
        """
        repetitions = query.workload.repetitions
        if repetitions is None:
            return None
        return cls(repetitions, repetitions.asked(query.values))

    def of_run(self, prediction: Prediction) -> Prediction:
        """Return what those asked about take, by what a solver says of all that were recorded.

        They are one run to a solver; its time divided by their number is the mean of one.
        """
        if prediction.time is None:
            return prediction
        factor = self.asked / len(self.repetitions.seconds)

        def scaled(seconds: float | None) -> float | None:
            return None if seconds is None else factor * seconds

        return attrs.evolve(
            prediction,
            time=factor * prediction.time,
            parts=prediction.parts and prediction.parts * factor,
            lower=scaled(prediction.lower),
            upper=scaled(prediction.upper),
            std=scaled(prediction.std),
            ci=prediction.ci and (factor * prediction.ci[0], factor * prediction.ci[1]),
            quantiles={level: factor * value for level, value in prediction.quantiles.items()},
            notes=(f"the time of {self.repetitions.describe(self.asked)}", *prediction.notes),
        )


@attrs.frozen
class Task:
    """A query brought to the kind of one solver."""

    entry: SolverEntry
    query: Query
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    exact: bool = True  #: every lowering on the way was
    below: bool = True  #: every lowering on the way kept lower bounds
    conversion: float = 0.0  #: seconds that the first lowering says it takes
    repeated: Repeated | None = None  #: what the time is of, where a recorded run repeats it


@attrs.frozen
class Outcome:
    """What became of a task, and how long it took."""

    prediction: Prediction
    seconds: float | None = None


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
    steps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    original, seconds = query, 0.0
    try:
        if hasattr(query.workload.content, "check"):  # found once, before any solver
            query.workload.content.check(query)
        repeated = Repeated.of(query)
        if query.workload.jobs:
            _check_jobs(registry, name)
        if name in registry.solvers:
            entry = registry.solvers[name]
        elif name in registry.families:
            family = registry.families[name]
            if family.kind is not None:
                conversion = _conversion(registry, query, family.kind, load)
                if budget is not None and conversion > budget.left:
                    return budget.refusal(name, conversion)
                query, steps, notes, seconds = convert(registry.lowerings, query, family.kind)
            entry = registry.entry(load(family.target)(query))
        else:
            entry = default_of(registry, name, query.workload.kind)
        options = settings.options_of(entry, query.p, query.d)
        if options is not None:
            query = query.with_options(options)
        conversion = _conversion(registry, original, entry.kind, load)
        if budget is not None and conversion > budget.left:
            return budget.refusal(name, conversion)
        same = query.workload.kind == entry.kind
        ways = registry.lowerings
        lowered = Conversion(query) if same else convert(ways, query, entry.kind, original)
        query, steps, notes = lowered.query, steps + lowered.steps, notes + lowered.notes
        seconds += lowered.seconds
        taken = [registry.lowerings[step] for step in steps]
        reason = (solver_of or registry.solver)(entry.name).supports(query)
    except FileError:  # a wrong option is the asker's to mend
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (one solver's bug must not lose the other rows)
        return _without_answer(error)
    if reason is not None:
        return Prediction(status=Status.REFUSED, message=str(reason))
    notes += tuple(not_modeled(registry, entry, original if steps else query))
    exact = not taken or all(way.exact for way in taken)
    below = exact or all(way.exact or way.below for way in taken)
    return Task(entry, query, steps, notes, exact, below, seconds, repeated)


def _conversion(registry: Catalog, query: Query, goal: str, load: Callable[[str], Any]) -> float:
    """Return the stated seconds of turning a query's workload into a kind; 0 where none are."""
    if query.workload.kind == goal:
        return 0.0
    ways = path(registry.lowerings, query.workload.kind, goal)
    return float(load(ways[0].cost)(query)) if ways and ways[0].cost else 0.0


def _check_jobs(registry: Catalog, name: str) -> None:
    """Refuse several jobs where the solver or the family of this name does not follow them."""
    able = [entry for entry in registry.solvers.values() if JOBS in entry.follows]
    if name not in {word for entry in able for word in (entry.name, entry.family)}:
        names = " or ".join(entry.name for entry in able) or "a solver that follows several"
        raise UnsupportedError(f"answers for one job at a time; ask {names}")


def default_of(registry: Catalog, family: str, kind: str) -> SolverEntry:
    """Return who answers for a family that registers no choice: the nearest to the kind."""

    def rank(entry: SolverEntry) -> tuple[bool, bool, int, str]:
        way = path(registry.lowerings, kind, entry.kind)
        return (way is None, entry.on_request, len(way or ()), entry.name)

    return min((entry for entry in registry.solvers.values() if entry.family == family), key=rank)


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
