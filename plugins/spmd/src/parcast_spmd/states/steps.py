"""Steps that take no time: jobs enter, leave, are next and are admitted to regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from parcast_spmd.states.contents import Contents, Job, State, added, count_of, put, taken
from parcast_spmd.states.model import Route, StatesError, StatesModel
from parcast_spmd.states.queues import next_of, queued

#: ``entered``, ``lost``, ``away`` or ``fired``, and where, and of which class
Mark = tuple[str, int, int]
#: A probability, a state, the steps that are to follow, and what has happened
Work = tuple[float, State, tuple[Any, ...], tuple[Mark, ...]]


class Steps:
    """The steps of a model, each by its name: what may follow it, with probabilities."""

    def __init__(self, model: StatesModel) -> None:
        self.model, self.nodes, self.contents = model, model.nodes, Contents(model)
        self.region_of = {k: i for i, region in enumerate(model.regions) for k in region.nodes}
        self.turns = [
            (k, r)
            for k, node in enumerate(model.nodes)
            for r, route in enumerate(node.routes)
            if isinstance(route, Route) and route.kind == "in turn"
        ]
        self.by_name: dict[str, Callable[..., list[Work]]] = {
            "enter": self._enter, "leave": self._leave, "serve": self._serve, "fill": self._fill,
            "admit": self._admit,
        }  # fmt: skip

    def _enter(self, state: State, k: int, job: Job, origin: int) -> list[Work]:
        """A job comes to a node from another."""
        node, i = self.nodes[k], self.region_of.get(k)
        if i is not None and self.region_of.get(origin) != i:
            region = self.model.regions[i]
            if not self.contents.has_room(state, region, job[0]):
                if region.lost[job[0]]:
                    return [(1.0, state, (), (self._lost(k, job),))]
                at = len(self.nodes) + i
                return [(1.0, put(state, at, (*state[at], (k, job))), (), ())]
        if node.kind == "station":
            return self._join_queue(state, k, job, origin)
        mark: tuple[Mark, ...] = (("entered", k, job[0]),)
        if node.kind == "sink":
            if job[1]:
                raise StatesError(f"a task comes to {node.name!r} before its join")
            return [(1.0, state, (), mark)]
        if node.kind == "place":
            if job[1]:
                raise StatesError(f"a task comes to place {node.name!r} before its join")
            return [(1.0, put(state, k, added(state[k], job)), (), mark)]
        if node.kind == "fork":
            return self._split(state, k, job, mark)
        if node.kind == "join" and job[1]:
            tasks = added(state[k], job)
            if count_of(tasks, job) < job[2]:
                return [(1.0, put(state, k, tasks), (), mark)]
            for _ in range(job[2]):
                tasks = taken(tasks, job)
            return [(1.0, put(state, k, tasks), (("leave", k, (job[0], 0, 0)),), mark)]
        return [(1.0, state, (("leave", k, job),), mark)]

    def _lost(self, k: int, job: Job) -> Mark:
        if job[1]:
            raise StatesError(f"tasks may be lost at {self.nodes[k].name!r}")
        if self.model.closed[job[0]]:
            raise StatesError(
                f"closed jobs may be lost at {self.nodes[k].name!r}, and in the end none is left"
            )
        return ("lost", k, job[0])

    def _split(self, state: State, k: int, job: Job, mark: tuple[Mark, ...]) -> list[Work]:
        node = self.nodes[k]
        tasks = node.tasks[job[0]]
        if job[1] or not tasks:
            raise StatesError(
                f"fork {node.name!r} splits tasks once more" if job[1] else
                f"fork {node.name!r} does not say where {self.model.classes[job[0]]!r} goes"
            )  # fmt: skip
        tag = 1 + max((inside[1] for _, inside, _ in self.contents.all_of(state)), default=0)
        task = (job[0], tag, sum(tasks.values()))
        todo = tuple(("enter", to, task, k) for to, count in tasks.items() for _ in range(count))
        return [(1.0, state, todo, mark)]

    def _join_queue(self, state: State, k: int, job: Job, origin: int) -> list[Work]:
        node = self.nodes[k]
        service = node.service
        assert service is not None
        times, mark = service.times[job[0]], ("entered", k, job[0])
        if times is None:
            name = self.model.classes[job[0]]
            raise StatesError(f"{name!r} comes to {node.name!r}, which does not serve it")
        serving, waiting, blocked = state[k]
        if self.contents.is_full(state, k):
            if service.full[job[0]] == "lost":
                return [(1.0, state, (), (self._lost(k, job),))]
            return [(1.0, self._blocked(state, k, job, origin), (), ())]
        if service.kind == "turns":
            waiting = queued(service, waiting, job)
            return [(1.0, put(state, k, (serving, waiting, blocked)), (("fill", k),), (mark,))]
        if times == 0:
            return [(1.0, state, (("leave", k, job),), (mark,))]
        return [
            (p, put(state, k, (added(serving, (job, phase)), waiting, blocked)), (), (mark,))
            for phase, p in enumerate(times.start)
            if p
        ]

    def _blocked(self, state: State, k: int, job: Job, origin: int) -> State:
        """A job that finds no room stays at the server where it was served."""
        source = self.nodes[origin] if origin >= 0 else None
        if source is None or source.service is None or source.service.kind != "turns":
            raise StatesError(
                f"jobs that find no room at {self.nodes[k].name!r} come from no server that they "
                "could block"
            )
        serving = added(state[origin][0], (job, -1 - k))
        state = put(state, origin, (serving, *state[origin][1:]))
        return put(state, k, (*state[k][:2], (*state[k][2], (origin, job))))

    def _leave(self, state: State, k: int, job: Job) -> list[Work]:
        """A job goes from a node to where its route leads."""
        node = self.nodes[k]
        route = node.routes[job[0]] if node.routes else None
        if not isinstance(route, Route):
            name = self.model.classes[job[0]]
            reason = route.rstrip(".") if route else f"{node.name!r} does not route {name!r}"
            raise StatesError(reason)
        results: list[Work] = []
        for p, (to, r), after in self._ways(state, k, job[0], route):
            if job[1] and r != job[0]:
                raise StatesError(f"tasks change their class at {node.name!r}")
            todo: tuple[Any, ...] = (("enter", to, (r, *job[1:]), k),)
            if node.kind == "station":  # the next is served first, if the server is not blocked
                after_it = self.contents.is_full(after, to)
                # who is blocked comes in last: the server it frees may choose this job, too
                todo = (*todo, ("fill", k)) if after_it else (("serve", k), *todo, ("fill", k))
            i = self.region_of.get(k)
            if i is not None and self.region_of.get(to) != i:
                todo = (*todo, ("admit", i))
            results.append((p, after, todo, ()))
        return results

    def _ways(
        self, state: State, k: int, r: int, route: Route
    ) -> Iterator[tuple[float, tuple[int, int], State]]:
        spots = list(route.ways)
        if route.kind == "chance":
            for spot, probability in route.ways.items():
                yield probability, spot, state
        elif route.kind == "shortest":
            lengths = [self.contents.length(state, to) for to, _ in spots]
            first = [spot for spot, n in zip(spots, lengths, strict=True) if n == min(lengths)]
            for spot in first:
                yield 1 / len(first), spot, state
        else:
            at = self.turns.index((k, r))
            turns = state[-1]
            following = (*turns[:at], (turns[at] + 1) % len(spots), *turns[at + 1 :])
            yield 1.0, spots[turns[at]], (*state[:-1], following)

    def _fill(self, state: State, k: int) -> list[Work]:
        """Servers that are free take who is next; room that is free takes who is blocked."""
        return self._next(state, k, "fill") or [(1.0, *self._freed(state, k), ())]

    def _serve(self, state: State, k: int) -> list[Work]:
        """Servers that are free take who is next; room that is free is kept."""
        return self._next(state, k, "serve") or [(1.0, state, (), ())]

    def _next(self, state: State, k: int, step: str) -> list[Work]:
        """A server that is free takes who is next, and the step comes again; [] where none does."""
        service = self.nodes[k].service
        assert service is not None
        serving, waiting, blocked = state[k]
        busy = sum(count for _, count in serving)
        if service.kind != "turns" or not waiting or busy >= service.servers:
            return []
        results: list[Work] = []
        for p, at in next_of(service, waiting):
            job, left = waiting[at], (*waiting[:at], *waiting[at + 1 :])
            times = service.times[job[0]]
            if not times:
                after = put(state, k, (serving, left, blocked))
                results.append((p, after, (("leave", k, job),), ()))
                continue
            for phase, q in enumerate(times.start):
                if q:
                    after = put(state, k, (added(serving, (job, phase)), left, blocked))
                    results.append((p * q, after, ((step, k),), ()))
        return results

    def _freed(self, state: State, k: int) -> tuple[State, tuple[Any, ...]]:
        """The first job that is blocked comes in, if there is room."""
        serving, waiting, blocked = state[k]
        if not blocked or self.contents.is_full(state, k):
            return state, ()
        (origin, job), queue = blocked[0], blocked[1:]
        state = put(state, k, (serving, waiting, queue))
        held = taken(state[origin][0], (job, -1 - k))
        state = put(state, origin, (held, *state[origin][1:]))
        todo: tuple[Any, ...] = (("enter", k, job, origin), ("fill", origin), ("fill", k))
        i = self.region_of.get(origin)
        if i is not None and self.region_of.get(k) != i:
            todo = (*todo, ("admit", i))
        return state, todo

    def _admit(self, state: State, i: int) -> list[Work]:
        """Who waits in front of a region comes in, the first that has room."""
        at, region = len(self.nodes) + i, self.model.regions[i]
        for place, (k, job) in enumerate(state[at]):
            if self.contents.has_room(state, region, job[0]):
                left = (*state[at][:place], *state[at][place + 1 :])
                inside = next(iter(region.nodes))
                todo = (("enter", k, job, inside), ("admit", i))
                return [(1.0, put(state, at, left), todo, ())]
        return [(1.0, state, (), ())]
