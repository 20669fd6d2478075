"""From nodes and routes to visits, chains and what feeds each station."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs

from parcast.errors import FileError
from parcast_spmd.mixed.network import Center, Chain, Feed, MixedNetwork, Split
from parcast_spmd.mixed.routes import reached, visit_counts, weights_of
from parcast_spmd.mixed.solve import product_form
from parcast_spmd.mixed.times import Time

#: A node and a class, by their names.
State = tuple[str, str]
Routes = Mapping[State, Mapping[State, float] | str | None]


@attrs.frozen(kw_only=True)
class Visitor:
    """A class as a file states it: so many jobs, or a source and the times between arrivals."""

    name: str
    #: Its station or its source
    reference: str
    population: int | None = None
    arrivals: Time | None = None


@attrs.frozen(kw_only=True)
class Node:
    """What a job meets: a station, or what takes no time."""

    kind: Literal["station", "source", "sink", "pass", "fork", "join"]
    center: Center | None = None


@attrs.frozen
class _Plan:
    """The nodes and routes of a model while its flows are found."""

    nodes: Mapping[str, Node]
    visitors: Sequence[Visitor]
    routes: Routes
    where: str

    @property
    def centers(self) -> dict[str, Center]:
        """The stations by name."""
        return {name: node.center for name, node in self.nodes.items() if node.center is not None}


def mixed_network(
    nodes: Mapping[str, Node], visitors: Sequence[Visitor], routes: Routes, where: str
) -> MixedNetwork:
    """Return the network that nodes, classes and routes describe.

    Raises
    ------
    FileError
        If jobs get lost, or tasks and what joins them do not fit; the class is named.
    """
    plan = _Plan(nodes, visitors, _with_joins(nodes, routes, where), where)
    chains, visits = [], {}
    for members in _chains(plan):
        chain, counts = _chain(plan, members)
        for r in members:
            visits[r] = counts
        chains.append(chain)
    names = list(plan.centers)
    table = tuple(
        tuple(visits[r].get((name, visitor.name), 0.0) for r, visitor in enumerate(visitors))
        for name in names
    )
    rates = {r: chain.rate for chain in chains for r in chain.members if chain.population is None}
    return MixedNetwork(
        centers=tuple(plan.centers.values()),
        classes=tuple(visitor.name for visitor in visitors),
        chains=tuple(chains),
        visits=table,
        shares=tuple(
            _share(visitor, chains, r, visits[r]) for r, visitor in enumerate(visitors)
        ),
        feeds=tuple(_feeds(plan, visits, rates)),
        splits=tuple(_splits(plan, chains, visits)),
    )  # fmt: skip


def _share(visitor: Visitor, chains: list[Chain], r: int, visits: Mapping[State, float]) -> float:
    """Return the throughput of a class over that of its chain."""
    chain = next(chain for chain in chains if r in chain.members)
    if chain.population is not None:
        return visits.get((visitor.reference, visitor.name), 0.0)
    return 1 / visitor.arrivals.mean / chain.rate if visitor.arrivals else 0.0


def _with_joins(nodes: Mapping[str, Node], routes: Routes, where: str) -> Routes:
    """Return the routes with the weights of joins: each task is one of so many of its job."""
    result = dict(routes)
    parts: dict[State, float] = {}
    for state in routes:
        targets = weights_of(routes, state)
        if nodes[state[0]].kind != "fork" or not targets:
            continue
        joins = set()
        for target in targets:
            for step in _branch(nodes, routes, target):
                if nodes[step[0]].kind == "join":
                    joins.add(step)
                elif nodes[step[0]].kind in {"fork", "sink"} or step[1] != state[1]:
                    raise FileError(
                        f"{where}: tasks of fork {state[0]!r} reach {step[0]!r} before their join; "
                        "known are forks whose tasks keep their class until one join: simulate it."
                    )
        if len(joins) != 1 or (join := joins.pop()) in parts:
            raise FileError(
                f"{where}: tasks of fork {state[0]!r} do not all reach one join of their own; "
                "simulate it."
            )
        parts[join] = sum(targets.values())
    for state in routes:
        targets = weights_of(routes, state)
        if nodes[state[0]].kind == "join" and targets:
            tasks = parts.get(state, 1.0)
            result[state] = {target: weight / tasks for target, weight in targets.items()}
    return result


def _branch(nodes: Mapping[str, Node], routes: Routes, start: State) -> list[State]:
    """Return the states of a task from ``start`` to its join."""
    inside = {
        state: None if nodes[state[0]].kind in {"join", "sink"} else targets
        for state, targets in routes.items()
    }
    return reached(inside, start)


def _chains(plan: _Plan) -> list[list[int]]:
    """Return the classes that turn into one another."""
    index = {visitor.name: r for r, visitor in enumerate(plan.visitors)}
    label = list(range(len(plan.visitors)))
    for state in plan.routes:
        for _, other in weights_of(plan.routes, state):
            low, high = sorted((label[index[state[1]]], label[index[other]]))
            if low != high:
                label = [low if value == high else value for value in label]
    return [[r for r, value in enumerate(label) if value == low] for low in sorted(set(label))]


def _chain(plan: _Plan, members: list[int]) -> tuple[Chain, Mapping[State, float]]:
    """Return a chain, and the visits of its jobs to each state for one job or cycle of it."""
    visitors = [plan.visitors[r] for r in members]
    names = ", ".join(repr(visitor.name) for visitor in visitors)
    position = f"{plan.where}: class {names}"
    populations = [v.population for v in visitors if v.population is not None]
    if populations:
        if len(populations) != len(visitors):
            raise FileError(f"{position}: closed and open classes turn into one another.")
        return _closed_chain(plan, members, sum(populations), position)
    rates = {v.name: 1 / v.arrivals.mean for v in visitors if v.arrivals is not None}
    total = sum(rates.values())
    counts: dict[State, float] = {}
    for visitor in visitors:
        if visitor.arrivals is None:
            continue
        start = (visitor.reference, visitor.name)
        home = {**plan.routes, **{
            state: {start: 1.0} for state in plan.routes if plan.nodes[state[0]].kind == "sink"
        }}  # fmt: skip
        for state, count in visit_counts(home, start, position, "a sink").items():
            counts[state] = counts.get(state, 0.0) + count * rates[visitor.name] / total
    return Chain(members=tuple(members), rate=total), counts


def _closed_chain(
    plan: _Plan, members: list[int], population: int, position: str
) -> tuple[Chain, Mapping[State, float]]:
    inhabited = [r for r in members if plan.visitors[r].population] or members
    visitor = plan.visitors[inhabited[0]]
    start = (visitor.reference, visitor.name)
    counts = visit_counts(plan.routes, start, position, visitor.reference)
    cycles = sum(
        counts.get((plan.visitors[r].reference, plan.visitors[r].name), 0.0) for r in members
    )
    return (
        Chain(members=tuple(members), population=population),
        {state: count / cycles for state, count in counts.items()},
    )


def _feeds(
    plan: _Plan, visits: Mapping[int, Mapping[State, float]], rates: Mapping[int, float]
) -> list[Feed]:
    """Return what feeds each station: walks from all that leaves no Poisson process behind."""
    index = {visitor.name: r for r, visitor in enumerate(plan.visitors)}
    flows = {
        state: visits[index[state[1]]].get(state, 0.0) * rates[index[state[1]]]
        for state in plan.routes
        if index[state[1]] in rates
    }
    moving = {
        state: [t for t, weight in weights_of(plan.routes, state).items() if weight]
        for state, rate in flows.items()
        if rate > 0
    }
    reasons: dict[str, set[str]] = {name: set() for name in plan.nodes}
    for reason, starts in _spoilers(plan, moving):
        for start in starts:
            for name, _ in reached(moving, start):
                reasons[name].add(reason)
    renewals = dict(_renewals(plan, moving, flows))
    branches = dict(_branches(plan, moving, reasons))
    result = []
    for name, center in plan.centers.items():
        spoiled = reasons[name] - branches.get(name, set())
        if any(word.startswith("what") for word in spoiled):
            raise FileError(
                f"{plan.where}: station {name!r} is fed by {min(spoiled)}; simulate it."
            )
        if not spoiled:
            result.append(Feed())
        elif name in renewals and len(spoiled) == 1 and center.type == "queue":
            result.append(Feed(renewal=renewals[name]))
        else:
            result.append(Feed(obstacle=min(spoiled)))
    return result


def _spoilers(
    plan: _Plan, moving: Mapping[State, Sequence[State]]
) -> list[tuple[str, list[State]]]:
    """Return what leaves no independent Poisson processes behind, and where its jobs go."""
    result: list[tuple[str, list[State]]] = []
    index = {visitor.name: visitor for visitor in plan.visitors}
    for name, node in plan.nodes.items():
        states = [state for state in moving if state[0] == name]
        after = [target for state in states for target in moving[state]]
        if node.kind == "source":
            result += [
                (f"class {state[1]!r}, whose arrivals are no Poisson process", list(moving[state]))
                for state in states
                if (times := index[state[1]].arrivals) is not None and not times.exponential
            ]
        elif node.kind == "fork" and states:
            result += [(f"tasks of fork {name!r}", [target]) for target in after]
        elif node.kind == "join" and states:
            result.append((f"join {name!r}", after))
        elif node.center is not None and states:
            served = [t for _, c in states if (t := _time(plan, node.center, c)) is not None]
            if node.center.size is not None:
                result.append((f"what {name!r} does not lose", after))
            elif not product_form(node.center, served):
                result.append((f"station {name!r}, which has no product form", after))
    return [(reason, starts) for reason, starts in result if starts]


def _time(plan: _Plan, center: Center, name: str) -> Time | None:
    return center.service[[visitor.name for visitor in plan.visitors].index(name)]


def _branches(
    plan: _Plan, moving: Mapping[State, Sequence[State]], reasons: Mapping[str, set[str]]
) -> list[tuple[str, set[str]]]:
    """Return stations that tasks of one branch alone reach from a fork that Poisson feeds."""
    result = []
    for state, targets in moving.items():
        if plan.nodes[state[0]].kind != "fork":
            continue
        steps = [_branch(plan.nodes, moving_routes(moving), target) for target in targets]
        names = [{name for name, _ in branch if plan.nodes[name].center} for branch in steps]
        for i, own in enumerate(names):
            others = set().union(*(names[:i] + names[i + 1 :]))
            within = set(steps[i])
            for name in own - others:
                outside = any(
                    target[0] == name and source not in within and source != state
                    for source, ends in moving.items()
                    for target in ends
                )
                word = f"tasks of fork {state[0]!r}"
                if not outside and reasons[name] - {word} <= reasons[state[0]]:
                    result.append((name, {word}))
    return result


def moving_routes(moving: Mapping[State, Sequence[State]]) -> Routes:
    """Return targets as routes of equal weight."""
    return {state: dict.fromkeys(targets, 1.0) for state, targets in moving.items()}


def _renewals(
    plan: _Plan, moving: Mapping[State, Sequence[State]], flows: Mapping[State, float]
) -> list[tuple[str, Time]]:
    """Return stations that the jobs of one source reach at once and all, and no others."""
    result = []
    for visitor in plan.visitors:
        if visitor.arrivals is None or visitor.arrivals.exponential:
            continue
        ahead = [(visitor.reference, visitor.name)]
        while ahead:
            state = ahead.pop()
            node, targets = plan.nodes[state[0]], moving.get(state, ())
            if node.center is not None:
                into = sum(rate for (name, _), rate in flows.items() if name == state[0])
                if abs(into * visitor.arrivals.mean - 1) < 1e-9:
                    result.append((state[0], visitor.arrivals))
            elif (node.kind in {"pass", "source"} and len(targets) == 1) or node.kind == "fork":
                ahead += targets
    return result


def _splits(
    plan: _Plan, chains: list[Chain], visits: Mapping[int, Mapping[State, float]]
) -> list[Split]:
    """Return the forks that jobs pass, with the stations of each branch."""
    index = {visitor.name: r for r, visitor in enumerate(plan.visitors)}
    places = {name: k for k, name in enumerate(plan.centers)}
    result = []
    for state in plan.routes:
        targets = weights_of(plan.routes, state)
        count = visits[index[state[1]]].get(state, 0.0)
        if plan.nodes[state[0]].kind != "fork" or not count or not targets:
            continue
        c = next(c for c, chain in enumerate(chains) if index[state[1]] in chain.members)
        branches = []
        for target, tasks in targets.items():
            steps = _branch(plan.nodes, plan.routes, target)
            branches.append(tuple(sorted({places[n] for n, _ in steps if n in places})))
            if tasks != 1:
                raise FileError(
                    f"{plan.where}: fork {state[0]!r} sends {tasks:g} tasks at once to "
                    f"{target[0]!r}; known is one for each branch: simulate it."
                )
        both = [k for branch in branches for k in branch]
        if len(both) != len(set(both)) or len(chains[c].members) > 1:
            raise FileError(
                f"{plan.where}: branches of fork {state[0]!r} meet in a station, or its jobs "
                "change their class; simulate it."
            )
        if chains[c].population is not None:
            raise FileError(
                f"{plan.where}: fork {state[0]!r} splits jobs of a closed class, which has no "
                "product form; simulate it."
            )
        result.append(Split(chain=c, visits=count, branches=tuple(branches)))
    return result
