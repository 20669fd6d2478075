"""What can happen in a state, and which states follow: the chain of a network.

A state is a tuple: what each node holds, then who waits in front of each region, then whose turn
it is at routers. What takes no time is followed at once, with its probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parcast_spmd.states.contents import State, added, count_of, put, taken
from parcast_spmd.states.model import ManyStatesError, Mode, Node, Service, StatesError, StatesModel
from parcast_spmd.states.queues import speeds_of
from parcast_spmd.states.steps import Mark, Steps, Work

#: A probability, a state, and what has happened on the way
Outcome = tuple[float, State, tuple[Mark, ...]]

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
    most_steps
        Steps without time, of all events.
    """

    def __init__(self, model: StatesModel, most_open: int, most_steps: int = MOST_STEPS) -> None:
        self.model, self.most_open, self.steps_done = model, most_open, 0
        self.most_steps = most_steps
        self.nodes, self.steps = model.nodes, Steps(model)
        self.contents = self.steps.contents
        self.split = any(node.kind == "fork" for node in model.nodes)
        self.immediate = [i for i, mode in enumerate(model.modes) if mode.rate is None]
        self.timed = [i for i, mode in enumerate(model.modes) if mode.rate is not None]

    def initial(self) -> list[Outcome]:
        """Return the states that the model may begin in."""
        empty: list[Any] = []
        starts: list[Work] = [(1.0, (), (), ())]
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
        fronts = ((),) * len(self.model.regions) + ((0,) * len(self.steps.turns),)
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
            work: list[Work] = []
            for p, after in enumerate(times.after[phase]):
                if after:
                    moved = (*state[k][:at], (r, p), *state[k][at + 1 :])
                    work.append((after, put(state, k, moved), (), ()))
            if (ends := 1 - sum(times.after[phase])) > 1e-15:
                for p, begin in enumerate(times.start):
                    if begin:
                        moved = (*state[k][:at], (r, p), *state[k][at + 1 :])
                        work.append((ends * begin, *self._come(put(state, k, moved), k, r)))
            yield times.rates[phase], self._settled(work)

    def _come(
        self, state: State, k: int, r: int
    ) -> tuple[State, tuple[Any, ...], tuple[Mark, ...]]:
        mark = (("entered", k, r),)
        if self.contents.inside(state) >= self.most_open:
            return state, (), (*mark, ("away", k, r))
        return state, (("leave", k, (r, 0, 0)),), mark

    def _services(
        self, state: State, k: int, service: Service
    ) -> Iterator[tuple[float, list[Outcome]]]:
        serving = state[k][0]
        speeds = speeds_of(service, serving)
        for (key, count), speed in zip(serving, speeds, strict=True):
            job, phase = key
            if phase < 0:  # it has been served and finds no room
                continue
            times = service.times[job[0]]
            if not times:
                continue
            left = taken(serving, key)
            work: list[Work] = [
                (after, put(state, k, (added(left, (job, p)), *state[k][1:])), (), ())
                for p, after in enumerate(times.after[phase])
                if after
            ]
            if (ends := 1 - sum(times.after[phase])) > 1e-15:
                work.append((ends, put(state, k, (left, *state[k][1:])), (("leave", k, job),), ()))
            yield count * speed * times.rates[phase], self._settled(work)

    def _settled(self, work: list[Work]) -> list[Outcome]:
        """Return the states in which time goes on, with their probabilities."""
        results: dict[tuple[State, tuple[Mark, ...]], float] = {}
        steps = 0
        while work:
            steps += 1
            if steps > _MOST_STEPS:
                raise StatesError(
                    "what takes no time goes round, or spreads too far, after one event"
                )
            if self.steps_done + steps > self.most_steps:
                raise ManyStatesError(
                    f"following its states takes more than {self.most_steps:,} steps"
                )
            probability, state, todo, marks = work.pop()
            if todo:
                (name, *arguments), later = todo[0], todo[1:]
                for p, after, more, new in self.steps.by_name[name](state, *arguments):
                    work.append((probability * p, after, (*more, *later), (*marks, *new)))
                continue
            chosen = self._chosen(state)
            if not chosen:
                key = (self.contents.canonical(state) if self.split else state), marks
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
            if count_of(state[k], (r, 0, 0)) >= limit:
                return 0
        degrees = [count_of(state[k], (r, 0, 0)) // need for (k, r), need in mode.need.items()]
        if mode.servers is not None:
            degrees.append(mode.servers)
        return min(degrees)

    def _fired(self, state: State, i: int) -> tuple[State, tuple[Any, ...], tuple[Mark, ...]]:
        mode = self.model.modes[i]
        for (k, r), need in mode.need.items():
            for _ in range(need):
                state = put(state, k, taken(state[k], (r, 0, 0)))
        todo = tuple(
            ("enter", k, (r, 0, 0), -1) for (k, r), count in mode.give.items() for _ in range(count)
        )
        return state, todo, (("fired", i, 0),)


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
