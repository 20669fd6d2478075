"""What letters pass on their way: latencies, ports, a bus, or links in fair shares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from parcast.model.costs import Costs
from parcast.model.messages import SIGNAL
from parcast.testing.events.agenda import RUN, SERVE, Agenda
from parcast.testing.events.letters import Letter
from parcast.testing.streams import Streams


class Transport:
    """The network of a machine.

    Parameters
    ----------
    costs
        What it charges.
    agenda
        Where arrivals are put down.
    arrive
        Hears of a letter that has arrived now.
    """

    def __init__(self, costs: Costs, agenda: Agenda, arrive: Callable[[Letter], None]) -> None:
        self._costs = costs
        self._agenda = agenda
        self._arrive = arrive
        self._node = costs.placement.node.tolist()
        self._streams = Streams(costs)
        self._changes = 0  # of what is on its way
        self._bus_free: float = 0
        self._out_free: dict[int, float] = defaultdict(int)
        self._in_free: dict[int, float] = defaultdict(int)

    def depart(self, letter: Letter) -> None:
        """Begin the transfer of a letter."""
        letter.left = self._agenda.now
        latency, seconds = self.crossing(letter)
        if self._costs.contention == "fair":
            self._go(letter, self._agenda.now + latency)
        elif self._node[letter.source] == self._node[letter.target] or (
            self._costs.contention == "none" or letter.size == SIGNAL
        ):
            self._land(letter, self._agenda.now + latency + seconds)
        else:
            through = self._bus if self._costs.contention == "bus" else self._out_port
            self._serve(letter, self._agenda.now, through)

    def crossing(self, letter: Letter) -> tuple[float, float]:
        """Return the latency of a letter, and its seconds on the links alone."""
        if letter.size == SIGNAL:
            return 0, 0
        latency, per_byte, size = self._prices(letter)
        if self._costs.fabric is not None:
            wiring, steps = self._costs.wiring(), self._costs.sizes
            factors = [step.latency_factor for step in steps if step.least <= letter.size]
            for link in self._streams.route(letter.source, letter.target):
                if link < len(self._costs.fabric.latency):
                    latency += self._costs.fabric.latency[link] * (factors[-1] if factors else 1)
            for link, weight in self._streams.crossed(letter.source, letter.target).items():
                per_byte = max(per_byte, weight / wiring.capacity[link])
        return latency, size * per_byte

    def _prices(self, letter: Letter) -> tuple[float, float, float]:
        """Return the startup of a letter, the seconds of each byte, and its bytes."""
        costs, source, target = self._costs, letter.source, letter.target
        apart = self._node[source] != self._node[target]
        steps = [step for step in costs.sizes if step.least <= letter.size]
        size = letter.size
        if apart:
            size = (size + costs.header) * (steps[-1].expansion if steps else 1)
        for level in costs.levels:
            if level.instance[source] == level.instance[target]:
                return level.startup, level.per_byte, size
        if not apart and not costs.local_by_size:
            return costs.local_startup, costs.local_per_byte, size
        far = steps[-1] if steps else costs
        return far.startup, far.per_byte, size

    def _go(self, letter: Letter, time: float) -> None:
        """Let the bytes of a letter share the links of its route from a time on."""
        _, per_byte, size = self._prices(letter)
        route = self._streams.route(letter.source, letter.target)
        if letter.size == SIGNAL or not size or not (per_byte or route):
            self._land(letter, time)
            return
        self._streams.add(letter, size, per_byte, time)
        self._look()

    def _look(self) -> None:
        """Be there when the streams change, unless they change before."""
        self._changes += 1
        change, time = self._changes, self._streams.next_change()

        def step() -> None:
            if change == self._changes:
                for letter in self._streams.change(self._agenda.now):
                    self._arrive(letter)
                self._look()

        if time is not None:
            self._agenda.at(time, RUN, -1, 0, step)

    def _land(self, letter: Letter, time: float) -> None:
        self._agenda.at(time, RUN, letter.source, letter.order, lambda: self._arrive(letter))

    def _serve(self, letter: Letter, time: float, through: Callable[[Letter], None]) -> None:
        """Have a letter served at a time, in the turn of who asks for it."""
        self._agenda.at(time, SERVE, letter.asker, letter.order, lambda: through(letter))

    def _bus(self, letter: Letter) -> None:
        latency, seconds = self.crossing(letter)
        self._bus_free = max(self._bus_free, self._agenda.now) + seconds
        self._land(letter, self._bus_free + latency)

    def _out_port(self, letter: Letter) -> None:
        node = self._node[letter.source]
        begin = max(self._out_free[node], self._agenda.now)
        latency, seconds = self.crossing(letter)
        self._out_free[node] = begin + seconds
        self._serve(letter, begin + latency, self._in_port)

    def _in_port(self, letter: Letter) -> None:
        node = self._node[letter.target]
        begin = max(self._in_free[node], self._agenda.now)
        self._in_free[node] = begin + self.crossing(letter)[1]
        self._land(letter, self._in_free[node])
