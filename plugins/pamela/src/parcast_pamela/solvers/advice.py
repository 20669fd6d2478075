"""What the solvers cost and take for granted, told without solving: for ``parcast advise``.

The seconds are measured: on one core of a server of 2023, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption, Query
from parcast_pamela.language.tree import Use, walk
from parcast_pamela.workload import linked_model, parameters_of

#: Seconds to compile a model's equation and evaluate it, and for an event.
_COMPILED, _EVENT = 5e-3, 1.5e-7


def of_formulas(query: Query) -> float:
    """Return the seconds that compiling takes; sizes and processes make no difference."""
    model = linked_model(query)
    return _COMPILED * (len(model.equations) + len(model.lets))


def of_events(query: Query) -> float | None:
    """Return the seconds that a run takes; None where the model is too large to be run."""
    from parcast.errors import ParcastError
    from parcast_pamela.simulation.program import unfold

    model = linked_model(query)
    try:
        return 2e-3 + _EVENT * unfold(model, parameters_of(model, query)).events
    except ParcastError:
        return None


def of_bound(query: Query) -> Iterator[Assumption]:
    """Yield what T^l takes for granted."""
    dropped = query.workload.content.form == "free" and query.p > 1
    yield Assumption(
        "processes wait for all others at once, never for a single message",
        "form free leaves out waits for single messages" if dropped else "",
    )


def of_path(query: Query) -> Iterator[Assumption]:
    """Yield what the critical path takes for granted."""
    yield from of_bound(query)
    used = _used(query)
    yield Assumption(
        "no contention: nothing waits for a resource",
        f"contention for {', '.join(used)} is left out" if used else "",
    )


def of_sim(query: Query) -> Iterator[Assumption]:
    """Yield what a run takes for granted."""
    yield from of_bound(query)
    yield Assumption("servers are first come, first served (option arbitration)")


def _used(query: Query) -> list[str]:
    """Return the resources that the model uses."""
    trees = [equation.body for equation in linked_model(query).equations.values()]
    uses = [node for tree in trees for node in walk(tree) if isinstance(node, Use)]
    return sorted({use.resource for use in uses})
