"""What the solvers ask of a model first: whether there is one, and what its formulas assume."""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption, Query
from parcast.errors import ParcastError
from parcast_pamela.workload import linked_model

#: Seconds to evaluate an equation: on one core, by ``core/benchmarks/costs.py``.
_EVALUATED = 2e-4


def refusal(query: Query) -> str | None:
    """Return None, or what keeps the workload from having a model on the machine."""
    try:
        linked_model(query)
    except ParcastError as error:
        return str(error)
    return None


def waits_assumption(query: Query) -> Iterator[Assumption]:
    """Yield what a model takes for granted of processes that wait."""
    if query.workload.content.form == "numbers":
        return
    dropped = query.workload.content.form == "free" and query.p > 1
    yield Assumption(
        "processes wait for all others at once, never for a single message",
        "pamela.form=free leaves out waits for single messages" if dropped else "",
    )


def formula_cost(query: Query) -> float:
    """Return the seconds of formulas; sizes and processes make no difference."""
    model = linked_model(query)
    return _EVALUATED * (len(model.equations) + len(model.lets))
