"""The paper's equations (1) to (5), evaluated by going through every loop, in exact numbers.

This is the meaning of the compiled formulas: slow, plain, and what they are held against.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import groupby
from typing import Any

import attrs

from parcast_pamela.evaluation import MOST_STEPS, Evaluator, Local
from parcast_pamela.language.arrays import Bound
from parcast_pamela.language.errors import ModelValueError
from parcast_pamela.language.functions import Exact, exact
from parcast_pamela.language.model import Model
from parcast_pamela.language.tree import (
    Call,
    Delay,
    If,
    Loop,
    Name,
    Parallel,
    Process,
    Sequence,
    Use,
    walk,
)

Instance = tuple[str, tuple[int, ...]]
#: So many parts are cached, one for each value of the names that it depends on.
_MOST_CACHED = 1000


@attrs.frozen
class Bounds:
    """What the equations give for one model at one set of parameters.

    ``demand`` and ``contention`` (omega) are expectations where the model has ``bern``;
    ``upper`` is for the worst branches.
    """

    critical_path: Exact  #: phi, equation (2)
    demand: Mapping[Instance, Exact]  #: delta, equation (3)
    contention: Exact  #: omega, equation (4)
    bound: Exact  #: T^l, equation (5)
    upper: Exact  #: T^u, a rigorous upper bound for work-conserving arbitration


@attrs.frozen
class _Part:
    """The quantities of one process."""

    path: Exact = 0
    bound: Exact = 0
    weighed: Exact = 0  #: the longest path with use(r, t) weighing t (1 - 1/|r|)
    demand: Mapping[Instance, Exact] = attrs.field(factory=dict)
    load: Exact = 0  #: the sum of all demands per server


def bounds_at(
    model: Model, bound: Mapping[str, Bound], *, step_limit: int = MOST_STEPS, transfers: str = ""
) -> Bounds:
    """Return phi, delta, omega, T^l and T^u of a model.

    Parameters
    ----------
    model
        Without missing equations.
    bound
        Values of parameters; see `parcast_pamela.bindings.bind`.
    step_limit
        How many steps it may take.
    transfers
        An equation whose calls take their own T^l on the critical path.

    Raises
    ------
    ModelValueError
        If the model has no value there, or takes more steps.
    """
    enumeration = _Enumeration(model, Evaluator(model, bound, step_limit), transfers)
    whole = enumeration.part(model.equations[model.root].body, {})
    return Bounds(
        critical_path=whole.path,
        demand={key: value for key, value in whole.demand.items() if value},
        contention=enumeration.contention(whole.demand),
        bound=whole.bound,
        upper=exact(whole.weighed + whole.load),
    )


class _Enumeration:
    def __init__(self, model: Model, evaluator: Evaluator, transfers: str) -> None:
        self.model, self.evaluator, self.transfers = model, evaluator, transfers
        self.servers: dict[Instance, Exact] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._parts: dict[tuple[Any, ...], _Part] = {}

    def contention(self, demand: Mapping[Instance, Exact]) -> Exact:
        """Return the largest demand per server."""
        return exact(max((value * self._share(key) for key, value in demand.items()), default=0))

    def _share(self, key: Instance) -> Fraction:
        servers = self.servers[key]
        return Fraction(1, int(servers)) if servers else Fraction(0)

    def part(self, node: Process, local: Local) -> _Part:
        match node:
            case Delay():
                time = self._time(node, local)
                return _Part(time, time, time)
            case Use():
                return self._use(node, local)
            case Sequence():
                return _one_after_another([self.part(part, local) for part in node.parts])
            case Parallel():
                return self._all_at_once([self.part(part, local) for part in node.parts])
            case Loop():
                span = self.evaluator.range(node.first, node.last, node.step, local, node.position)
                parts = self._iterations(node, span, local)
                return self._all_at_once(parts) if node.parallel else _one_after_another(parts)
            case If():
                return self._either(node, local)
            case Call():
                self.evaluator.spend(1, node.position)
                values = [self.evaluator.value(argument, local) for argument in node.arguments]
                equation = self.model.equations[node.name]
                inner = dict(zip(equation.formals, values, strict=True))
                part = self._cached(equation.body, inner, tuple(values))
                transfer = node.name == self.transfers
                return attrs.evolve(part, path=part.bound) if transfer else part

    def _iterations(self, node: Loop, span: range, local: Local) -> list[_Part]:
        """Return a part for each iteration; those that differ in no name they use are one."""
        names = self._names.get(id(node))
        if names is None:
            used = (inner.name for inner in walk(node.body) if isinstance(inner, Name))
            names = self._names[id(node)] = frozenset(used)
        outer = {name: value for name, value in local.items() if name in names}
        values = tuple(outer.values())
        if node.index not in names:
            return [self._cached(node.body, outer, values)] * len(span) if span else []
        if len(outer) == len(local):
            return [self.part(node.body, {**local, node.index: i}) for i in span]
        return [self._cached(node.body, {**outer, node.index: i}, (*values, i)) for i in span]

    def _cached(self, node: Process, local: Local, values: tuple[Any, ...]) -> _Part:
        key = id(node), values
        part = self._parts.get(key)
        if part is None:
            if len(self._parts) >= _MOST_CACHED:
                self._parts.clear()
            part = self._parts[key] = self.part(node, local)
        return part

    def _time(self, node: Use | Delay, local: Local) -> Exact:
        time = self.evaluator.value(node.time, local)
        if time < 0:
            raise ModelValueError(
                f"the time is {float(time):g}; it must be 0 or more", node.position
            )
        return time

    def _use(self, node: Use, local: Local) -> _Part:
        time = self._time(node, local)
        indices = self.evaluator.instance(node.resource, node.indices, local, node.position)
        key = node.resource, indices
        if key not in self.servers:
            self.servers[key] = self.evaluator.servers(
                node.resource, node.indices, local, node.position
            )
        share = exact(time * self._share(key))
        return _Part(time, time, exact(time - share), {key: time}, share)

    def _all_at_once(self, parts: list[_Part]) -> _Part:
        demand = _total(parts)
        longest = max((part.bound for part in parts), default=0)
        return _Part(
            max((part.path for part in parts), default=0),
            max(longest, self.contention(demand)),
            max((part.weighed for part in parts), default=0),
            demand,
            exact(sum(part.load for part in parts)),
        )

    def _either(self, node: If, local: Local) -> _Part:
        chance = self.evaluator.probability(node.condition, local)
        never, always = self.evaluator.certain(node.condition, local)
        nothing = _Part()
        then = nothing if never else self.part(node.then, local)
        otherwise = nothing if always else self.part(node.otherwise, local)

        def mean(a: Exact, b: Exact) -> Exact:
            return exact(chance * a + (1 - chance) * b)

        keys = {*then.demand, *otherwise.demand}
        return _Part(
            mean(then.path, otherwise.path),
            mean(then.bound, otherwise.bound),
            max(then.weighed, otherwise.weighed),
            {key: mean(then.demand.get(key, 0), otherwise.demand.get(key, 0)) for key in keys},
            max(then.load, otherwise.load),
        )


def _one_after_another(parts: list[_Part]) -> _Part:
    return _Part(
        exact(sum(part.path for part in parts)),
        exact(sum(part.bound for part in parts)),
        exact(sum(part.weighed for part in parts)),
        _total(parts),
        exact(sum(part.load for part in parts)),
    )


def _total(parts: list[_Part]) -> Mapping[Instance, Exact]:
    """Return the demands of parts together, those that stand in a row again and again at once."""
    if len(parts) == 1:
        return parts[0].demand
    total: dict[Instance, Exact] = {}
    for _, same in groupby(parts, id):
        part, *others = same
        times = 1 + len(others)
        for key, value in part.demand.items():
            total[key] = total.get(key, 0) + times * value
    return total
