"""What can happen in a state, and which states follow: the chain of a network.

A state is a tuple: what each node holds, then who waits in front of each region, then whose turn
it is at routers. What takes no time is followed at once, with its probabilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from parcast_spmd.states.model import Mode, Node, Region, Route, Service, StatesError, StatesModel

#: A class, and of a task the number of its job and how many tasks that has
Job = tuple[int, int, int]
State = tuple[Any, ...]
#: ``entered``, ``lost``, ``away`` or ``fired``, and where, and of which class
Mark = tuple[str, int, int]
#: A probability, a state, and what has happened on the way
Outcome = tuple[float, State, tuple[Mark, ...]]
_Work = tuple[float, State, tuple[Any, ...], tuple[Mark, ...]]

#: Steps without time after one event, and in all, which take some ten seconds
_MOST_STEPS = 20_000
MOST_STEPS = 1_000_000


class Moves:
    """The events of a model.

    Parameters
    ----------
    model
        The network.
    most_open
        Jobs of open classes that may be inside; those that come then are turned away.
    """

    def __init__(self, model: StatesModel, most_open: int) -> None:
        self.model, self.most_open, self.steps_done = model, most_open, 0
        self.nodes = model.nodes
        self.region_of = {k: i for i, region in enumerate(model.regions) for k in region.nodes}
        self.turns = [
            (k, r)
            for k, node in enumerate(model.nodes)
            for r, route in enumerate(node.routes)
            if isinstance(route, Route) and route.kind == "in turn"
        ]
        self.split = any(node.kind == "fork" for node in model.nodes)
        self.immediate = [i for i, mode in enumerate(model.modes) if mode.rate is None]
        self.timed = [i for i, mode in enumerate(model.modes) if mode.rate is not None]
        self.steps: dict[str, Callable[..., list[_Work]]] = {
            "enter": self._enter, "leave": self._leave, "fill": self._fill, "admit": self._admit
        }  # fmt: skip

    def initial(self) -> list[Outcome]:
        """Return the states that the model may begin in."""
        empty: list[Any] = []
        starts: list[_Work] = [(1.0, (), (), ())]
        for node in self.nodes:
            if node.kind == "source":
                starts = [
                    (p * q, (*state, phases), (), ())
                    for p, state, _, _ in starts
                    for q, phases in _first_phases(node)
                ]
                continue
            empty = [((), (), ()) if node.kind == "station" else ()]
            starts = [(p, (*state, *empty), (), ()) for p, state, _, _ in starts]
        fronts = ((),) * len(self.model.regions) + ((0,) * len(self.turns),)
        todo = tuple(
            ("enter", k, (r, 0, 0), -1)
            for (k, r), count in self.model.initial.items()
            for _ in range(count)
        )
        return self._settled([(p, (*state, *fronts), todo, ()) for p, state, _, _ in starts])

    def events(self, state: State) -> Iterator[tuple[float, list[Outcome]]]:
        """Yield how often a second each event happens, and what follows."""
        for k, node in enumerate(self.nodes):
            if node.kind == "source":
                yield from self._arrivals(state, k, node)
            elif node.service is not None:
                yield from self._services(state, k, node.service)
        for i in self.timed:
            mode = self.model.modes[i]
            if degree := self._degree(state, mode):
                rate = (mode.rate or 0.0) * degree
                yield rate, self._settled([(1.0, *self._fired(state, i))])

    def _arrivals(self, state: State, k: int, node: Node) -> Iterator[tuple[float, list[Outcome]]]:
        for at, (r, phase) in enumerate(state[k]):
            times = node.arrivals[r]
            if times is None:
                continue
            work: list[_Work] = []
            for p, after in enumerate(times.after[phase]):
                if after:
                    moved = (*state[k][:at], (r, p), *state[k][at + 1 :])
                    work.append((after, _put(state, k, moved), (), ()))
            if (ends := 1 - sum(times.after[phase])) > 1e-15:
                for p, begin in enumerate(times.start):
                    if begin:
                        moved = (*state[k][:at], (r, p), *state[k][at + 1 :])
                        work.append((ends * begin, *self._come(_put(state, k, moved), k, r)))
            yield times.rates[phase], self._settled(work)

    def _come(
        self, state: State, k: int, r: int
    ) -> tuple[State, tuple[Any, ...], tuple[Mark, ...]]:
        mark = (("entered", k, r),)
        if self.inside(state) >= self.most_open:
            return state, (), (*mark, ("away", k, r))
        return state, (("leave", k, (r, 0, 0)),), mark

    def inside(self, state: State) -> int:
        """Return how many jobs of open classes there are, those that are split once."""
        return sum(count for r, count in self.jobs(state).items() if not self.model.closed[r])

    def jobs(self, state: State) -> Counter[int]:
        """Return the jobs by class, those that are split once."""
        counts: Counter[int] = Counter()
        tags: dict[int, int] = {}
        for _, job, count in self.contents(state):
            if job[1]:
                tags[job[1]] = job[0]
            else:
                counts[job[0]] += count
        counts.update(tags.values())
        return counts

    def contents(self, state: State) -> Iterator[tuple[int, Job, int]]:
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

    def _services(
        self, state: State, k: int, service: Service
    ) -> Iterator[tuple[float, list[Outcome]]]:
        serving = state[k][0]
        speeds = _speeds(service, serving)
        for (key, count), speed in zip(serving, speeds, strict=True):
            job, phase = key
            if phase < 0:  # it has been served and finds no room
                continue
            times = service.times[job[0]]
            if not times:
                continue
            left = _taken(serving, key)
            work: list[_Work] = [
                (after, _put(state, k, (_added(left, (job, p)), *state[k][1:])), (), ())
                for p, after in enumerate(times.after[phase])
                if after
            ]
            if (ends := 1 - sum(times.after[phase])) > 1e-15:
                work.append((ends, _put(state, k, (left, *state[k][1:])), (("leave", k, job),), ()))
            yield count * speed * times.rates[phase], self._settled(work)

    def _settled(self, work: list[_Work]) -> list[Outcome]:
        """Return the states in which time goes on, with their probabilities."""
        results: dict[tuple[State, tuple[Mark, ...]], float] = {}
        steps = 0
        while work:
            steps += 1
            if steps > _MOST_STEPS:
                raise StatesError(
                    "what takes no time goes round, or spreads too far, after one event"
                )
            if self.steps_done + steps > MOST_STEPS:
                raise StatesError(f"following its states takes more than {MOST_STEPS:,} steps")
            probability, state, todo, marks = work.pop()
            if todo:
                (name, *arguments), later = todo[0], todo[1:]
                for p, after, more, new in self.steps[name](state, *arguments):
                    work.append((probability * p, after, (*more, *later), (*marks, *new)))
                continue
            chosen = self._chosen(state)
            if not chosen:
                key = (self._canonical(state) if self.split else state), marks
                results[key] = results.get(key, 0.0) + probability
            for p, i in chosen:
                after, more, new = self._fired(state, i)
                work.append((probability * p, after, more, (*marks, *new)))
        self.steps_done += steps
        return [(p, state, marks) for (state, marks), p in results.items()]

    def _chosen(self, state: State) -> list[tuple[float, int]]:
        """Return the immediate modes of the highest priority, by their weights."""
        enabled = [i for i in self.immediate if self._degree(state, self.model.modes[i])]
        if not enabled:
            return []
        modes = self.model.modes
        highest = max(modes[i].priority for i in enabled)
        first = [i for i in enabled if modes[i].priority == highest]
        total = sum(modes[i].weight for i in first)
        return [(modes[i].weight / total, i) for i in first if modes[i].weight]

    def _degree(self, state: State, mode: Mode) -> int:
        """Return how many servers of a mode are at work."""
        for (k, r), limit in mode.stop.items():
            if _count(state[k], (r, 0, 0)) >= limit:
                return 0
        degrees = [_count(state[k], (r, 0, 0)) // need for (k, r), need in mode.need.items()]
        if mode.servers is not None:
            degrees.append(mode.servers)
        return min(degrees)

    def _fired(self, state: State, i: int) -> tuple[State, tuple[Any, ...], tuple[Mark, ...]]:
        mode = self.model.modes[i]
        for (k, r), need in mode.need.items():
            for _ in range(need):
                state = _put(state, k, _taken(state[k], (r, 0, 0)))
        todo = tuple(
            ("enter", k, (r, 0, 0), -1) for (k, r), count in mode.give.items() for _ in range(count)
        )
        return state, todo, (("fired", i, 0),)

    def _enter(self, state: State, k: int, job: Job, origin: int) -> list[_Work]:
        """A job comes to a node from another."""
        node, i = self.nodes[k], self.region_of.get(k)
        if i is not None and self.region_of.get(origin) != i:
            region = self.model.regions[i]
            if not self._has_room(state, region, job[0]):
                if region.lost[job[0]]:
                    return [(1.0, state, (), (self._lost(k, job),))]
                at = len(self.nodes) + i
                return [(1.0, _put(state, at, (*state[at], (k, job))), (), ())]
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
            return [(1.0, _put(state, k, _added(state[k], job)), (), mark)]
        if node.kind == "fork":
            return self._split(state, k, job, mark)
        if node.kind == "join" and job[1]:
            tasks = _added(state[k], job)
            if _count(tasks, job) < job[2]:
                return [(1.0, _put(state, k, tasks), (), mark)]
            for _ in range(job[2]):
                tasks = _taken(tasks, job)
            return [(1.0, _put(state, k, tasks), (("leave", k, (job[0], 0, 0)),), mark)]
        return [(1.0, state, (("leave", k, job),), mark)]

    def _lost(self, k: int, job: Job) -> Mark:
        if job[1]:
            raise StatesError(f"tasks may be lost at {self.nodes[k].name!r}")
        if self.model.closed[job[0]]:
            raise StatesError(
                f"closed jobs may be lost at {self.nodes[k].name!r}, and in the end none is left"
            )
        return ("lost", k, job[0])

    def _split(self, state: State, k: int, job: Job, mark: tuple[Mark, ...]) -> list[_Work]:
        node = self.nodes[k]
        tasks = node.tasks[job[0]]
        if job[1] or not tasks:
            raise StatesError(
                f"fork {node.name!r} splits tasks once more" if job[1] else
                f"fork {node.name!r} does not say where {self.model.classes[job[0]]!r} goes"
            )  # fmt: skip
        tag = 1 + max((inside[1] for _, inside, _ in self.contents(state)), default=0)
        task = (job[0], tag, sum(tasks.values()))
        todo = tuple(("enter", to, task, k) for to, count in tasks.items() for _ in range(count))
        return [(1.0, state, todo, mark)]

    def _join_queue(self, state: State, k: int, job: Job, origin: int) -> list[_Work]:
        node = self.nodes[k]
        service = node.service
        assert service is not None
        times, mark = service.times[job[0]], ("entered", k, job[0])
        if times is None:
            name = self.model.classes[job[0]]
            raise StatesError(f"{name!r} comes to {node.name!r}, which does not serve it")
        serving, waiting, blocked = state[k]
        if self._full(state, k):
            if service.full[job[0]] == "lost":
                return [(1.0, state, (), (self._lost(k, job),))]
            return [(1.0, self._blocked(state, k, job, origin), (), ())]
        if service.kind == "turns":
            waiting = _queued(service, waiting, job)
            return [(1.0, _put(state, k, (serving, waiting, blocked)), (("fill", k),), (mark,))]
        if times == 0:
            return [(1.0, state, (("leave", k, job),), (mark,))]
        return [
            (p, _put(state, k, (_added(serving, (job, phase)), waiting, blocked)), (), (mark,))
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
        serving = _added(state[origin][0], (job, -1 - k))
        state = _put(state, origin, (serving, *state[origin][1:]))
        return _put(state, k, (*state[k][:2], (*state[k][2], (origin, job))))

    def _leave(self, state: State, k: int, job: Job) -> list[_Work]:
        """A job goes from a node to where its route leads."""
        node = self.nodes[k]
        route = node.routes[job[0]] if node.routes else None
        if not isinstance(route, Route):
            name = self.model.classes[job[0]]
            reason = route.rstrip(".") if route else f"{node.name!r} does not route {name!r}"
            raise StatesError(reason)
        results: list[_Work] = []
        for p, (to, r), after in self._ways(state, k, job[0], route):
            if job[1] and r != job[0]:
                raise StatesError(f"tasks change their class at {node.name!r}")
            todo: tuple[Any, ...] = (("enter", to, (r, *job[1:]), k),)
            if node.kind == "station":  # the next is served first, if the server is not blocked
                after_it = self._full(after, to)
                todo = (*todo, ("fill", k)) if after_it else (("fill", k), *todo)
            i = self.region_of.get(k)
            if i is not None and self.region_of.get(to) != i:
                todo = (*todo, ("admit", i))
            results.append((p, after, todo, ()))
        return results

    def _full(self, state: State, to: int) -> bool:
        service = self.nodes[to].service
        size = None if service is None else service.size
        return size is not None and self._length(state, to) >= size

    def _ways(
        self, state: State, k: int, r: int, route: Route
    ) -> Iterator[tuple[float, tuple[int, int], State]]:
        spots = list(route.ways)
        if route.kind == "chance":
            for spot, probability in route.ways.items():
                yield probability, spot, state
        elif route.kind == "shortest":
            lengths = [self._length(state, to) for to, _ in spots]
            first = [spot for spot, n in zip(spots, lengths, strict=True) if n == min(lengths)]
            for spot in first:
                yield 1 / len(first), spot, state
        else:
            at = self.turns.index((k, r))
            turns = state[-1]
            following = (*turns[:at], (turns[at] + 1) % len(spots), *turns[at + 1 :])
            yield 1.0, spots[turns[at]], (*state[:-1], following)

    def _length(self, state: State, k: int) -> int:
        if self.nodes[k].kind != "station":
            return 0
        return int(sum(n for _, n in state[k][0])) + len(state[k][1])

    def _fill(self, state: State, k: int) -> list[_Work]:
        """Servers that are free take who is next; room that is free takes who is blocked."""
        service = self.nodes[k].service
        assert service is not None
        serving, waiting, blocked = state[k]
        busy = sum(count for _, count in serving)
        if service.kind != "turns" or not waiting or busy >= service.servers:
            return [(1.0, *self._freed(state, k), ())]
        results: list[_Work] = []
        for p, at in _next(service, waiting):
            job, left = waiting[at], (*waiting[:at], *waiting[at + 1 :])
            times = service.times[job[0]]
            if not times:
                after = _put(state, k, (serving, left, blocked))
                results.append((p, after, (("leave", k, job),), ()))
                continue
            for phase, q in enumerate(times.start):
                if q:
                    after = _put(state, k, (_added(serving, (job, phase)), left, blocked))
                    results.append((p * q, after, (("fill", k),), ()))
        return results

    def _freed(self, state: State, k: int) -> tuple[State, tuple[Any, ...]]:
        """The first job that is blocked comes in, if there is room."""
        serving, waiting, blocked = state[k]
        if not blocked or self._full(state, k):
            return state, ()
        (origin, job), queue = blocked[0], blocked[1:]
        state = _put(state, k, (serving, waiting, queue))
        held = _taken(state[origin][0], (job, -1 - k))
        state = _put(state, origin, (held, *state[origin][1:]))
        todo: tuple[Any, ...] = (("enter", k, job, origin), ("fill", origin), ("fill", k))
        i = self.region_of.get(origin)
        if i is not None and self.region_of.get(k) != i:
            todo = (*todo, ("admit", i))
        return state, todo

    def _admit(self, state: State, i: int) -> list[_Work]:
        """Who waits in front of a region comes in, the first that has room."""
        at, region = len(self.nodes) + i, self.model.regions[i]
        for place, (k, job) in enumerate(state[at]):
            if self._has_room(state, region, job[0]):
                left = (*state[at][:place], *state[at][place + 1 :])
                inside = next(iter(region.nodes))
                todo = (("enter", k, job, inside), ("admit", i))
                return [(1.0, _put(state, at, left), todo, ())]
        return [(1.0, state, (), ())]

    def _has_room(self, state: State, region: Region, r: int) -> bool:
        counts: Counter[int] = Counter()
        for k, job, count in self.contents(state):
            if k in region.nodes:
                counts[job[0]] += count
        limit = region.most_of[r]
        if limit is not None and counts[r] >= limit:
            return False
        weight = sum(region.weights[c] * count for c, count in counts.items())
        return region.most is None or weight + region.weights[r] <= region.most

    def _canonical(self, state: State) -> State:
        """Return the state with its split jobs numbered in the order in which they stand."""
        numbers: dict[int, int] = {0: 0}
        for _, job, _ in self.contents(state):
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


def _first_phases(node: Node) -> list[tuple[float, tuple[tuple[int, int], ...]]]:
    results: list[tuple[float, tuple[tuple[int, int], ...]]] = [(1.0, ())]
    for r, times in enumerate(node.arrivals):
        if times is not None:
            results = [
                (p * q, (*phases, (r, phase)))
                for p, phases in results
                for phase, q in enumerate(times.start)
                if q
            ]
    return results


def _put(state: State, k: int, part: Any) -> State:
    return (*state[:k], part, *state[k + 1 :])


def _added(items: tuple[Any, ...], key: Any) -> tuple[Any, ...]:
    """Return a sorted multiset with one more."""
    for at, (item, count) in enumerate(items):
        if item == key:
            return (*items[:at], (key, count + 1), *items[at + 1 :])
        if item > key:
            return (*items[:at], (key, 1), *items[at:])
    return (*items, (key, 1))


def _taken(items: tuple[Any, ...], key: Any) -> tuple[Any, ...]:
    """Return a sorted multiset with one less."""
    for at, (item, count) in enumerate(items):
        if item == key:
            less = ((key, count - 1),) if count > 1 else ()
            return (*items[:at], *less, *items[at + 1 :])
    raise KeyError(key)


def _count(items: tuple[Any, ...], key: Any) -> int:
    return next((int(count) for item, count in items if item == key), 0)


def _queued(service: Service, waiting: tuple[Job, ...], job: Job) -> tuple[Job, ...]:
    """Return who waits, with one more."""
    ranks, rank = service.ranks, service.ranks[job[0]]
    if service.order == "random":
        return tuple(sorted((*waiting, job), key=lambda queued: (ranks[queued[0]], queued)))
    behind = [
        at
        for at, queued in enumerate(waiting)
        if ranks[queued[0]] > rank or (service.order == "head" and ranks[queued[0]] == rank)
    ]
    at = behind[0] if behind else len(waiting)
    return (*waiting[:at], job, *waiting[at:])


def _next(service: Service, waiting: Sequence[Job]) -> list[tuple[float, int]]:
    """Return who may be next, by position, with probabilities."""
    if service.order != "random":
        return [(1.0, 0)]
    rank = service.ranks[waiting[0][0]]
    first = [job for job in waiting if service.ranks[job[0]] == rank]
    return [(n / len(first), waiting.index(job)) for job, n in Counter(first).items()]


def _speeds(service: Service, serving: tuple[Any, ...]) -> list[float]:
    """Return how fast each of the jobs that are served goes on."""
    if service.kind != "shared":
        return [1.0] * len(serving)
    classes = [job[0] for (job, _), _ in serving]
    counts: Counter[int] = Counter()
    for (job, _), count in serving:
        counts[job[0]] += count
    if service.share == "equal":
        total = sum(counts.values())
        return [min(1.0, service.servers / total)] * len(serving) if total else []
    weights = service.weights
    if service.share == "by job":
        whole = sum(weights[r] * count for r, count in counts.items())
        return [weights[r] / whole for r in classes]
    whole = sum(weights[r] for r in counts)
    return [weights[r] / whole / counts[r] for r in classes]
