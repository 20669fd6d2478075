"""Explanations: which modelling choice makes two answers differ, found by leaving it out.

A row that is more than 5 % from the one that departs least from the question is asked again, and
that one too, with one choice left out at a time: contention, the law of random times, messages
that cost time, and so on. What brings the two nearest to each other is left out for good, and the
rest is tried again, until they agree or nothing helps. What is left then is in the method itself,
and the parts of both times say where.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison import inputs
from parcast.comparison.compare import compare
from parcast.comparison.grid import Placed, Scenario, listed
from parcast.comparison.setting_values import set_values
from parcast.comparison.settings import Settings
from parcast.model.answers import Answers
from parcast.model.machine import Machine
from parcast.model.query import Parts, Status
from parcast.quantities.units import format_seconds
from parcast.results.results import Results
from parcast.results.row import Row

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: Two answers within this are the same.
SAME = 1.05

#: What leaving a choice out must at least take from a difference, in its logarithm.
LEAST = 0.1

#: A bandwidth at which nothing takes time.
ENDLESS = 1e30


@attrs.frozen
class Step:
    """A choice that was left out, beside those before it, and what it left of the difference."""

    choice: str
    ratio: float


@attrs.frozen(kw_only=True)
class Explanation:
    """Why one solver's time differs from another's at one point."""

    workload: str
    machine: str
    p: int
    d: int
    solver: str
    against: str
    ratio: float  #: of the time to that of ``against``
    steps: tuple[Step, ...]
    rest: str = ""  #: where the difference is that no choice explains; empty where there is none

    def __str__(self) -> str:
        clauses = [f"{self.solver} is {_apart(self.ratio)} {self.against} at p = {self.p}"]
        for index, step in enumerate(self.steps):
            clauses.append(
                f"without {step.choice}{' too' if index else ''} {_apart(step.ratio)} it"
            )
        return "; ".join([*clauses, self.rest] if self.rest else clauses)


@attrs.frozen(kw_only=True)
class _Point:
    """What is asked at one p, with some choices left out."""

    registry: Catalog
    workload: Any
    machine: Machine
    p: int
    d: int
    settings: Mapping[str, Any]
    mapping: Placed
    seed: int
    without: frozenset[str] = frozenset()
    answers: Answers = attrs.field(factory=partial(Answers, 100))  #: whatever is left out

    def ask(self, solver: str) -> Row:
        """Return a solver's answer; the same question is asked once."""
        make = partial(
            compare,
            self.registry,
            self.workload,
            self.machine,
            p=self.p,
            d=self.d,
            solvers=[solver],
            mapping=self.mapping,
            settings=self.settings,
            seed=self.seed,
        )
        return self.answers.once((solver, *sorted(self.without)), make).rows[0]

    def with_values(self, values: Mapping[str, Any], **others: Any) -> _Point:
        """Return the point with these values of the machine, and of its own fields."""
        machine = set_values(self.machine, self.registry, values)
        return attrs.evolve(self, machine=machine, **others)


#: From a point to the point without a choice; None where it has none.
_Without = Callable[[_Point], _Point | None]


