"""Runs of a program, draw after draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from parcast.cli import show_progress
from parcast.errors import SolveError
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.playing.flows import Carried
from parcast_perturb.playing.forms import DRAW, FLOWS, QUEUES
from parcast_perturb.playing.layout import LINKS, NONE, UNKNOWN, Calls, Messages, Noise, Run
from parcast_perturb.playing.tables import tables_of
from parcast_perturb.propagation.deltas import deltas_of, or_empty
from parcast_perturb.propagation.drawing import Clipped
from parcast_perturb.propagation.running import rules_of, table_of
from parcast_traces.trace.columns import Floats
from parcast_traces.workload import Traced

#: Flows that there is room for at first.
_ROOM = 1024


@attrs.frozen(eq=False)
class Played:
    """A run: seconds from its beginning."""

    ends: Floats = attrs.field(repr=False)  #: of each call
    started: float  #: the latest ``start()``, or 0
    flight: Floats = attrs.field(repr=False)  #: of each message, by the calls that send them
    arrival: Floats = attrs.field(repr=False)
    calls: Calls = attrs.field(repr=False)

    @property
    def time(self) -> float:
        """From the latest ``start()`` to the last end."""
        return float(self.ends.max(initial=0.0)) - self.started


def played(
    content: Traced, change: Perturbation, recorded: Recorded, replications: int, seed: int
) -> Iterator[Played]:
    """Yield the run of each replication.

    Parameters
    ----------
    content
        A program as a trace, and the costs of its machine.
    change, recorded
        What is added, and what was known without a network, as `propagate` takes them: the noise of
        a replication is that by which delays are passed on there.
    replications
        How often noise is drawn.
    seed
        Of the draws.
    """
    trace = content.trace
    calls, messages, network = tables_of(content)
    table = table_of(trace.events, or_empty(None, 2))
    deltas = deltas_of(trace, change, recorded, replications, seed)
    rules = rules_of(trace, recorded, "clocked")
    noise = Noise(np.zeros(trace.count), np.zeros(trace.count))
    noisy = bool(change.noise or change.compute)
    work = trace.count * replications
    with show_progress("draws", shown=work > 4_000_000) as tell:
        for number in range(replications):
            tell("draws", float(number), replications)
            if noisy:
                state = Clipped(np.zeros(4, np.int64))
                DRAW.form(trace.count)(table, deltas, state, rules, number, *noise)
            run = _run(calls, messages, content.costs.placement.nodes)
            if network == LINKS:
                _flow(content, calls, messages, noise, run)
            else:
                QUEUES.form(trace.count)(network, calls, messages, noise, run)
            if (run.cursor < calls.offsets[1:]).any():
                raise SolveError(f"{trace.where}: ranks wait for each other for ever")
            started = max(0.0, float(run.started.max(initial=0.0)))
            yield Played(run.ends, started, run.flight, run.arrival, calls)


def _flow(content: Traced, calls: Calls, messages: Messages, noise: Noise, run: Run) -> None:
    """Play a run whose messages share links, with room for more flows when it asks."""
    from parcast_network.sharing.compiled import new_state
    from parcast_network.sharing.growing import with_room

    wiring, room = content.costs.wiring(), _ROOM
    hops = max(messages.routes.shape[1], 1)
    network = new_state(wiring.capacity, wiring.shared, flows=room, hops=hops)
    carried = Carried(
        np.zeros(room, np.int64), np.arange(room)[::-1].copy(), np.array([room]), np.zeros(1)
    )
    play = FLOWS.form(content.trace.count)
    while not play(calls, messages, noise, run, carried, network):
        network = with_room(network, flows=2 * room)
        free = np.concatenate([np.arange(room, 2 * room)[::-1], np.zeros(room, np.int64)])
        message = np.concatenate([carried.message, np.zeros(room, np.int64)])
        carried = Carried(message, free, np.array([room]), carried.changed)
        room *= 2


def _run(calls: Calls, messages: Messages, nodes: int) -> Run:
    """Return that nothing has happened."""
    ranks, count = len(calls.offsets) - 1, len(messages.source)

    def times() -> Any:
        return np.full(count, UNKNOWN)

    return Run(
        clock=np.zeros(ranks),
        cursor=calls.offsets[:-1].copy(),
        pending=np.full(ranks, NONE),
        started=np.zeros(ranks),
        ready=np.concatenate([np.arange(ranks)[::-1], np.zeros(ranks, np.int64)]),
        sent=times(),
        posted=times(),
        flight=times(),
        arrival=times(),
        awaiting=np.zeros((count, 2), np.bool_),
        asked=np.zeros(count),
        inward=np.zeros(count, np.bool_),
        later=np.zeros(count, np.int64),
        now=np.zeros(count, np.int64),
        none=np.zeros(count),
        free=np.zeros(2 * nodes),
        until=np.zeros(1),
        counters=np.array([ranks, 0, 0]),
        ends=np.zeros(len(calls.kind)),
    )
