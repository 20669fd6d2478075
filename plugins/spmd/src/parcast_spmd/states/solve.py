"""Means of a network from the shares of its states."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from parcast_spmd.states.model import Route, StatesError, StatesModel
from parcast_spmd.states.moves import Moves
from parcast_spmd.states.overload import check_load
from parcast_spmd.states.stationary import (
    MOST_STATES,
    Explored,
    Floats,
    explore,
    standstill,
    stationary,
)
from parcast_spmd.states.walk import marks_of, named, walk

#: Jobs of open classes that are followed at first, and how many more each time
_FIRST_OPEN, _GROWTH = 6, 1.6
#: Share of arrivals that may find more jobs inside than are followed
_AWAY = 1e-9
#: With more jobs than this the share must fall, and to less than so much of what it was
_ENOUGH, _HARDLY = 40, 0.9


@attrs.frozen(kw_only=True)
class StatesSolution:
    """Steady-state means by node, with a number for each class."""

    method: str
    states: int
    classes: tuple[str, ...]
    #: Jobs that come or cycles, each second; None where the class is counted nowhere
    throughput: tuple[float | None, ...]
    visit_rate: Mapping[str, tuple[float, ...]]
    visit_response: Mapping[str, tuple[float, ...]]
    #: Jobs, tasks or tokens; those in front of a region are at no node
    queue_length: Mapping[str, tuple[float, ...]]
    utilization: Mapping[str, tuple[float, ...]]
    #: Seconds from source to sink, or of a cycle, by class; None where jobs become tokens
    cycle_time: tuple[float | None, ...]
    #: Firings each second, by ``transition/mode``
    firing_rate: Mapping[str, float]
    #: Share of arrivals that are lost, by node
    loss: Mapping[str, float]
    notes: tuple[str, ...] = ()
    #: Of a simulation: half the 95 % intervals of ``queue_length`` and ``visit_rate``
    reach: Mapping[str, Mapping[str, tuple[float, ...]]] = attrs.field(factory=dict)

    def to_data(self) -> dict[str, Any]:
        """Return the solution as data for JSON."""
        return attrs.asdict(self)


@attrs.frozen(eq=False)
class _Means:
    """Means by kind of mark, node and class, and of jobs."""

    rates: Mapping[tuple[str, int, int], float]
    lengths: Mapping[tuple[int, int], float]
    inside: Mapping[int, float]
    states: int


def solve_states(model: StatesModel, most_states: int = MOST_STATES) -> StatesSolution:
    """Return the steady-state means of a network, from the balance of all its states.

    Open classes are followed up to so many jobs that fewer than 1e-9 of the arrivals find more.

    Raises
    ------
    StatesError
        If it has too many states, or no steady state.
    """
    opened = any(node.kind == "source" for node in model.nodes)
    check_load(model)
    most_open, before = _FIRST_OPEN, math.inf
    while True:
        moves = Moves(model, most_open)
        try:
            explored = explore(moves, most_states)
        except StatesError as error:
            if not opened or most_open == _FIRST_OPEN:
                raise
            raise type(error)(
                f"{error} with {most_open:,} jobs of open classes, and more may be inside"
            ) from None
        if jobs := standstill(moves, explored):
            raise StatesError(f"it may come to a standstill, in which nothing happens: {jobs}")
        means = _means(moves, explored, stationary(explored))
        away = _share_away(means)
        if away <= _AWAY:
            return _solution(model, means, most_open if opened and away else None)
        if most_open > _ENOUGH and away > _HARDLY * before:
            raise StatesError(
                f"{away:.3g} of its arrivals find {most_open:,} jobs inside, and hardly fewer find "
                "more: it may have no steady state"
            )
        most_open, before = int(most_open * _GROWTH) + 1, away


def simulate_states(model: StatesModel, seed: int = 0, *, patient: bool = False) -> StatesSolution:
    """Return means of a network as a walk through its states has them, for longer if `patient`.

    Raises
    ------
    StatesError
        As `walk` does.
    """
    walked = walk(model, seed, patient=patient)
    lengths = {name: mean for name, mean in walked.means.items() if len(name) == 2}
    inside = {name[1]: mean for name, mean in lengths.items() if name[0] == "inside"}
    at_nodes = {name: mean for name, mean in lengths.items() if name[0] != "inside"}
    solution = _solution(
        model, _Means(dict(marks_of(walked)), at_nodes, inside, walked.events), None
    )
    known = {node.name: k for k, node in enumerate(model.nodes) if node.name in solution.visit_rate}

    def reach(*kind: str) -> dict[str, tuple[float, ...]]:
        names = {
            name: [(*kind, k, r) for r in range(len(model.classes))] for name, k in known.items()
        }
        return {name: tuple(walked.reach.get(of, 0.0) for of in row) for name, row in names.items()}

    name, share = walked.widest()
    note = (
        f"A simulation of {walked.events:,} events, as states are too many: the 95 % intervals of "
        f"its means reach {share:.2g} of the mean to either side at most, of {named(model, name)}."
    )
    return attrs.evolve(
        solution, method="simulated", notes=(note, *solution.notes),
        reach={"queue_length": reach(), "visit_rate": reach("entered")},
    )  # fmt: skip


def _share_away(means: _Means) -> float:
    away = sum(rate for (kind, _, _), rate in means.rates.items() if kind == "away")
    if not away:
        return 0.0
    entered = {(k, r) for kind, k, r in means.rates if kind == "away"}
    return away / sum(means.rates["entered", k, r] for k, r in entered)


def _means(moves: Moves, explored: Explored, shares: Floats) -> _Means:
    rates = {
        mark: sum(shares[at] * flow for at, flow in flows.items())
        for mark, flows in explored.marks.items()
    }
    lengths: dict[tuple[int, int], float] = defaultdict(float)
    inside: dict[int, float] = defaultdict(float)
    for share, state in zip(shares.tolist(), explored.states, strict=True):
        if not share:
            continue
        for k, job, count in moves.contents.all_of(state):
            lengths[k, job[0]] += share * count
        for r, count in moves.contents.jobs(state).items():
            inside[r] += share * count
    return _Means(rates, lengths, inside, int(np.count_nonzero(shares)))


def _solution(model: StatesModel, means: _Means, most_open: int | None) -> StatesSolution:
    classes = range(len(model.classes))
    known = [k for k, node in enumerate(model.nodes) if node.kind in {"station", "place", "join"}]

    def row(values: Mapping[Any, float], k: int, *kind: str) -> tuple[float, ...]:
        return tuple(float(values.get((*kind, k, r), 0.0)) for r in classes)

    visits = {k: row(means.rates, k, "entered") for k in known}
    lengths = {k: row(means.lengths, k) for k in known}
    name = [node.name for node in model.nodes]
    throughput = tuple(_throughput(model, means, r) for r in classes)
    return StatesSolution(
        method="states",
        states=means.states,
        classes=model.classes,
        throughput=throughput,
        visit_rate={name[k]: visits[k] for k in known},
        visit_response={
            name[k]: tuple(
                n / rate if rate else 0.0 for n, rate in zip(lengths[k], visits[k], strict=True)
            )
            for k in known
        },
        queue_length={name[k]: lengths[k] for k in known},
        utilization={
            node.name: tuple(
                rate * mean / node.service.servers
                for rate, mean in zip(visits[k], node.service.means, strict=True)
            )
            for k, node in enumerate(model.nodes)
            if node.service is not None and node.service.kind != "delay"
        },
        cycle_time=_cycles(model, means, throughput),
        firing_rate={
            mode.name: float(means.rates.get(("fired", i, 0), 0.0))
            for i, mode in enumerate(model.modes)
        },
        loss=_loss(model, means),
        notes=_notes(model, means, most_open),
    )


def _throughput(model: StatesModel, means: _Means, r: int) -> float | None:
    k = model.references[r]
    return None if k is None else float(means.rates.get(("entered", k, r), 0.0))


def _cycles(
    model: StatesModel, means: _Means, throughput: tuple[float | None, ...]
) -> tuple[float | None, ...]:
    """Return the times of jobs by Little's law, None where transitions make and take tokens."""
    if model.modes:
        return (None,) * len(model.classes)
    results: list[float | None] = [None] * len(model.classes)
    for members in _chains(model):
        rate = sum(throughput[r] or 0.0 for r in members)
        time = sum(means.inside.get(r, 0.0) for r in members) / rate if rate else None
        for r in members:
            results[r] = time
    return tuple(results)


