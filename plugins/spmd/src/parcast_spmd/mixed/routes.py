"""Routes of jobs from state to state, a state being a node and a class; the visits they make."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np

from parcast.errors import FileError

State = TypeVar("State", bound=Hashable)

#: States whose equations take a second
MOST_STATES = 3000


def reached(routes: Mapping[State, Iterable[State] | str | None], start: State) -> list[State]:
    """Return the states that a job may come to, ``start`` first."""
    seen, ahead = {start: None}, [start]
    while ahead:
        targets = routes.get(ahead.pop())
        for state in () if isinstance(targets, str) or targets is None else targets:
            if state not in seen:
                seen[state] = None
                ahead.append(state)
    return list(seen)


def visit_counts(
    routes: Mapping[State, Mapping[State, float] | str | None],
    start: State,
    position: str,
    home: str,
) -> dict[State, float]:
    """Return how often each state is visited between two visits of ``start``.

    Routes are weights, or a sentence that says why there are none. Weights are probabilities; those
    of a fork add up to its tasks, and of a join to what each task is of a job.

    Raises
    ------
    FileError
        If a job may reach a state from which it does not come back, or that has no route.
    """
    states = reached(routes, start)
    for state in states:
        if isinstance(refusal := routes.get(state), str):
            raise FileError(refusal)
    if any(routes.get(state) is None for state in states):
        raise FileError(f"{position}: jobs reach a station where their routing is disabled.")
    if len(states) > MOST_STATES:
        raise FileError(
            f"{position}: jobs take {len(states):,} states of station and class; "
            f"{MOST_STATES:,} are the most: use fewer stations or classes."
        )
    others = states[1:]
    index = {state: i for i, state in enumerate(others)}
    matrix, entry = np.eye(len(others)), np.zeros(len(others))
    for state in states:
        for target, weight in weights_of(routes, state).items():
            if target in index and state == start:
                entry[index[target]] += weight
            elif target in index:
                matrix[index[target], index[state]] -= weight
    try:
        solved = np.linalg.solve(matrix, entry)
    except np.linalg.LinAlgError:
        raise FileError(f"{position}: jobs do not come back to {home!r}.") from None
    if not (np.isfinite(solved).all() and (solved >= 0).all() and (solved < 1e12).all()):
        raise FileError(f"{position}: jobs do not come back to {home!r}.")
    return {start: 1.0, **dict(zip(others, solved.tolist(), strict=True))}


def weights_of(
    routes: Mapping[State, Mapping[State, float] | str | None], state: State
) -> Mapping[State, float]:
    """Return the weights of a state's route, {} where it has none."""
    route = routes.get(state)
    return {} if isinstance(route, str) or route is None else route
