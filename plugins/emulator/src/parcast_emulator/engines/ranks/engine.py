"""One run of a program by the compiled kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parcast import Parts
from parcast.errors import InvalidPointError
from parcast.model import Costs, Wiring
from parcast.program.matching import OPS, Columns, Matched
from parcast_emulator.cluster import Cluster, Hardware, make_cluster
from parcast_emulator.engines.ranks.arrays import (
    HANDLED,
    NOW,
    STARTED,
    Program,
    State,
    charges_of,
    initial_state,
    program_of,
    with_event_room,
)
from parcast_emulator.engines.ranks.ranks import DONE, FULL, run
from parcast_emulator.engines.ranks.spending import SYNCHRONIZATION
from parcast_emulator.engines.servers import Servers
from parcast_emulator.engines.usage import Progress

if TYPE_CHECKING:
    from parcast_network.folding import FoldedWiring

#: Operations and events between two looks at the progress bar.
_HANDLED = 2_000_000


class Run:
    """What `parcast_emulator.processes.program.Run` does.

    In the same bits, unless an instant holds times that differ in their last bits: of those either
    may take another one.

    A rank runs on by itself until it waits for what is not known; only what meets at a port, a
    bus, a disk or a receive of any message is put in the order of time.
    """

    def __init__(
        self, matched: Matched, costs: Costs, *, nodes: Cluster | None = None, half: bool = False,
        polling: float = 0.0, wiring: FoldedWiring | None = None,
    ) -> None:  # fmt: skip
        fair = costs.contention == "fair"
        self.wiring = wiring or costs.wiring() if fair else None
        self.matched, self.costs, self.polling = matched, costs, polling
        self.half = half
        self.on_nodes = nodes is not None
        self.cluster = make_cluster([[]], Hardware()) if nodes is None else nodes
        self.start = 0.0  #: the latest ``start()``
        self.starts: list[float] = []  #: of each rank its own
        self.ends: list[float] = []
        self.parts: list[Parts] = []  #: what each rank spent the time on

    @property
    def time(self) -> float:
        """The seconds from the latest ``start()`` to the latest end."""
        return max(self.ends) - self.start

    def run(self, progress: Progress = lambda _time, _done: None) -> None:
        """Run all processes to their ends.

        Raises
        ------
        InvalidPointError
            If processes wait for each other for ever; one and its line are named.
        """
        program = program_of(self.matched, self.costs, self.wiring)
        state = self._ended(program, progress)
        if state.times[STARTED] > 0:  # known only now, and nothing before it counts
            self.start = float(state.times[STARTED])
            state = self._ended(program, progress)
        clock = state.rank.clock
        state.spent[:, SYNCHRONIZATION] += clock.max() - np.maximum(clock, self.start)
        self.starts, self.ends = state.rank.started.tolist(), clock.tolist()
        self.parts = [Parts(*spent) for spent in state.spent.tolist()]

    def _ended(self, program: Program, progress: Progress) -> State:
        columns = self.matched.columns
        program = program._replace(received_from=program.received_from.copy())
        charges = charges_of(
            self.costs, self.polling, self.start, on_nodes=self.on_nodes, half=self.half
        )
        state = initial_state(columns, program, self.costs, self.cluster)
        servers = Servers.of(self.cluster)
        room = 2 * int(np.diff(columns.offsets).max()) + 8
        flows = None if self.wiring is None else _Flows(program, self.wiring)
        while True:
            arguments = program, charges, state, self.cluster, servers
            why = run(_HANDLED, *arguments) if flows is None else flows.run(_HANDLED, *arguments)
            if why == DONE:
                break
            if why == FULL:
                state = with_event_room(state, room)
            progress(
                float(max(state.times[NOW], state.rank.clock.min())), float(state.scalars[HANDLED])
            )
        _check(columns, state)
        return state


class _Flows:
    """Messages that share links, and the kernel that follows them."""

    def __init__(self, program: Program, wiring: Wiring | FoldedWiring) -> None:
        from parcast_emulator.engines.ranks import flows

        self._flows = flows
        self._state = flows.initial_flows(program, wiring)

    def run(self, *arguments: Any) -> int:
        """Let all ranks run; make room for what flows."""
        why: int = self._flows.run(*arguments, *self._state)
        if why == self._flows.CROWDED:
            self._state = self._flows.with_room(*self._state)
        return why


def _check(columns: Columns, state: State) -> None:
    """Refuse a run in which some process never came to its end."""
    stuck = np.flatnonzero(state.rank.next < state.rank.end)
    if len(stuck):
        rank, x = int(stuck[0]), int(state.rank.next[stuck[0]])
        raise InvalidPointError(
            f"{columns.line(x)}: at p={len(state.rank)} rank {rank} never leaves its "
            f"{OPS[columns.op[x]]}; order sends and receives so that they can meet"
        )
