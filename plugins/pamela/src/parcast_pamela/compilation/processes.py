"""Processes as formulas: equations (1) to (5) of the paper, loop by loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from parcast_pamela.algebra.demands import Instances
from parcast_pamela.algebra.nests import Demand, merge_demands
from parcast_pamela.algebra.polynomials import Polynomial, Symbol
from parcast_pamela.compilation.expressions import Lowering
from parcast_pamela.compilation.scope import Scope
from parcast_pamela.language.tree import Call, Delay, If, Loop, Parallel, Process, Use
from parcast_pamela.language.tree import Sequence as InSequence


@attrs.frozen
class Part:
    """The formulas of one process.

    ``inner_bound`` is T^l without the demands of the process itself where it is parallel: a
    parallel process directly around it has them among its own, which are no less. ``full_bound``
    is T^l.
    """

    path: Polynomial  #: phi
    weighed: Polynomial  #: phi with use(r, t) weighing t (1 - 1/|r|)
    load: Polynomial  #: the sum of all demands per server
    inner_bound: Polynomial
    full_bound: Callable[[], Polynomial]
    demands: tuple[Demand, ...] = ()


class Processes:
    """Turns processes into formulas."""

    def __init__(self, lowering: Lowering, transfers: str = "") -> None:
        self.transfers = transfers  # an equation whose calls take their own T^l on the path
        self.lowering, self.model, self.algebra = lowering, lowering.model, lowering.algebra
        self.kernel, self.rules = self.algebra.kernel, self.algebra.rules
        self.nothing = self.kernel.number(0)
        self._called: dict[object, Part] = {}
        self._contention: dict[object, Polynomial] = {}
        self._ranges: dict[str, Instances] = {}

    def part(self, node: Process, scope: Scope) -> Part:
        """Return the formulas of a process."""
        match node:
            case Delay():
                time = self._time(node, scope)
                return Part(time, time, self.nothing, time, lambda: time)
            case Use():
                return self._use(node, scope)
            case InSequence():
                return self._sequence([self.part(part, scope) for part in node.parts])
            case Parallel():
                return self._parallel([self.part(part, scope) for part in node.parts])
            case Loop():
                return self._loop(node, scope)
            case If():
                return self._if(node, scope)
            case Call():
                return self._call(node, scope)

    def _time(self, node: Use | Delay, scope: Scope) -> Polynomial:
        time = self.lowering.value(node.time, scope)
        self.lowering.guards.nonneg(
            time, "a time is below 0; it must be 0 or more", node.position, scope
        )
        return time

    def _use(self, node: Use, scope: Scope) -> Part:
        time = self._time(node, scope)
        indices = tuple(self.lowering.value(index, scope) for index in node.indices)
        if node.indices:
            indices = self._checked(node, indices, scope)
        servers = self.lowering.servers(node.resource, indices)
        share = time / servers if servers.terms else self.nothing
        return Part(
            path=time,
            weighed=time - share,
            load=share,
            inner_bound=time,
            full_bound=lambda: time,
            demands=(Demand(node.resource, indices, time),) if servers.terms else (),
        )

    def _checked(
        self, node: Use, indices: tuple[Polynomial, ...], scope: Scope
    ) -> tuple[Polynomial, ...]:
        """Return the indices, keeping as guards that they are whole and in range."""
        checked, name = [], node.resource
        ranges = self.instances(name).ranges
        for stated, (low, high) in zip(indices, ranges, strict=True):
            message = f"an index of {name} is not a whole number"
            index = self.lowering.guards.whole(stated, message, node.position, scope)
            for inside in (index - low, high - index):
                if not self.rules.signs.nonneg(inside):
                    ends = map(self.lowering.parameters.restored, (low, high))
                    message = f"an index of {name} is not in {'..'.join(map(repr, ends))}"
                    self.lowering.guards.nonneg(inside, message, node.position, scope)
            checked.append(index)
        return tuple(checked)

    def instances(self, name: str) -> Instances:
        """Return the ranges and the multiplicity of a resource."""
        if name not in self._ranges:
            resource = self.model.resources[name]
            ranges = tuple(
                self.lowering.range(span.first, span.last, Scope({})) for span in resource.dims
            )
            labels: list[Symbol] = []
            for low, high in ranges:
                labels.append(self.kernel.index(low, high, labels))
            servers = self.lowering.servers(name, tuple(map(self.kernel.value, labels)))
            self._ranges[name] = Instances(ranges, servers, tuple(labels))
        return self._ranges[name]

    def _sequence(self, parts: Sequence[Part]) -> Part:
        if len(parts) == 1:
            return parts[0]
        bound = self.kernel.total(part.full_bound() for part in parts)
        return Part(
            path=self.kernel.total(part.path for part in parts),
            weighed=self.kernel.total(part.weighed for part in parts),
            load=self.kernel.total(part.load for part in parts),
            inner_bound=bound,
            full_bound=lambda: bound,
            demands=_joined(parts),
        )

    def _parallel(self, parts: Sequence[Part]) -> Part:
        demands = _joined(parts)
        inside = self.rules.maximum(part.inner_bound for part in parts)
        return Part(
            path=self.rules.maximum(part.path for part in parts),
            weighed=self.rules.maximum(part.weighed for part in parts),
            load=self.kernel.total(part.load for part in parts),
            inner_bound=inside,
            full_bound=lambda: self._with_contention(inside, demands),
            demands=demands,
        )

    def _loop(self, node: Loop, scope: Scope) -> Part:
        low, high = self.lowering.range(node.first, node.last, scope)
        start, step = low, self.kernel.number(1)
        if node.step is not None:
            message = "a step must be a whole number, 1 or more"
            step = self.lowering.value(node.step, scope)
            step = self.lowering.guards.whole(step, message, node.position, scope)
            self.lowering.guards.nonneg(step - 1, message, node.position, scope)
            low, high = self.nothing, self.rules.floor((high - low) / step)
        index = self.kernel.index(low, high, scope.loops)
        value = self.kernel.value(index)
        if node.step is not None:
            value = start + step * value
        body = self.part(node.body, scope.looped(node.index, index, value))
        demands = tuple(
            attrs.evolve(demand, loops=(index, *demand.loops)) for demand in body.demands
        )
        load = self.algebra.sums.sum(index, body.load)
        if node.parallel:
            return self._looped_parallel(index, body, load, demands)
        total = self.algebra.sums.sum
        bound = total(index, body.full_bound())
        return Part(
            path=total(index, body.path),
            weighed=total(index, body.weighed),
            load=load,
            inner_bound=bound,
            full_bound=lambda: bound,
            demands=demands,
        )

    def _looped_parallel(
        self, index: Symbol, body: Part, load: Polynomial, demands: tuple[Demand, ...]
    ) -> Part:
        top = self.algebra.extremes.top
        inside = self.nothing if self._covered(body) else top(index, body.inner_bound)
        return Part(
            path=top(index, body.path),
            weighed=top(index, body.weighed),
            load=load,
            inner_bound=inside,
            full_bound=lambda: self._with_contention(inside, demands),
            demands=demands,
        )

    def _covered(self, body: Part) -> bool:
        """Return whether T^l of one iteration is its demand on a single server (D2).

        The sum of these over all iterations is among the demands, and never less.
        """
        for name, demands in _by_resource(body.demands).items():
            if not self.algebra.sums.closed:
                return False
            instances = self.instances(name)
            single = not instances.ranges and instances.servers.constant == 1
            if single and self.algebra.demands.largest(demands, instances) is body.inner_bound:
                return True
        return False

    def _if(self, node: If, scope: Scope) -> Part:
        chance = self.lowering.conditions.truth(node.condition, scope)
        may, must = self.lowering.conditions.possible(node.condition, scope)
        yes = self.part(node.then, scope.if_(may)) if may.terms else self._sequence([])
        no = 1 - must
        otherwise = self.part(node.otherwise, scope.if_(no)) if no.terms else self._sequence([])

        def mean(left: Polynomial, right: Polynomial) -> Polynomial:
            return chance * left + (1 - chance) * right

        def worst(left: Polynomial, right: Polynomial) -> Polynomial:
            if may is must:
                return may * left + no * right
            return self.rules.maximum([may * left, no * right])

        bound = mean(yes.full_bound(), otherwise.full_bound())
        demands = [
            attrs.evolve(demand, time=factor * demand.time)
            for part, factor in ((yes, chance), (otherwise, 1 - chance))
            for demand in part.demands
        ]
        return Part(
            path=mean(yes.path, otherwise.path),
            weighed=worst(yes.weighed, otherwise.weighed),
            load=worst(yes.load, otherwise.load),
            inner_bound=bound,
            full_bound=lambda: bound,
            demands=tuple(demand for demand in demands if demand.time.terms),
        )

    def _call(self, node: Call, scope: Scope) -> Part:
        values = tuple(self.lowering.value(argument, scope) for argument in node.arguments)
        key = node.name, values, scope.loops, scope.condition
        if key not in self._called:
            equation = self.model.equations[node.name]
            local = dict(zip(equation.formals, values, strict=True))
            part = self.part(equation.body, scope.within(local))
            if node.name == self.transfers:
                part = attrs.evolve(part, path=part.full_bound())
            self._called[key] = part
        return self._called[key]

    def _with_contention(self, inside: Polynomial, demands: tuple[Demand, ...]) -> Polynomial:
        return self.rules.maximum([inside, *self.contention(demands).values()])

    def contention(self, demands: Iterable[Demand]) -> dict[str, Polynomial]:
        """Return the largest demand per server on any instance, for each resource."""
        largest = {}
        for name, of_resource in _by_resource(demands).items():
            key = name, tuple(of_resource)
            if key not in self._contention:
                self._contention[key] = self.algebra.demands.largest(
                    of_resource, self.instances(name)
                )
            largest[name] = self._contention[key]
        return largest


def _joined(parts: Sequence[Part]) -> tuple[Demand, ...]:
    """Return the demands of all parts."""
    return tuple(merge_demands(demand for part in parts for demand in part.demands))


def _by_resource(demands: Iterable[Demand]) -> dict[str, list[Demand]]:
    by_resource: dict[str, list[Demand]] = {}
    for demand in demands:
        by_resource.setdefault(demand.resource, []).append(demand)
    return by_resource
