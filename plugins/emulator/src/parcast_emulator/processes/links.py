"""Links that messages share in max-min fair rates, on the clock of processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from parcast.model import Wiring
from parcast.plugins import Kernel, compile_kernel
from parcast.program.reference import end_of_instant
from parcast_emulator.processes.clock import RUN, SETTLE, Clock
from parcast_network.sharing.compiled import SOURCES, new_state, register
from parcast_network.sharing.growing import with_flow_room
from parcast_network.sharing.steps.layout import NONE
from parcast_network.sharing.steps.settling import end, ended, next_end, settle, start

#: Flows that there is room for at first.
_ROOM = 64


def _compiled(step: Callable[..., Any]) -> Any:
    register()
    return compile_kernel(step, "parcast-emulator", SOURCES, nogil=True, error_model="numpy")


#: The steps of an allocation; plain, each takes some 20 us for every flow that it looks at.
_START, _END, _SETTLE = (
    Kernel(step, partial(_compiled, step), plain_steps=100_000) for step in (start, end, settle)
)


class SharedLinks:
    """All links of a network, and the messages whose bytes flow over them."""

    def __init__(self, clock: Clock, wiring: Wiring) -> None:
        self._clock, self._wiring = clock, wiring
        self._routes: dict[tuple[int, int], Any] = {}
        self._room = _ROOM
        hops = wiring.routes(np.zeros(1, np.int64), np.zeros(1, np.int64)).shape[1]
        self._network = new_state(wiring.capacity, wiring.shared, flows=_ROOM, hops=hops)
        self._free = list(range(_ROOM))
        self._arrived: dict[int, Callable[[], Any]] = {}
        self._changed: float | None = None  #: the latest change that rates do not know yet
        self._settled = 0

    def route(self, source: int, target: int) -> Any:
        """Return the links between two ranks, filled up with numbers below 0."""
        if (source, target) not in self._routes:
            row = self._wiring.routes(np.array([source]), np.array([target]))[0]
            self._routes[source, target] = np.sort(row)[::-1].astype(np.int64)
        return self._routes[source, target]

    def send(self, route: Any, size: float, seconds: float, arrived: Callable[[], Any]) -> None:
        """Let bytes that take so many seconds alone flow over a route from now on."""
        if not self._free:
            self._free = list(range(self._room, 2 * self._room))
            self._room *= 2
            self._network = with_flow_room(self._network, self._room)
        flow = self._free.pop()
        self._arrived[flow] = arrived
        _START.form(1)(self._network, flow, self._clock.now, route, size / seconds, size)
        self._change()

    def _change(self) -> None:
        """Have rates settled when nothing more changes at this instant."""
        if self._changed is None:
            self._clock.at(self._clock.now, SETTLE, (), self._settle)
        self._changed = max(self._changed or 0.0, self._clock.now)

    def _settle(self) -> None:
        changed, self._changed = self._changed, None
        _SETTLE.form(len(self._arrived))(self._network, changed)
        self._settled += 1
        self._look(self._settled)

    def _look(self, settled: int) -> None:
        """Be there when the next flow ends, unless rates are settled anew before."""
        first = next_end(self._network)
        if first < math.inf:
            self._clock.at(first, RUN, (), lambda: self._end(settled))

    def _end(self, settled: int) -> None:
        if settled != self._settled:
            return
        flow = ended(self._network, self._clock.now)
        if flow != NONE:
            _END.form(1)(self._network, flow)
            self._free.append(flow)
            self._change()
            self._arrived.pop(flow)()
        if next_end(self._network) <= end_of_instant(self._clock.now):
            self._look(settled)
