"""What feeds each station: Poisson processes, one stream of independent arrivals, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parcast.errors import FileError
from parcast_spmd.mixed.model import Plan, Routes, State, branch_of
from parcast_spmd.mixed.network import Center, Feed
from parcast_spmd.mixed.routes import reached, weights_of
from parcast_spmd.mixed.solve import product_form
from parcast_spmd.mixed.times import Time


def feeds_of(
    plan: Plan, visits: Mapping[int, Mapping[State, float]], rates: Mapping[int, float]
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


def _spoilers(plan: Plan, moving: Mapping[State, Sequence[State]]) -> list[tuple[str, list[State]]]:
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


def _time(plan: Plan, center: Center, name: str) -> Time | None:
    return center.service[[visitor.name for visitor in plan.visitors].index(name)]


def _branches(
    plan: Plan, moving: Mapping[State, Sequence[State]], reasons: Mapping[str, set[str]]
) -> list[tuple[str, set[str]]]:
    """Return stations that tasks of one branch alone reach from a fork that Poisson feeds."""
    result = []
    for state, targets in moving.items():
        if plan.nodes[state[0]].kind != "fork":
            continue
        steps = [branch_of(plan.nodes, _moving_routes(moving), target) for target in targets]
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


def _moving_routes(moving: Mapping[State, Sequence[State]]) -> Routes:
    """Return targets as routes of equal weight."""
    return {state: dict.fromkeys(targets, 1.0) for state, targets in moving.items()}


def _renewals(
    plan: Plan, moving: Mapping[State, Sequence[State]], flows: Mapping[State, float]
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
