"""Runs of one net again and again, each with its own random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.quantities import Replications, generator, replicate
from parcast_petri.compilation import GAME
from parcast_petri.kernel import layout as k
from parcast_petri.nets.arrays import Arrays, Memory
from parcast_petri.nets.net import NetError
from parcast_petri.nets.token_game import MOST_FIRINGS, Play
from parcast_petri.options import SampledOptions
from parcast_petri.programs.accounting import Records
from parcast_petri.programs.background_net import BackgroundNet
from parcast_petri.programs.nodes import InitialJobs, Renewals
from parcast_petri.programs.round_robin import Slots
from parcast_petri.programs.traffic import Source

#: Longer runs are not played by the plain form.
_MOST_PLAIN = 50_000

#: Sets up a run: memory and random numbers.
Prepare = Callable[[Memory, np.random.Generator], None]


class Replay:
    """A net that is run from the same state with other random numbers.

    Parameters
    ----------
    net_arrays
        The net, as `kernel_arrays` gives it in its compiled or plain form.
    prepare
        What is drawn before a run, such as the jobs that are there at first.
    seed
        Of all runs: the same numbers for the same seed and replication.
    slots
        How many jobs there is room for at first.

    Notes
    -----
    A plain form gives way to the compiled one, which plays alike, as soon as the runs are worth it.
    """

    def __init__(self, net_arrays: Arrays, prepare: Prepare, seed: int, slots: int = 0) -> None:
        self.net_arrays, self.prepare, self.seed = net_arrays, prepare, seed
        self.firings = self._firings = 0
        self._make_room(slots)

    def _compile(self) -> None:
        self.net_arrays = attrs.evolve(self.net_arrays, form="compiled")
        self._make_room(self.memory.slots)

    def _make_room(self, slots: int) -> None:
        self.template = self.net_arrays.memory(slots=slots)
        self.memory = self.net_arrays.memory(slots=slots)

    def times(self, number: int) -> Sequence[float]:
        """Return when each transition fired last in the replication of this number."""
        self.run(number)
        return self.memory.column(k.LAST)

    def run(self, number: int) -> None:
        """Run the replication of this number; ``memory`` says what it came to."""
        plain = self.net_arrays.form == "plain"
        if plain and (GAME.loaded or GAME.worth_compiling(self._firings)):
            self._compile()
            plain = False
        draw = generator(self.seed, number)
        self.memory.copy_from(self.template)
        self.prepare(self.memory, draw)
        play = Play(self.net_arrays, draw, _MOST_PLAIN if plain else MOST_FIRINGS, self.memory)
        try:
            play.end()
        except NetError:
            if not plain or play.firings < _MOST_PLAIN:
                raise
            self._compile()
            self.run(number)
            return
        if play.memory is not self.memory:  # it has grown
            self.memory = play.memory
            self.template = self.net_arrays.memory(slots=self.memory.slots)
        self._firings = play.firings  # of one run
        self.firings += self._firings


@attrs.frozen(eq=False)
class Runs:
    """Many runs of one program."""

    replications: Replications
    spent: Any  #: the mean of the parts of their times
    firings: int


def run_often(replay: Replay, records: Records, options: SampledOptions, least: int = 10) -> Runs:
    """Run a program's net until its mean time is known as well as the options ask."""
    spent: list[NDArray[np.float64]] = []

    def sample(numbers: Sequence[int]) -> list[float]:
        accounts = [records.read(replay.times(number)) for number in numbers]
        spent.extend(account.spent.mean(axis=0) for account in accounts)
        return [account.time for account in accounts]

    replications = replicate(sample, tolerance=options.tolerance, least=least, most=options.most)
    return Runs(replications, np.mean(spent, axis=0), replay.firings)


