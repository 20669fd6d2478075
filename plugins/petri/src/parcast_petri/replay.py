"""Runs of one net again and again, each with its own random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import SolveError
from parcast.replications import generator
from parcast_petri.arrays import Arrays
from parcast_petri.kernel import layout as k
from parcast_petri.load import Load
from parcast_petri.memory import Memory
from parcast_petri.programs.nodes import Old
from parcast_petri.token_game import Play

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
    """Draws the jobs that are on the nodes when a run begins."""

    made: Arrays
    old: Sequence[Old]
    loads: Mapping[int, Load]
    others: int = 0  #: processes that always compute on each node, besides one that begins
    _numbers: dict[int, NDArray[np.float64]] = attrs.field(factory=dict, init=False)

    def room(self) -> int:
        """Return how many jobs there may be on all nodes together."""
        return sum(len(self._jobs(node)) for node in self.loads)

    def _jobs(self, node: int) -> NDArray[np.float64]:
        if node not in self._numbers:
            load = self.loads[node]
            found = load.jobs(self.others)
            if load.scheduling == "priority":
                found = load.jobs(0)
            self._numbers[node] = np.cumsum(found)
        return self._numbers[node]

    def draw(self, memory: Memory, draw: np.random.Generator) -> None:
        """Put a random number of jobs, part of their work done, on each node."""
        places = self.made.net.places
        for node in self.loads:
            classes = [one for one in self.old if one.node == node]
            table_of = [self._table(memory, one) for one in classes]
            count = int(np.searchsorted(self._jobs(node), draw.random()))
            shares = [one.share for one in classes]
            numbers = draw.multinomial(count, shares)
            for one, (first, room), number in zip(classes, table_of, numbers.tolist(), strict=True):
                if number > room:
                    raise SolveError(
                        f"node {node} begins with {number} jobs of one class, more than {room}; "
                        "its utilization is too near to 1"
                    )
                at = int(memory.m[k.TABLE]) + first
                memory.f[at : at + number] = one.law.residual(draw, number)
                memory.m[memory.m[k.MARKING] + places.index(one.place)] = number

    def _table(self, memory: Memory, one: Old) -> tuple[int, int]:
        at = int(memory.m[k.TABLE_AT]) + one.transition
        return int(memory.m[at]), int(memory.m[at + 1] - memory.m[at])


def untouched(memory: Memory, draw: np.random.Generator) -> None:
    """Begin as the net says."""
