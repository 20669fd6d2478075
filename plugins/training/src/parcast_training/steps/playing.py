"""When each stage ends its passes, as these wait for each other's messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache

from parcast_training.steps.layout import Layout
from parcast_training.steps.pipeline import Event, Pass, source, target
from parcast_training.steps.schedule import order
from parcast_training.steps.segments import Hop

#: A stage, whether forward, and the piece and microbatch there that a message is for.
_Message = tuple[int, bool, int, int]


def played(
    layout: Layout,
    seconds: Callable[[int, Pass], float],
    hop: Callable[[int, int], Hop],
    *,
    zero_bubble: bool = False,
    before: dict[Event, Event] | None = None,
) -> list[float]:
    """Return when each stage ends all its passes.

    Parameters
    ----------
    layout
        Stages, pieces and microbatches.
    seconds
        Of a pass on a stage.
    hop
        What a message from a stage to another costs.
    zero_bubble
        The order of passes.
    before
        Gets, for each pass, the one whose end it began at, on its stage or another.
    """
    play = _Play(layout, seconds, cache(hop), before)
    orders = [deque(order(layout, s, zero_bubble=zero_bubble)) for s in range(layout.pp)]
    while play.ready:
        stage = play.ready.popleft()
        while orders[stage] and play.run(stage, orders[stage][0]):
            orders[stage].popleft()
    return play.clocks


class _Play:
    """Clocks of stages, and messages between them."""

    def __init__(
        self,
        layout: Layout,
        seconds: Callable[[int, Pass], float],
        hop: Callable[[int, int], Hop],
        before: dict[Event, Event] | None,
    ) -> None:
        self._layout, self._seconds, self._hop, self._before = layout, seconds, hop, before
        self.clocks = [0.0] * layout.pp
        self.ready = deque(range(layout.pp))  #: stages that may go on
        self._latest: list[Event | None] = [None] * layout.pp
        self._arrivals: dict[_Message, tuple[float, Event]] = {}
        self._waiting: set[_Message] = set()

    def run(self, stage: int, run: Pass) -> bool:
        """Do the next pass of a stage; return False if a message for it is still to be sent."""
        expected = list[tuple[_Message, int]]()
        for part in run.parts:
            sender = source(self._layout, stage, part)
            if sender is not None:
                message = (stage, part.kind == "F", part.chunk, part.microbatch)
                if message not in self._arrivals:
                    self._waiting.add(message)
                    return False
                expected.append((message, sender))
        cause = self._latest[stage]
        for message, sender in expected:
            cause = self._receive(stage, message, sender, cause)
        event = self._latest[stage] = (stage, run)
        if self._before is not None and cause is not None:
            self._before[event] = cause
        self.clocks[stage] += self._seconds(stage, run)
        for part in run.parts:
            self._send(event, part)
        return True

    def _receive(
        self, stage: int, message: _Message, sender: int, cause: Event | None
    ) -> Event | None:
        """Wait for a message; return what the stage then goes on from."""
        arrived, sent_by = self._arrivals.pop(message)
        if arrived > self.clocks[stage]:
            self.clocks[stage], cause = arrived, sent_by
        self.clocks[stage] += self._hop(sender, stage).receive
        return cause

    def _send(self, event: Event, part: Pass) -> None:
        stage = event[0]
        to = target(self._layout, stage, part)
        if to is None:
            return
        cost = self._hop(stage, to[0])
        self.clocks[stage] += cost.send
        message = (to[0], part.kind == "F", to[1], part.microbatch)
        self._arrivals[message] = self.clocks[stage] + cost.wire, event
        if message in self._waiting:
            self._waiting.remove(message)
            self.ready.append(to[0])
