"""What of a comparison is solved: points whose stated costs fit a budget, the cheap first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from parcast.comparison.solving import Budget, Task
from parcast.model.query import Prediction

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


@attrs.frozen
class _Priced:
    """A task by its place, and the seconds that its solver says it takes."""

    index: int
    name: str
    seconds: float


def within_budget(
    registry: Catalog, tasks: Sequence[Task | Prediction], budget: Budget
) -> list[Task | Prediction]:
    """Return the tasks, with a refusal in place of each whose cost no longer fits.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    tasks
        What is asked. Solvers that state no cost are taken to be quick.
    budget
        What is left of it for solving, by the costs that solvers state.
    """
    priced = sorted(_prices(registry, tasks), key=lambda task: task.seconds)
    answered = list(tasks)
    for task in priced:
        if task.seconds > budget.left:
            answered[task.index] = budget.refusal(task.name, task.seconds)
        else:
            budget = budget.less(task.seconds)
    return answered


def _prices(registry: Catalog, tasks: Sequence[Task | Prediction]) -> list[_Priced]:
    priced = []
    for index, task in enumerate(tasks):
        if isinstance(task, Task):
            solver = registry.solver(task.entry.name)
            seconds = solver.cost(task.query) if hasattr(solver, "cost") else None
            priced.append(_Priced(index, task.entry.name, seconds or 0.0))
    return priced
