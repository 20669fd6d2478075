"""Tasks and outcomes: a query brought to one solver, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from parcast.model.query import Prediction, Query
from parcast.plugins.entries import SolverEntry

if TYPE_CHECKING:
    from parcast.comparison.repeated import Repeated

Tell = Callable[[str], None]  #: hears, in words for people, what is being done


def silent(_text: str) -> None:
    """Tell nobody."""


#: The detail of an answer that the host spoiled, and that no study keeps: the kind of error.
PASSING = "passing"


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
