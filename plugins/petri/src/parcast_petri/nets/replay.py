"""Runs of one net again and again, each with its own random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.quantities import generator
from parcast_petri.kernel import layout as k
from parcast_petri.nets.arrays import Arrays
from parcast_petri.nets.memory import Memory
from parcast_petri.nets.token_game import Play
from parcast_petri.programs.background_net import Others
from parcast_petri.programs.nodes import Old, Renewals
from parcast_petri.programs.round_robin import Slots
from parcast_petri.programs.traffic import Source

#: Sets up a run: memory and random numbers.
Prepare = Callable[[Memory, np.random.Generator], None]


class Replay:
    """A net that is run from the same state with other random numbers.

    Parameters
    ----------
    made
        The net, as `arrays` gives it in its compiled or plain form.
    prepare
        What is drawn before a run, such as the jobs that are there at first.
    seed
        Of all runs: the same numbers for the same seed and replication.
    slots
        How many jobs there is room for at first.
    """

    def __init__(self, made: Arrays, prepare: Prepare, seed: int, slots: int = 0) -> None:
        self.made, self.prepare, self.seed = made, prepare, seed
        self.template = made.memory(slots=slots)
        self.memory = made.memory(slots=slots)
        self.firings = 0

    def times(self, number: int) -> Sequence[float]:
        """Return when each transition fired last in the replication of this number."""
        self.run(number)
        return self.memory.column(k.LAST)

    def run(self, number: int) -> None:
        """Run the replication of this number; ``memory`` says what it came to."""
        draw = generator(self.seed, number)
        self.memory.copy_from(self.template)
        self.prepare(self.memory, draw)
        play = Play(self.made, draw, memory=self.memory)
        play.end()
        if play.memory is not self.memory:  # it has grown
            self.memory = play.memory
            self.template = self.made.memory(slots=self.memory.slots)
        self.firings += play.firings


@attrs.frozen
class Beginnings:
    """Draws the jobs and messages of others that are there when a run begins."""

    made: Arrays
    others: Others
    beside: int = 0  #: processes that always compute on each node, besides one that begins
    _numbers: dict[int | str, NDArray[np.float64]] = attrs.field(factory=dict, init=False)
    _place: dict[str, int] = attrs.field(init=False)

    @_place.default
    def _places(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.made.net.places)}

    def room(self) -> int:
        """Return how many jobs there may be everywhere together."""
        return sum(len(self._jobs(where)) for where in self.others.loads)

    def _jobs(self, where: int | str) -> NDArray[np.float64]:
        if where not in self._numbers:
            load = self.others.loads[where]
            found = load.jobs(self.beside)
            if load.scheduling == "priority":
                found = load.jobs(0)
            self._numbers[where] = np.cumsum(found)
        return self._numbers[where]

    def draw(self, memory: Memory, draw: np.random.Generator) -> None:
        """Put a random number of jobs, part of their work done, on each node and link.

        The numbers are those of arrivals at random; arrivals with a memory have the time before
        the outset to come to theirs.
        """
        if settling := self.others.settling:
            memory.f[k.CLOCK] = memory.f[k.SINCE] = memory.f[k.UNTIL] = -settling.seconds
            self._mark(memory, settling.before, 1)
            for place in settling.outset:
                self._mark(memory, place, 0)
        for where in self.others.loads:
            count = int(np.searchsorted(self._jobs(where), draw.random()))
            old = [one for one in self.others.old if one.where == where]
            slots = [one for one in self.others.slots if one.node == where]
            shares = [*(one.share for one in old), *(one.share for one in slots)]
            numbers = draw.multinomial(count, shares).tolist()
            for one, number in zip(old, numbers, strict=False):
                self._put_old(memory, draw, one, number)
            for turns, number in zip(slots, numbers[len(old) :], strict=True):
                self._put_in_turns(memory, draw, turns, number)
        waits = [one.arrivals for one in self.others.old]
        for wait in [*waits, *(one.arrivals for one in self.others.slots)]:
            if wait is not None:
                self._put_first(memory, draw, wait)
        for source in self.others.sources:
            self._put_source(memory, draw, source)

    def _put_old(self, memory: Memory, draw: np.random.Generator, one: Old, number: int) -> None:
        at = int(memory.m[k.TABLE]) + self._table(memory, one.transition)
        memory.f[at : at + number] = one.law.residual(draw, number)
        self._mark(memory, one.place, number)

    def _put_in_turns(
        self, memory: Memory, draw: np.random.Generator, one: Slots, number: int
    ) -> None:
        taken = one.slots[:number]
        left = one.law.residual(draw, len(taken)).tolist()
        for slot, work in zip(taken, left, strict=True):
            self._mark(memory, slot.free, 0)
            self._mark(memory, slot.waiting, 1)
            memory.f[int(memory.m[k.LEFT]) + slot.work] = work
        self._mark(memory, one.come, number - len(taken))

    def _put_first(self, memory: Memory, draw: np.random.Generator, one: Renewals) -> None:
        self._mark(memory, one.more, 0)
        self._mark(memory, one.first, 1)
        first = self._table(memory, one.transition)
        memory.f[int(memory.m[k.TABLE]) + first] = one.law.residual(draw, 1)[0]

    def _put_source(self, memory: Memory, draw: np.random.Generator, one: Source) -> None:
        quiet, burst = (law.mean for law in one.laws)
        state = int(draw.random() < burst / (quiet + burst))
        self._mark(memory, one.quiet, 0)
        self._mark(memory, one.first[state], 1)
        first = self._table(memory, one.ends[state])
        memory.f[int(memory.m[k.TABLE]) + first] = one.laws[state].residual(draw, 1)[0]

    def _mark(self, memory: Memory, place: str, tokens: int) -> None:
        memory.m[int(memory.m[k.MARKING]) + self._place[place]] = tokens

    def _table(self, memory: Memory, transition: int) -> int:
        return int(memory.m[int(memory.m[k.TABLE_AT]) + transition])


def untouched(memory: Memory, draw: np.random.Generator) -> None:
    """Begin as the net says."""
