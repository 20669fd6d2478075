"""``perturb.upper`` and ``perturb.lower``: bounds without comparing clocks.

For the upper bound unknown slack is 0, for the lower one it is unlimited.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from parcast import Assumption, Prediction, Query, UnsupportedError
from parcast_perturb.solvers.costs import cost
from parcast_perturb.solvers.question import (
    check_graph,
    clock_assumption,
    common_assumptions,
    question_of,
    refusal,
    shortfall,
)
from parcast_traces.workload import Traced


def upper_bound() -> Bound:
    """Return the solver whose time is not below the perturbed one."""
    return Bound("upper", "lower", "every message was waited for")


def lower_bound() -> Bound:
    """Return the solver whose time is not above the perturbed one."""
    return Bound("lower", "upper", "messages were there as early as they can have been")


@attrs.frozen
class Bound:
    """Propagates delays with the slack that a policy takes where clocks say none."""

    policy: str
    opposite: str  #: the policy of the other bound
    consequence: str  #: for messages, of clocks that cannot be compared

    cost = staticmethod(cost)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the trace cannot be moved to the machine."""
        return refusal(query, self._check_shared)

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what the bound assumes."""
        yield clock_assumption(query, self.consequence)
        yield from common_assumptions(query)

    def _check_shared(self, query: Query) -> None:
        check_graph(query)
        content: Traced = query.workload.content
        if content.is_less and self.policy == "upper":
            raise UnsupportedError(
                f"machine {query.machine.name!r} has {shortfall(content)}, which a message graph "
                "has not: there is no upper bound; ask perturb.simulated or perturb.lower"
            )

    def solve(self, query: Query) -> Prediction:
        """Return the bound of what follows a warm-up, which itself ends at the opposite bound."""
        question = question_of(query)
        delays = question.propagate(self.policy)
        warm_up = question.propagate(self.opposite) if question.has_warm_up else delays
        return question.prediction(delays, warm_up)
