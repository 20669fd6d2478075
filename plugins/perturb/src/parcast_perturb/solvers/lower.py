"""``perturb.lower``: a lower bound without comparing clocks: unknown slack is unlimited."""

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
    """Yield what the lower bound assumes."""
    yield clock_assumption(query, "messages were there as early as they can have been")
    yield from common_assumptions(query)


class Lower:
    """Not above the time, without comparing clocks."""

    cost = staticmethod(cost)
    assumptions = staticmethod(assumptions)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the trace cannot be moved to the machine."""
        return refusal(query)

    def solve(self, query: Query) -> Prediction:
        """Return the bound of what follows a warm-up, which itself ends at the upper bound."""
        question = question_of(query)
        delays = question.propagate("lower")
        warm_up = question.propagate("upper") if question.has_warm_up else delays
        return question.prediction(delays, warm_up)
