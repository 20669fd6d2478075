"""What a state holds: jobs at nodes and in front of regions, as sorted multisets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from parcast_spmd.states.model import Region, StatesModel

#: A class, and of a task the number of its job and how many tasks that has
Job = tuple[int, int, int]
State = tuple[Any, ...]


class Contents:
    """What states of a model hold."""

    def __init__(self, model: StatesModel) -> None:
        self.model, self.nodes = model, model.nodes

    def inside(self, state: State) -> int:
        """Return how many jobs of open classes there are, those that are split once."""
        return sum(count for r, count in self.jobs(state).items() if not self.model.closed[r])

    def jobs(self, state: State) -> Counter[int]:
        """Return the jobs by class, those that are split once."""
        counts: Counter[int] = Counter()
        tags: dict[int, int] = {}
        for _, job, count in self.all_of(state):
            if job[1]:
                tags[job[1]] = job[0]
            else:
                counts[job[0]] += count
        counts.update(tags.values())
        return counts

    def all_of(self, state: State) -> Iterator[tuple[int, Job, int]]:
        """Yield node, job and number of all that is in a state; -1 is in front of a region."""
        for k, node in enumerate(self.nodes):
            if node.kind == "station":
                for (job, _), count in state[k][0]:
                    yield k, job, count
                for job in state[k][1]:
                    yield k, job, 1
            elif node.kind in {"place", "join"}:
                for job, count in state[k]:
                    yield k, job, count
        for i in range(len(self.model.regions)):
            for _, job in state[len(self.nodes) + i]:
                yield -1, job, 1

    def length(self, state: State, k: int) -> int:
        """Return how many jobs are served or wait at a node."""
        if self.nodes[k].kind != "station":
            return 0
        return int(sum(n for _, n in state[k][0])) + len(state[k][1])

    def is_full(self, state: State, to: int) -> bool:
        """Return whether nobody more has room at a node."""
        service = self.nodes[to].service
        size = None if service is None else service.size
        return size is not None and self.length(state, to) >= size

    def has_room(self, state: State, region: Region, r: int) -> bool:
        """Return whether a job of class r may come into a region."""
        counts: Counter[int] = Counter()
        for k, job, count in self.all_of(state):
            if k in region.nodes:
                counts[job[0]] += count
        limit = region.most_of[r]
        if limit is not None and counts[r] >= limit:
            return False
        weight = sum(region.weights[c] * count for c, count in counts.items())
        return region.most is None or weight + region.weights[r] <= region.most

    def canonical(self, state: State) -> State:
        """Return the state with its split jobs numbered in the order in which they stand."""
        numbers: dict[int, int] = {0: 0}
        for _, job, _ in self.all_of(state):
            numbers.setdefault(job[1], len(numbers))

        def renamed(job: Job) -> Job:
            return (job[0], numbers[job[1]], job[2])

        parts: list[Any] = []
        for k, node in enumerate(self.nodes):
            if node.kind == "station":
                serving, waiting, blocked = state[k]
                parts.append(
                    (
                        tuple(sorted(((renamed(job), phase), n) for (job, phase), n in serving)),
                        tuple(map(renamed, waiting)),
                        tuple((origin, renamed(job)) for origin, job in blocked),
                    )
                )
            elif node.kind == "join":
                parts.append(tuple(sorted((renamed(job), n) for job, n in state[k])))
            else:
                parts.append(state[k])
        fronts = (
            tuple((k, renamed(job)) for k, job in front) for front in state[len(self.nodes) : -1]
        )
        return (*parts, *fronts, state[-1])


def put(state: State, k: int, part: Any) -> State:
    """Return a state with another part at a position."""
    return (*state[:k], part, *state[k + 1 :])


def added(items: tuple[Any, ...], key: Any) -> tuple[Any, ...]:
    """Return a sorted multiset with one more."""
    for at, (item, count) in enumerate(items):
        if item == key:
            return (*items[:at], (key, count + 1), *items[at + 1 :])
        if item > key:
            return (*items[:at], (key, 1), *items[at:])
    return (*items, (key, 1))


def taken(items: tuple[Any, ...], key: Any) -> tuple[Any, ...]:
    """Return a sorted multiset with one less."""
    for at, (item, count) in enumerate(items):
        if item == key:
            less = ((key, count - 1),) if count > 1 else ()
            return (*items[:at], *less, *items[at + 1 :])
    raise KeyError(key)


def count_of(items: tuple[Any, ...], key: Any) -> int:
    """Return how often a multiset has an item."""
    for item, count in items:
        if item == key:
            return int(count)
    return 0