def _chains(model: StatesModel) -> list[list[int]]:
    """Return the classes that turn into one another."""
    label = list(range(len(model.classes)))
    for node in model.nodes:
        for r, route in enumerate(node.routes):
            for _, turned in route.ways if isinstance(route, Route) else ():
                low, high = sorted((label[r], label[turned]))
                label = [low if value == high else value for value in label]
    return [[r for r, value in enumerate(label) if value == low] for low in sorted(set(label))]


def _loss(model: StatesModel, means: _Means) -> dict[str, float]:
    lost: dict[int, float] = defaultdict(float)
    for (kind, k, _), rate in means.rates.items():
        if kind == "lost":
            lost[k] += rate
    result = {}
    for k, rate in lost.items():
        came = sum(v for (kind, at, _), v in means.rates.items() if kind == "entered" and at == k)
        result[model.nodes[k].name] = float(rate / (rate + came))
    return result


def _notes(model: StatesModel, means: _Means, most_open: int | None) -> tuple[str, ...]:
    notes = []
    if most_open is not None:
        notes.append(
            f"Up to {most_open:,} jobs of open classes are followed at once; fewer than {_AWAY:g} "
            "of those that come find so many, and are left out."
        )
    waiting = sum(length for (k, _), length in means.lengths.items() if k < 0)
    if waiting:
        notes.append(f"{waiting:.6g} jobs wait in front of regions, and are at none of the nodes.")
    if any(node.kind == "fork" for node in model.nodes):
        notes.append("Queue lengths are of tasks; those that wait for others are at the join.")
    notes += [
        f"{name!r} loses {lost:.6g} of its arrivals; cycle times are of all jobs, lost ones too."
        for name, lost in _loss(model, means).items()
    ]
    return tuple(notes)
