"""``pamela.path``: the critical path without contention, as most static predictions have it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs

from parcast import Assumption
from parcast.errors import FileError, did_you_mean
from parcast.model import Prediction, Query
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.checked import compile_checked
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.tree import Use, walk
from parcast_pamela.solvers.preparation import formula_cost, refusal, waits_assumption
from parcast_pamela.workload import Content, linked_model, machine_of, parameters_of

_WITHOUT = "contention is left out: the time is too low where anything waits for a resource"


@attrs.frozen(kw_only=True)
class Options:
    """``transfers`` names an equation that takes its own T^l, contention within it included.

    With the transfer of a network this is the latency and bandwidth model: T^t of the paper's
    tables 1 and 2.
    """

    transfers: str = ""


class Path:
    """phi, equation (2)."""

    supports = staticmethod(refusal)
    cost = staticmethod(formula_cost)

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what the critical path takes for granted."""
        yield from waits_assumption(query)
        used = _used(query)
        yield Assumption(
            "there is no contention: nothing waits for a resource",
            f"contention for {', '.join(used)} is left out" if used else "",
        )

    def solve(self, query: Query) -> Prediction:
        """Return the critical path, which is a lower bound too."""
        options: Options = query.options or Options()
        compiled = _compiled(query.workload.content, machine_of(query), options.transfers)
        values = compiled.values_at(bind(compiled.model, parameters_of(compiled.model, query)))
        time = float(values.critical_path)
        note = (
            f"contention is left out, but within {options.transfers}"
            if options.transfers
            else _WITHOUT
        )
        return Prediction(
            time=time,
            lower=time,
            binding="synchronization" if time else None,
            notes=(note,),
            details={"formula": repr(compiled.critical_path)},
        )


def _used(query: Query) -> list[str]:
    """Return the resources that the model uses."""
    trees = [equation.body for equation in linked_model(query).equations.values()]
    uses = [node for tree in trees for node in walk(tree) if isinstance(node, Use)]
    return sorted({use.resource for use in uses})


@lru_cache(maxsize=32)
def _compiled(content: Content, machine: str | None, transfers: str) -> Compiled:
    model = content.model(machine)
    if transfers and transfers not in model.equations:
        hint = did_you_mean(transfers, model.equations)
        raise FileError(f"transfers={transfers!r} is no equation of {content.name}.{hint}")
    return compile_checked(model, transfers=transfers)
