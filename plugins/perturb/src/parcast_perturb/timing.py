"""Times for traces that have none: their work on a machine that is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from parcast import Query
from parcast.errors import UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Machine
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_perturb.propagation.state import CALL_ADDS, RECEIPT_ADDS
from parcast_traces.gaps import first_events
from parcast_traces.trace.columns import BYTES, END, NONE, OUT, START, Floats, Ints, Trace

if TYPE_CHECKING:
    from parcast_traces.workload import Traced


def time_on_machine(trace: Trace, machine: Machine) -> tuple[Trace, Recorded]:
    """Return a trace of work as a run by the machine's table of costs, and what calls cost there.

    It is the run that `Clocked` answers for the same trace and machine: collectives are the
    messages of the machine's algorithms.

    Raises
    ------
    UnsupportedError
        If the trace has times, the machine lacks a number, or a message graph cannot say what it
        does.
    """
    from parcast_perturb.from_program import of_work, without_network
    from parcast_traces.workload import workload

    if trace.timed:
        raise UnsupportedError(
            f"{trace.where} has times of its own; say what it was recorded on (--recorded-on)"
        )
    query = Query(workload=workload(trace, Path(trace.where)), machine=machine, p=trace.size)
    work_query = of_work(query)
    content: Traced = work_query.workload.content
    _check_alone(work_query, content)
    untimed = content.trace
    outcome = propagate(
        untimed,
        Perturbation(event=content.added),
        without_network(content),
        "clocked",
        every_end=True,
    )
    assert outcome.ends is not None
    times, delays = untimed.events.times.copy(), outcome.ends[:, 0]
    times[:, END] += delays
    start_delays = delays[:-1].copy()
    start_delays[first_events(untimed)[1:] - 1] = 0.0  # of another rank
    times[1:, START] += start_delays
    timed = attrs.evolve(
        untimed, events=attrs.evolve(untimed.events, times=times), where=trace.where
    )
    return timed, _recording_machine(timed, work_query, content.added)


def _check_alone(query: Query, content: Traced) -> None:
    """Refuse machines on which a run is no message graph of messages that have their links alone.

    Raises
    ------
    UnsupportedError
        If messages share links, or waits pay for each message.
    """
    network = query.machine.network
    if content.unshared:
        raise UnsupportedError(
            f"machine {query.machine.name!r} has contention {network.contention!r}; messages of a "
            "message graph never wait for each other. Set network.contention to none, or ask "
            "'parcast compare', where perturb.simulated plays them"
        )
    if network.overhead_by == "message":
        raise UnsupportedError(
            f"machine {query.machine.name!r} states network.overhead_by = 'message', and waits of "
            "a message graph pay once; ask 'parcast compare', where perturb.simulated follows it"
        )


def _recording_machine(timed: Trace, query: Query, added: Floats) -> Recorded:
    """Return what the query's machine says of a run, in seconds.

    Parameters
    ----------
    timed, query
        The run, and where it ran.
    added
        What the machine adds to each event's call, message and receipt.
    """
    from parcast_perturb.from_program import early_limit

    sends = np.flatnonzero(timed.events.whole[:, OUT] != NONE)
    costs = Costs.of(query, {"messages"} if len(sends) else (), WHOLE_NETWORK)
    differing = any(
        (size.overhead, size.overhead_receive) != (costs.overhead, costs.overhead_receive)
        for size in costs.sizes
    )
    return Recorded(
        overhead=costs.overhead,
        overhead_per_byte=costs.overhead_per_byte,
        overhead_receive=costs.overhead_receive,
        latency=costs.startup,
        per_byte=costs.per_byte,
        eager_max=costs.eager_limit,
        early_max=early_limit(costs),
        message_costs=_message_costs(timed, sends, costs),
        call_costs=added[:, [CALL_ADDS, RECEIPT_ADDS]] if differing else None,
    )


def _message_costs(trace: Trace, sends: Ints, costs: Costs) -> Floats | None:
    """Return latency and time of a byte of each event's message; None: they are the same of all."""
    source = trace.events.rank_of(sends)
    target = trace.channels.target[trace.events.whole[sends, OUT]]
    network = (costs.startup, costs.per_byte)
    within = (costs.local_startup, costs.local_per_byte)
    near = costs.placement.same_node(source, target)
    if costs.uniform and (within == network or not near.any()):
        return None
    costs_by_event = np.tile(np.array(network), (trace.count, 1))
    if len(sends):
        size = trace.events.times[sends, BYTES]
        per_byte = costs.transfer_per_byte(source, target, size)
        wire = costs.on_wire(source, target, size)
        header = np.maximum(wire - size, 0.0)  # fewer bytes on the wire make no latency less than 0
        carried = np.divide(wire - header, size, out=np.ones_like(size), where=size != 0)
        costs_by_event[sends, 0] = costs.latency(source, target, size) + header * per_byte
        costs_by_event[sends, 1] = per_byte * carried
    return costs_by_event
