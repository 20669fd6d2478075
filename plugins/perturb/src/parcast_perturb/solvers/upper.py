"""``perturb.upper``: an upper bound without comparing clocks: unknown slack is 0."""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption, Prediction, Query
from parcast_perturb.solvers.costs import cost
from parcast_perturb.solvers.question import (
    clock_assumption,
    common_assumptions,
    question_of,
    refusal,
)


def assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what the upper bound assumes."""
    yield clock_assumption(query, "every message was waited for")
    yield from common_assumptions(query)


class Upper:
    """Not below the time, without comparing clocks."""

    cost = staticmethod(cost)
    assumptions = staticmethod(assumptions)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the trace cannot be moved to the machine."""
        return refusal(query)

    def solve(self, query: Query) -> Prediction:
        """Return the bound of what follows a warm-up, which itself ends at the lower bound."""
        question = question_of(query)
        delays = question.propagate("upper")
        warm_up = question.propagate("lower") if question.has_warm_up else delays
        return question.prediction(delays, warm_up)