def explain(
    registry: Catalog,
    results: Results,
    workload: Any,
    machine: Any,
    *,
    mapping: Placed = "block",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> list[Explanation]:
    """Say of every row that differs by more than 5 % which choice does it.

    Parameters
    ----------
    registry
        Where names are looked up.
    results
        The rows, as `parcast.comparison.compare.compare` returned them.
    workload, machine, mapping, settings, seed
        As they were given there.

    Returns
    -------
    list of Explanation
        One for each row that differs from the one at its point that departs least from the
        question: the fewest lowerings, then the fewest notes.
    """
    works = {
        work.name: work for work in (inputs.workload(registry, item) for item in listed(workload))
    }
    machines = {
        mach.name: mach for mach in (inputs.machine(registry, item) for item in listed(machine))
    }
    chosen = Settings.sort(settings or {}, registry, works.values())
    explanations = []
    for (work, mach, p, d), rows in _points(results).items():
        scenario = Scenario(workload=works[work], machine=machines[mach], settings=chosen)
        point = _Point(
            registry=registry,
            workload=works[work],
            machine=scenario.query(registry, p, d).machine,
            p=p,
            d=d,
            settings={**chosen.parameters, **chosen.options},
            mapping=mapping,
            seed=seed,
        )
        anchor = min(rows, key=lambda row: (len(row.lowering), len(row.notes)))
        explanations += [
            _explained(point, row, anchor) for row in rows if not _same(_ratio(row, anchor))
        ]
    return explanations


def _points(results: Results) -> dict[tuple[str, str, int, int], list[Row]]:
    points: dict[tuple[str, str, int, int], list[Row]] = defaultdict(list)
    for row in results.rows:
        if row.status is Status.OK and row.time:
            points[row.workload, row.machine, row.p, row.d].append(row)
    return points


def _explained(point: _Point, row: Row, anchor: Row) -> Explanation:
    pair, steps = (row, anchor), []
    left = dict(_choices(point.registry, (row.solver, anchor.solver)))
    while not _same(_ratio(*pair)):
        tried = [
            (_distance(_ratio(*answers)), name, at, answers)
            for name, at in _each_without(point, left)
            if all((answers := (at.ask(row.solver), at.ask(anchor.solver)))[i].time for i in (0, 1))
        ]
        nearest = min(tried, key=lambda attempt: attempt[0], default=None)
        if nearest is None or nearest[0] > (1 - LEAST) * _distance(_ratio(*pair)):
            break
        _, name, point, pair = nearest
        del left[name]
        steps.append(Step(name, _ratio(*pair)))
    return Explanation(
        workload=row.workload,
        machine=row.machine,
        p=row.p,
        d=row.d,
        solver=row.solver,
        against=anchor.solver,
        ratio=_ratio(row, anchor),
        steps=tuple(steps),
        rest="" if _same(_ratio(*pair)) else _rest(*pair),
    )


def _each_without(point: _Point, left: Mapping[str, _Without]) -> Iterator[tuple[str, _Point]]:
    """Yield the point without each of the choices it has."""
    for name, without in left.items():
        at = without(point)
        if at is not None:
            yield name, attrs.evolve(at, without=point.without | {name})


def _choices(registry: Catalog, solvers: Iterable[str]) -> Iterator[tuple[str, _Without]]:
    """Yield the choices that can be left out, by name."""
    yield "contention", _without_contention
    yield "waiting for disks", _without_shared_disks
    for part in registry.parts.values():
        if part.choice:
            yield part.choice, _without_part(part.name)
    for solver in solvers:
        for name, options in registry.solvers[solver].choices.items():
            yield f"{solver}'s {name}", _with_options(solver, options)
    yield "unequal nodes", _without_groups
    yield "limits of memory", _without_memory
    yield "the cost of messages", _without_messages


def _without_contention(point: _Point) -> _Point | None:
    network = point.machine.network
    shared = network.contention not in {None, "none"}
    if shared or network.saturation is not None or network.contention_level:
        return point.with_values({"network.contention": "none"})
    return None


def _without_shared_disks(point: _Point) -> _Point | None:
    if point.machine.storage.bandwidth is None:
        return None
    return point.with_values({"storage.layout": "cluster", "storage.disks": point.p}, d=point.p)


def _without_messages(point: _Point) -> _Point | None:
    network = point.machine.network
    if network.startup is None and network.bandwidth is None:
        return None
    names = ["startup", "overhead", "overhead_per_byte"]
    names += ["overhead_receive"] * (network.overhead_receive is not None)
    values: dict[str, Any] = {f"network.{name}": 0.0 for name in names}
    values |= {"network.bandwidth": ENDLESS, "network.contention": "none"}
    if network.local is not None:
        values |= {"network.local.startup": 0.0, "network.local.bandwidth": ENDLESS}
    return point.with_values(values)


def _without_part(name: str) -> _Without:
    def without(point: _Point) -> _Point | None:
        if name not in point.machine.parts:
            return None
        parts, data = (
            {key: value for key, value in mapping.items() if key != name}
            for mapping in (point.machine.parts, point.machine.data)
        )
        return attrs.evolve(point, machine=attrs.evolve(point.machine, parts=parts, data=data))

    return without


def _with_options(solver: str, options: Mapping[str, Any]) -> _Without:
    values = {f"{solver}.{name}": value for name, value in options.items()}
    return lambda point: attrs.evolve(point, settings={**point.settings, **values})


def _without_groups(point: _Point) -> _Point | None:
    return point.with_values({"nodes.groups": ()}) if point.machine.nodes.groups else None


def _without_memory(point: _Point) -> _Point | None:
    nodes, names = point.machine.nodes, ("memory_bandwidth", "core_bandwidth")
    stated = {f"nodes.{name}": ENDLESS for name in names if getattr(nodes, name)}
    return point.with_values(stated) if stated else None


def _rest(row: Row, anchor: Row) -> str:
    """Say where two times differ that no choice brings together."""
    if row.time in {row.lower, row.upper}:
        return f"it is {'a lower' if row.time == row.lower else 'an upper'} bound"
    if row.parts is None or anchor.parts is None:
        steps = [step for step in row.lowering if step not in anchor.lowering]
        where = f"in the conversion {steps[0]}" if steps else "in the method"
        return f"the rest is {where}"
    names = (field.name for field in attrs.fields(Parts))
    parts = zip(names, row.parts.values(), anchor.parts.values(), strict=True)
    name, seconds, anchor_seconds = max(parts, key=lambda part: abs(part[1] - part[2]))
    times = f"{format_seconds(seconds)} against {format_seconds(anchor_seconds)}"
    return f"the rest is mostly {name}: {times}"


def _ratio(row: Row, anchor: Row) -> float:
    return (row.time or math.nan) / (anchor.time or math.nan)


def _distance(ratio: float) -> float:
    return abs(math.log(ratio))


def _same(ratio: float) -> bool:
    return 1 / SAME <= ratio <= SAME


def _apart(ratio: float) -> str:
    if _same(ratio) and f"{abs(ratio - 1):.1%}" == "0.0%":
        return "equal to"
    if ratio >= 2:
        return f"{ratio:.3g} times"
    return f"{100 * abs(ratio - 1):.2g} % {'above' if ratio > 1 else 'below'}"
