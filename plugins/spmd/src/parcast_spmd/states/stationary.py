"""All states that a network comes to, and the share of the time in each."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_spmd.states.contents import State
from parcast_spmd.states.model import ManyStatesError, StatesError
from parcast_spmd.states.moves import Moves
from parcast_spmd.states.steps import Mark

Floats = NDArray[np.float64]

#: States that take some seconds to find and as long to solve
MOST_STATES = 60_000
#: Jobs of a standstill that a message names
_NAMED = 4
#: Up to so many states equations are eliminated, beyond they are iterated
MOST_DIRECT = 3000
_ITERATIONS, _KEPT = 3000, 60
#: How well the flows into and out of states agree, relative to those of the busiest
_BALANCED = 1e-12


@attrs.frozen(eq=False)
class Explored:
    """States, how often a second one follows another, and marks in each state a second."""

    states: list[State]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rates: Floats
    marks: dict[Mark, dict[int, float]]


def explore(moves: Moves, limit: int = MOST_STATES) -> Explored:
    """Return what can be reached.

    Raises
    ------
    StatesError
        If there are more states than ``limit``.
    """
    index: dict[State, int] = {}
    states: list[State] = []
    sources, targets, rates = list[int](), list[int](), list[float]()
    marks: dict[Mark, dict[int, float]] = defaultdict(dict)

    def number(state: State) -> int:
        at = index.get(state)
        if at is None:
            at = index[state] = len(states)
            states.append(state)
            if len(states) > limit:
                raise ManyStatesError(f"it has more than {limit:,} states")
        return at

    for _, state, _ in moves.initial():
        number(state)
    at = 0
    while at < len(states):
        for rate, outcomes in moves.events(states[at]):
            for probability, after, passed in outcomes:
                flow = rate * probability
                to = number(after)
                if to != at:
                    sources.append(at)
                    targets.append(to)
                    rates.append(flow)
                for mark in passed:
                    marks[mark][at] = marks[mark].get(at, 0.0) + flow
        at += 1
    return Explored(states, np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64),
                    np.array(rates), marks)  # fmt: skip


def standstill(moves: Moves, explored: Explored) -> str | None:
    """Return what stands where, in a state with jobs in which nothing happens any more."""
    alive = {*explored.sources.tolist()}.union(*explored.marks.values())
    for at, state in enumerate(explored.states):
        if at in alive:
            continue
        jobs = [
            f"{count} {moves.model.classes[job[0]]!r} at {moves.nodes[k].name!r}"
            if k >= 0
            else f"{count} {moves.model.classes[job[0]]!r} in front of a region"
            for k, job, count in moves.contents.all_of(state)
        ]
        if jobs:
            return ", ".join(jobs[:_NAMED]) + (", ..." if len(jobs) > _NAMED else "")
    return None


def stationary(explored: Explored) -> Floats:
    """Return the share of the time in each state, 0 in those that are left for ever.

    Raises
    ------
    StatesError
        If chance says where the network ends, or floating point numbers do not suffice.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(explored.states)
    pairs = (explored.sources, explored.targets)
    flows = coo_array((explored.rates, pairs), shape=(count, count)).tocsr()
    parts, label = connected_components(flows, connection="strong")
    leaving = label[explored.sources] != label[explored.targets]
    last = sorted(set(range(parts)) - set(label[explored.sources[leaving]].tolist()))
    ends = [np.flatnonzero(label == part) for part in last]
    if len(ends) > 1:
        raise StatesError("chance decides in which of several groups of states it stays for ever")
    (inside,) = ends
    result = np.zeros(count)
    result[inside] = _balanced(flows[inside][:, inside])
    return result


def _balanced(flows: Any) -> Floats:
    """Return the shares in which the flow into each state is the flow out of it."""
    from scipy.sparse import csc_array, diags_array

    size = flows.shape[0]
    if size == 1:
        return np.ones(1)
    out = np.asarray(flows.sum(axis=1)).ravel()
    # One state is taken as 1; the others' equations are diagonally dominant
    balance = csc_array(diags_array(out) - flows.T)
    matrix, entry = csc_array(balance[1:, 1:]), -balance[1:, [0]].toarray().ravel()
    try:
        others = _direct(matrix, entry) if size <= MOST_DIRECT else _iterated(matrix, entry)
    except RuntimeError:  # a pivot is 0, where numbers have vanished
        raise StatesError("its states are too unlike for floating point numbers") from None
    shares = np.concatenate([[1.0], np.maximum(others, 0.0)])
    total = float(shares.sum())
    if not np.isfinite(total):
        raise StatesError("its states are too unlike for floating point numbers")
    shares /= total
    error = np.abs(balance @ shares).max()
    if error > _BALANCED * float((out * shares).max()):
        raise StatesError("its states are not solved to 12 digits")
    return np.asarray(shares)


def _direct(matrix: Any, entry: Floats) -> Floats:
    from scipy.sparse.linalg import splu

    factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                   options={"SymmetricMode": True})  # fmt: skip
    first = factors.solve(entry)
    return np.asarray(first + factors.solve(entry - matrix @ first))


def _iterated(matrix: Any, entry: Floats) -> Floats:
    """Return the solution by GMRES, each step after one of Gauss and Seidel."""
    from scipy.sparse import csc_array, tril
    from scipy.sparse.linalg import LinearOperator, gmres, splu

    lower = splu(csc_array(tril(matrix)), permc_spec="NATURAL", diag_pivot_thresh=0.0)
    step = LinearOperator(matrix.shape, lower.solve)
    solved, _ = gmres(matrix, entry, rtol=1e-14, atol=0.0, M=step, restart=_KEPT,
                      maxiter=_ITERATIONS // _KEPT)  # fmt: skip
    return np.asarray(solved)
