"""What of a comparison is solved: points whose stated costs fit a budget, the cheap first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from parcast.comparison.solving import Task
from parcast.model.query import Prediction, Status
from parcast.quantities.units import format_seconds

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


@attrs.frozen
class _Priced:
    """A task by its place, and the seconds that its solver says it takes."""

    index: int
    seconds: float


def within_budget(
    registry: Catalog, tasks: Sequence[Task | Prediction], budget: float
) -> list[Task | Prediction]:
    """Return the tasks, with a refusal in place of each whose cost no longer fits.

    Parameters
    ----------
    registry
        Where solvers are looked up.
    tasks
        What is asked. Solvers that state no cost are taken to be quick.
    budget
        Seconds, by the costs that solvers state.
    """
    priced = sorted(_prices(registry, tasks), key=lambda task: task.seconds)
    kept, left = list(tasks), budget
    for task in priced:
        if task.seconds > left:
            kept[task.index] = _too_dear(tasks[task.index], task.seconds, budget, left)
        else:
            left -= task.seconds
    return kept


def _prices(registry: Catalog, tasks: Sequence[Task | Prediction]) -> list[_Priced]:
    priced = []
    for index, task in enumerate(tasks):
        if isinstance(task, Task):
            solver = registry.solver(task.entry.name)
            seconds = solver.cost(task.query) if hasattr(solver, "cost") else None
            priced.append(_Priced(index, seconds or 0.0))
    return priced


def _too_dear(task: Task | Prediction, seconds: float, budget: float, left: float) -> Prediction:
    name = task.entry.name if isinstance(task, Task) else ""
    total = format_seconds(budget)
    over = "beyond" if seconds > budget else f"and {format_seconds(left)} is left of"
    message = (
        f"takes about {format_seconds(seconds)}, {over} the budget of {total}; "
        f"name it (-s {name}), or allow more (--budget)"
    )
    return Prediction(status=Status.REFUSED, message=message, details={"cost": seconds})
