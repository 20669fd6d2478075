"""From nodes and routes to chains, visits and forks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parcast.errors import FileError
from parcast_spmd.mixed.feeds import feeds_of
from parcast_spmd.mixed.model import Node, Plan, Routes, State, Visitor, branch_of
from parcast_spmd.mixed.network import Chain, MixedNetwork, Split
from parcast_spmd.mixed.routes import visit_counts, weights_of


def mixed_network(
    nodes: Mapping[str, Node], visitors: Sequence[Visitor], routes: Routes, where: str
) -> MixedNetwork:
    """Return the network that nodes, classes and routes describe.

    Raises
    ------
    FileError
        If jobs get lost, or tasks and what joins them do not fit; the class is named.
    """
    plan = Plan(nodes, visitors, _with_joins(nodes, routes, where), where)
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
        feeds=tuple(feeds_of(plan, visits, rates)),
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
            for step in branch_of(nodes, routes, target):
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


def _chains(plan: Plan) -> list[list[int]]:
    """Return the classes that turn into one another."""
    index = {visitor.name: r for r, visitor in enumerate(plan.visitors)}
    label = list(range(len(plan.visitors)))
    for state in plan.routes:
        for _, other in weights_of(plan.routes, state):
            low, high = sorted((label[index[state[1]]], label[index[other]]))
            if low != high:
                label = [low if value == high else value for value in label]
    return [[r for r, value in enumerate(label) if value == low] for low in sorted(set(label))]


def _chain(plan: Plan, members: list[int]) -> tuple[Chain, Mapping[State, float]]:
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
    plan: Plan, members: list[int], population: int, position: str
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


def _splits(
    plan: Plan, chains: list[Chain], visits: Mapping[int, Mapping[State, float]]
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
            steps = branch_of(plan.nodes, plan.routes, target)
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
