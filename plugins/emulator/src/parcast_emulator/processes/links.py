"""Links that messages share in max-min fair rates, on the clock of processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from parcast.model import Costs
from parcast.plugins import Kernel, compile_kernel
from parcast.program.reference import end_of_instant
from parcast_emulator.processes.clock import CHANGE, Clock, Key
from parcast_network.sharing.compiled import SOURCES, new_state, register
from parcast_network.sharing.growing import with_room
from parcast_network.sharing.steps.ends import move, remove
from parcast_network.sharing.steps.layout import NONE
from parcast_network.sharing.steps.settling import end, ended, next_end, settle, start

#: Links, their weights, and the share of a full one, relative to others.
Route = tuple[Any, Any, float]

#: Flows that there is room for at first.
_ROOM = 64


# Compiled, these are calls of the steps that the kernels of other engines have in common.


def _started(network: Any, flow: int, now: float, links: Any, weights: Any, share: float,
             cap: float, size: float) -> None:  # fmt: skip
    start(network, flow, now, links, weights, share, cap, size)


def _ended(network: Any, flow: int) -> None:
    end(network, flow)


def _settled(network: Any, now: float) -> None:
    settle(network, now)


def _compiled(step: Callable[..., Any]) -> Any:
    register()
    return compile_kernel(step, "parcast-emulator", SOURCES, nogil=True, error_model="numpy")


#: The steps of an allocation; plain, each takes some 20 us for every flow that it looks at.
_START, _END, _SETTLE = (
    Kernel(step, partial(_compiled, step), plain_steps=100_000)
    for step in (_started, _ended, _settled)
)


class SharedLinks:
    """All links of a network, and the messages whose bytes flow over them.

    Messages that begin or end at one instant do so together, at the first time of it; in the same
    bits as `parcast_emulator.engines.ranks.flows`, as both do the same in the order of keys.
    """

    def __init__(self, clock: Clock, costs: Costs) -> None:
        self._clock, self._costs, wiring = clock, costs, costs.wiring()
        self._routes: dict[tuple[int, int], Route] = {}
        self._room = _ROOM
        self._hops = 1
        self._network = new_state(wiring.capacity, wiring.shared, flows=_ROOM, hops=1)
        self._free = list(range(_ROOM))
        self._latent: dict[int, tuple[Route, float, float]] = {}
        self._carried: dict[int, tuple[Key, Callable[[], Any]]] = {}
        self._changed = 0.0  #: when rates changed last
        self._looks = 0

    def route(self, source: int, target: int) -> Route:
        """Return the links that messages between two ranks take up, their weights, the share."""
        if (source, target) not in self._routes:
            (row,), weights = self._costs.wiring().loads(np.array([source]), np.array([target]))
            passed, share = row >= 0, float(self._costs.share(source, target))
            self._routes[source, target] = (
                row[passed].astype(np.int64), weights[passed].astype(float), share
            )  # fmt: skip
        return self._routes[source, target]

    def send(
        self, message: tuple[Route, float, float], latency: float, key: Key,
        arrived: Callable[[], Any],
    ) -> None:  # fmt: skip
        """Let a message go now, whose bytes flow after its latency.

        Parameters
        ----------
        message
            Its route, as `route` has it, its bytes, and the seconds that they take alone.
        latency
            Seconds.
        key
            Orders messages that begin or end together; each has its own.
        arrived
            Called when the last byte is through.
        """
        hops = len(message[0][0])
        if not self._free or hops > self._hops:
            self._make_room(max(hops, self._hops))
        flow = self._free.pop()
        self._latent[flow], self._carried[flow] = message, (key, arrived)
        self._network.flow.end[flow] = self._clock.now + latency
        move(self._network, flow)
        self._look()

    def _make_room(self, hops: int) -> None:
        """Make room for longer routes, and for more flows where none is left."""
        if not self._free:
            self._free = list(range(self._room, 2 * self._room))
            self._room *= 2
        self._hops = hops
        self._network = with_room(self._network, flows=self._room, hops=hops)

    def _look(self) -> None:
        """Be there when the next flow begins or ends, unless that changes before."""
        self._looks += 1
        if (first := next_end(self._network)) < math.inf:
            self._clock.at(first, CHANGE, (), partial(self._change, self._looks))

    def _change(self, looks: int) -> None:
        """Let the flows begin or end whose time it is; then those run on who wait for them."""
        if looks != self._looks:
            return
        now = self._changed = max(self._changed, next_end(self._network))
        arrived = []
        for flow in self._due(now):
            if flow in self._latent:
                route, size, seconds = self._latent.pop(flow)
                _START.form(1)(self._network, flow, now, *route, size / seconds, size)
            else:
                _END.form(1)(self._network, flow)
                self._free.append(flow)
                arrived.append(self._carried.pop(flow)[1])
        _SETTLE.form(len(self._carried))(self._network, now)
        for run_on in arrived:
            run_on()
        self._look()

    def _due(self, now: float) -> list[int]:
        """Take out what begins or ends at an instant, in the order of keys."""
        until, due = end_of_instant(now), []
        while (flow := ended(self._network, until)) != NONE:
            remove(self._network, flow)
            due.append(flow)
        return sorted(due, key=lambda flow: self._carried[flow][0])