@attrs.frozen
class Beginnings:
    """Draws the jobs and messages of others that are there when a run begins."""

    net_arrays: Arrays
    background: BackgroundNet
    beside: int = 0  #: processes that always compute on each node, besides one that begins
    _jobs: dict[int | str, NDArray[np.float64]] = attrs.field(init=False)
    _place: dict[str, int] = attrs.field(init=False)

    @_jobs.default
    def _probabilities(self) -> dict[int | str, NDArray[np.float64]]:
        """Return the probability of each number of jobs or fewer, by node and link."""
        jobs = {
            where: load.jobs(0 if load.scheduling == "priority" else self.beside)
            for where, load in self.background.loads.items()
        }
        return {where: np.cumsum(probabilities) for where, probabilities in jobs.items()}

    @_place.default
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.net_arrays.net.places)}

    def room(self) -> int:
        """Return how many jobs there may be everywhere together."""
        return sum(map(len, self._jobs.values()))

    def draw(self, memory: Memory, draw: np.random.Generator) -> None:
        """Put a random number of jobs, part of their work done, on each node and link.

        The numbers are those of arrivals at random; arrivals with a memory have the time before
        the outset to come to theirs.
        """
        if warm_up := self.background.warm_up:
            memory.f[k.CLOCK] = memory.f[k.SINCE] = memory.f[k.UNTIL] = -warm_up.seconds
            self._mark(memory, warm_up.before, 1)
            for place in warm_up.outset:
                self._mark(memory, place, 0)
        for where in self.background.loads:
            count = int(np.searchsorted(self._jobs[where], draw.random()))
            initial = [jobs for jobs in self.background.initial_jobs if jobs.where == where]
            slots = [turns for turns in self.background.slots if turns.node == where]
            shares = [*(group.share for group in initial), *(group.share for group in slots)]
            numbers = draw.multinomial(count, shares).tolist()
            for jobs, number in zip(initial, numbers, strict=False):
                self._put_initial_jobs(memory, draw, jobs, number)
            for turns, number in zip(slots, numbers[len(initial) :], strict=True):
                self._put_in_turns(memory, draw, turns, number)
        waits = [jobs.arrivals for jobs in self.background.initial_jobs]
        for wait in [*waits, *(turns.arrivals for turns in self.background.slots)]:
            if wait is not None:
                self._put_first(memory, draw, wait)
        for source in self.background.sources:
            self._put_source(memory, draw, source)

    def _put_initial_jobs(
        self, memory: Memory, draw: np.random.Generator, jobs: InitialJobs, number: int
    ) -> None:
        at = int(memory.m[k.TABLE]) + self._table(memory, jobs.transition)
        memory.f[at : at + number] = jobs.law.residual(draw, number)
        self._mark(memory, jobs.place, number)

    def _put_in_turns(
        self, memory: Memory, draw: np.random.Generator, turns: Slots, number: int
    ) -> None:
        slots = turns.slots[:number]
        remaining = turns.law.residual(draw, len(slots)).tolist()
        for slot, work in zip(slots, remaining, strict=True):
            self._mark(memory, slot.free, 0)
            self._mark(memory, slot.waiting, 1)
            memory.f[int(memory.m[k.LEFT]) + slot.work] = work
        self._mark(memory, turns.come, number - len(slots))

    def _put_first(self, memory: Memory, draw: np.random.Generator, renewals: Renewals) -> None:
        self._mark(memory, renewals.later, 0)
        self._mark(memory, renewals.first, 1)
        first = self._table(memory, renewals.transition)
        memory.f[int(memory.m[k.TABLE]) + first] = renewals.law.residual(draw, 1)[0]

    def _put_source(self, memory: Memory, draw: np.random.Generator, source: Source) -> None:
        quiet, burst = (law.mean for law in source.laws)
        state = int(draw.random() < burst / (quiet + burst))
        self._mark(memory, source.quiet, 0)
        self._mark(memory, source.first[state], 1)
        first = self._table(memory, source.ends[state])
        memory.f[int(memory.m[k.TABLE]) + first] = source.laws[state].residual(draw, 1)[0]

    def _mark(self, memory: Memory, place: str, tokens: int) -> None:
        memory.m[int(memory.m[k.MARKING]) + self._place[place]] = tokens

    def _table(self, memory: Memory, transition: int) -> int:
        return int(memory.m[int(memory.m[k.TABLE_AT]) + transition])


def untouched(memory: Memory, draw: np.random.Generator) -> None:
    """Begin as the net says."""
