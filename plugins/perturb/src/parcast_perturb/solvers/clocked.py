"""``perturb.clocked``: exact where the clocks of all ranks are one, so for every program."""

from __future__ import annotations

import attrs

from parcast import Prediction, Query, UnsupportedError
from parcast_perturb.parts import parts_of
from parcast_perturb.solvers.costs import cost
from parcast_perturb.solvers.question import check_graph, common_assumptions, question_of, refusal
from parcast_traces.workload import Traced


class Clocked:
    """Propagates delays with the slack that the clocks say; it assumes no more than the family."""

    cost = staticmethod(cost)
    assumptions = staticmethod(common_assumptions)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the trace cannot be moved to the machine."""
        return refusal(query, _check_clocks)

    def solve(self, query: Query) -> Prediction:
        """Return the time, and its parts where it is known what calls cost."""
        question = question_of(query)
        itemized = question.itemized
        delays = question.propagate("clocked", every_end=itemized)
        prediction = question.prediction(delays, delays)
        if not itemized or delays.ends is None:
            return prediction
        return attrs.evolve(prediction, parts=parts_of(question.content, delays.ends[:, 0]))


def _check_clocks(query: Query) -> None:
    check_graph(query)
    content: Traced = query.workload.content
    if content.added is None and not content.trace.comparable:
        raise UnsupportedError(
            f"{content.trace.where}: the clocks of its ranks are not known to be one; use "
            "perturb.upper and perturb.lower"
        )
