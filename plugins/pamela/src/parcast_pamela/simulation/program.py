"""A model at one set of parameters as columns of nodes, loops kept where iterations are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast.errors import UnsupportedError
from parcast_pamela.bindings import bind
from parcast_pamela.evaluation import Evaluator, Local
from parcast_pamela.language.errors import ModelValueError
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
from parcast_pamela.simulation.kernel import CHOICE, DELAY, FORK, PARALLEL, REPEAT, SEQUENCE, USE

#: Models that take more services and delays, or have more at once, are refused.
MOST_EVENTS, MOST_AT_ONCE = 100_000_000, 20_000_000


@attrs.frozen(eq=False)
class Simulation:
    """Columns as `parcast_pamela.simulation.kernel.run` takes them, and what resources are."""

    kind: list[int]
    first: list[int]
    count: list[int]
    time: list[float]
    children: list[int]
    servers: list[int]
    resources: list[str]
    events: int  #: services and delays of one run, at most
    random: bool  #: whether conditions are drawn


def unfold(model: Model, parameters: Mapping[str, Any]) -> Simulation:
    """Return a model at a set of parameters, ready to be run.

    Raises
    ------
    UnsupportedError
        If it takes more than 100 million services and delays, or 20 million at once.
    ModelValueError
        If it has no value there.
    """
    bound = bind(model, parameters)
    builder = _Builder(model, Evaluator(model, bound))
    try:
        root = builder.build(model.equations[model.root].body, {})
    except ModelValueError as error:
        if "pamela.bound" in str(error):
            raise UnsupportedError(_too_large(model, "many different iterations")) from None
        raise
    events, width = builder.size[root]
    if events > MOST_EVENTS:
        raise UnsupportedError(_too_large(model, f"{events:.3g} services and delays"))
    if width > MOST_AT_ONCE:
        raise UnsupportedError(_too_large(model, f"{width:.3g} processes at once"))
    builder.node(SEQUENCE, [root], 1, 0.0, builder.size[root])
    kind, first, count, time = zip(*builder.nodes, strict=True)
    return Simulation(
        kind=list(kind),
        first=list(first),
        count=list(count),
        time=list(time),
        children=builder.children,
        servers=list(builder.servers.values()),
        resources=list(builder.servers),
        events=events,
        random=builder.random,
    )


def _too_large(model: Model, amount: str) -> str:
    return f"{model.name} has {amount}, too many to simulate; pamela.bound has a formula for it"


class _Builder:
    def __init__(self, model: Model, evaluator: Evaluator) -> None:
        self.model, self.evaluator = model, evaluator
        self.nodes: list[tuple[int, int, int, float]] = []
        self.children: list[int] = []
        self.servers: dict[str, int] = {}
        self.size: dict[int, tuple[int, int]] = {}
        self.random = False
        self._numbers: dict[str, int] = {}
        self._known: dict[Any, int] = {}
        self._names: dict[int, frozenset[str]] = {}

    def build(self, node: Process, local: Local) -> int:
        """Return the number of the node of a process; alike processes share one."""
        names = self._names.get(id(node))
        if names is None:
            names = frozenset(inner.name for inner in walk(node) if isinstance(inner, Name))
            self._names[id(node)] = names
        key = id(node), tuple((name, local[name]) for name in sorted(names) if name in local)
        if key not in self._known:
            self._known[key] = self._build(node, local)
        return self._known[key]

    def node(
        self, kind: int, children: list[int], count: int, time: float, size: tuple[int, int]
    ) -> int:
        """Return the number of a new node."""
        self.nodes.append((kind, len(self.children), count, time))
        self.children += children
        number = len(self.nodes) - 1
        self.size[number] = size
        return number

    def _build(self, node: Process, local: Local) -> int:
        match node:
            case Delay():
                return self.node(DELAY, [], 0, self._time(node, local), (1, 1))
            case Use():
                return self._use(node, local)
            case Sequence():
                return self._several(SEQUENCE, [self.build(part, local) for part in node.parts])
            case Parallel():
                return self._several(PARALLEL, [self.build(part, local) for part in node.parts])
            case Loop():
                return self._loop(node, local)
            case If():
                return self._if(node, local)
            case Call():
                values = [self.evaluator.value(argument, local) for argument in node.arguments]
                equation = self.model.equations[node.name]
                return self.build(equation.body, dict(zip(equation.formals, values, strict=True)))

    def _time(self, node: Use | Delay, local: Local) -> float:
        time = float(self.evaluator.value(node.time, local))
        if time < 0:
            raise ModelValueError(f"the time is {time:g}; it must be 0 or more", node.position)
        return time

    def _use(self, node: Use, local: Local) -> int:
        time = self._time(node, local)
        indices = self.evaluator.instance(node.resource, node.indices, local, node.position)
        name = f"{node.resource}[{','.join(map(str, indices))}]" if indices else node.resource
        if name not in self.servers:
            servers = self.evaluator.servers(node.resource, node.indices, local, node.position)
            self._numbers[name] = len(self.servers)
            self.servers[name] = int(servers)
        self.nodes.append((USE, self._numbers[name], 0, time))
        self.size[len(self.nodes) - 1] = (1, 1)
        return len(self.nodes) - 1

    def _several(self, kind: int, children: list[int]) -> int:
        sizes = [self.size[child] for child in children]
        widths = [width for _, width in sizes]
        width = sum(widths) if kind == PARALLEL else max(widths, default=1)
        return self.node(kind, children, len(children), 0.0, (sum(e for e, _ in sizes), width + 1))

    def _loop(self, node: Loop, local: Local) -> int:
        body_names = {inner.name for inner in walk(node.body) if isinstance(inner, Name)}
        if node.index in body_names:
            span = self.evaluator.range(node.first, node.last, node.step, local, node.position)
            children = [self.build(node.body, {**local, node.index: i}) for i in span]
            return self._several(PARALLEL if node.parallel else SEQUENCE, children)
        steps = self.evaluator.steps
        counting = Evaluator(self.model, self.evaluator.bound, step_limit=10**30)
        span = counting.range(node.first, node.last, node.step, local, node.position)
        count = max(0, (span.stop - span.start + span.step - 1) // span.step)
        self.evaluator.steps = steps
        if not count:
            return self._several(SEQUENCE, [])
        child = self.build(node.body, local)
        events, width = self.size[child]
        kind = FORK if node.parallel else REPEAT
        total = width * count if node.parallel else width
        return self.node(kind, [child], min(count, 2**62), 0.0, (events * count, total + 1))

    def _if(self, node: If, local: Local) -> int:
        chance = self.evaluator.probability(node.condition, local)
        if chance in {0, 1}:
            return self.build(node.then if chance else node.otherwise, local)
        self.random = True
        children = [self.build(branch, local) for branch in (node.then, node.otherwise)]
        sizes = [self.size[child] for child in children]
        size = max(e for e, _ in sizes), max(w for _, w in sizes) + 1
        return self.node(CHOICE, children, 2, float(chance), size)
