"""``pamela.bound``: T^l of a model by its formula, with T^u and what binds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import attrs

from parcast.errors import InvalidPointError
from parcast.model import Prediction, Query
from parcast_pamela.bindings import bind
from parcast_pamela.compilation.analysis import regime
from parcast_pamela.compilation.checked import compile_checked
from parcast_pamela.compilation.compiler import Compiled, Values, theta_data
from parcast_pamela.language.tree import Apply, walk
from parcast_pamela.solvers.preparation import formula_cost, refusal, waits_assumption
from parcast_pamela.workload import (
    PROCESSES,
    Content,
    Pamela,
    machine_of,
    parameter_at,
    parameters_of,
)

_NO_PROCESSES = "the model has no parameter P, so p makes no difference"
_NO_MACHINE = "the model leaves nothing to a machine, so pamela.model makes no difference"
#: Resources of programs that are no links
_OTHERS = re.compile(r"disk|pool\d+")
_SOME_BERN = "conditions are probabilities: time and lower are bounds of the mean"


@attrs.frozen(kw_only=True)
class Options:
    """How a program becomes a model: a lower bound, or an estimate that is mostly above.

    ``numbers`` is a lower bound at one p, in which processes wait for each message.
    """

    form: Literal["free", "numbers", "barrier"] = "free"


class Bound:
    """The lower bound T^l; its formula is compiled once and evaluated exactly at each point."""

    supports = staticmethod(refusal)
    assumptions = staticmethod(waits_assumption)
    cost = staticmethod(formula_cost)

    def solve(self, query: Query) -> Prediction:
        """Return the bound at a query."""
        compiled = compiled_of(query)
        bound = bind(compiled.model, parameters_of(compiled.model, query))
        values = compiled.values_at(bound)
        try:
            time = float(values.bound)
            upper = float(values.upper)
        except OverflowError:
            raise InvalidPointError("the time overflows; check the parameters") from None
        notes = [*compiled.notes]
        if PROCESSES not in compiled.model.parameters:
            notes.append(_NO_PROCESSES)
        if machine_of(query) is None and query.machine.part("pamela", Pamela) is not None:
            notes.append(_NO_MACHINE)
        random, form = has_bern(compiled), query.workload.content.form
        if random:
            notes.append(_SOME_BERN)
        details = _details(compiled, bound, values)
        if links := query.workload.content.links:
            _name_links(details, links, time)
        return Prediction(
            time=time,
            lower=None if form == "barrier" else time,
            upper=None if form else max(upper, time),
            # of a program's own critical path nothing tells computing from messages
            binding=_binding(values, details, of_program=bool(form)),
            notes=tuple(notes),
            assumptions=()
            if form
            else tuple(compiled.model.assumption_lines()),  # of programs they are checked
            details=details,
        )

    def solve_many(self, queries: Sequence[Query]) -> list[Prediction]:
        """Return all predictions; each model is compiled once."""
        return [self.solve(query) for query in queries]

    def derivatives(self, query: Query, names: Iterable[str]) -> Mapping[str, float] | None:
        """Return the exact derivatives of the time by parameters, on the active branch.

        A name is a parameter's, or the key path of the machine where its value parameter_of. None
        where one is no number parameter of the model, or a whole one.
        """
        compiled = compiled_of(query)
        parameters = compiled.model.parameters
        parameter_of = {name: parameter_at(compiled.model, query, name) or name for name in names}
        for name in parameter_of.values():
            if name not in parameters or parameters[name].dims or parameters[name].type == "int":
                return None
        bound = bind(compiled.model, parameters_of(compiled.model, query))
        derivatives = regime(compiled, bound, list(parameter_of.values())).derivatives
        return {name: float(derivatives[parameter]) for name, parameter in parameter_of.items()}


def compiled_of(query: Query) -> Compiled:
    """Return the formulas of a query's workload on its machine; the last few are kept."""
    content: Content = query.workload.content
    return _compiled(content, machine_of(query))


@lru_cache(maxsize=32)
def _compiled(content: Content, machine: str | None) -> Compiled:
    return compile_checked(content.model(machine))


def has_bern(compiled: Compiled) -> bool:
    """Return whether a model has conditions that are true with some probability."""
    model = compiled.model
    trees = [equation.body for equation in model.equations.values()]
    lets = [let.body for let in model.lets.values()]
    return any(
        isinstance(node, Apply) and node.name == "bern"
        for tree in (*trees, *lets)
        for node in walk(tree)
    )


def _binding(values: Values, details: Mapping[str, Any], *, of_program: bool) -> str | None:
    """Return the core's word for what binds, where that is certain: synchronization else none."""
    if not values.bound:
        return None
    if "utilization" in details and details["binds"] in details["utilization"]:
        return "network"
    if values.bound == values.critical_path and values.contention < values.bound:
        # of a program's own critical path nothing tells computing from messages
        return None if of_program else "synchronization"
    return None


def _name_links(details: dict[str, Any], links: Sequence[tuple[str, float]], time: float) -> None:
    """Write the names of links, and how much of each is used, where messages share them."""
    details["utilization"] = {name: seconds / time for name, seconds in links if time}
    if details["binds"] in details["demands"] and not _OTHERS.fullmatch(details["binds"]):
        details["binds"] = links[0][0]


def _details(compiled: Compiled, bound: Mapping[str, Any], values: Values) -> dict[str, Any]:
    from parcast_pamela.algebra.exact import ExactValues
    from parcast_pamela.solvers.accuracy import estimate

    evaluate = ExactValues(bound)
    demands = {name: float(evaluate.value(demand)) for name, demand in compiled.demands.items()}
    current = regime(compiled, bound)
    return {
        "formula": repr(compiled.bound),
        "regime": repr(current.active),
        "binds": binds(values, demands),
        "critical_path": float(values.critical_path),
        "contention": float(values.contention),
        "estimate": estimate(values),
        **theta_data(values.theta),
        "demands": demands,
        "elasticities": {name: share for name, share in current.elasticities.items() if share},
    }


def binds(values: Values, demands: Mapping[str, float]) -> str:
    """Return what T^l is at a point: the critical path, a resource, or a sum of several."""
    if not values.bound:
        return "nothing"
    if values.bound == values.contention:
        return max(demands, key=lambda name: demands[name])
    if values.bound == values.critical_path:
        return "critical path"
    return "critical path and contention in turn"
