"""A recorded run on another machine: by what the two differ, and what no difference can say."""

from __future__ import annotations

import attrs
import numpy as np

from parcast import Query, UnsupportedError
from parcast.model import Machine, check_network, place
from parcast_perturb.machine_costs import costs_of
from parcast_perturb.perturbation import Addition, Perturbation, Recorded
from parcast_perturb.propagation.state import CALL_ADDS, RECEIPT_ADDS
from parcast_perturb.unawaited import unawaited_notes
from parcast_traces.gaps import first_events, gaps_of
from parcast_traces.trace.calls import ALL, ISEND, LOCAL, NOTICE, RECV, SEND, SENDRECV
from parcast_traces.trace.columns import BYTES, KIND, NAME, Floats, Ints, Trace


def machine_change(
    query: Query, trace: Trace, before: Machine | None
) -> tuple[Perturbation, Recorded, tuple[str, ...]]:
    """Return by what the query's machine differs from the recording one, this, and notes.

    Parameters
    ----------
    query
        The machine, and how processes are put on its nodes.
    trace
        What ran.
    before
        The recording machine, with the mapping ``block``.

    Raises
    ------
    UnsupportedError
        If the recording machine is not named, the times have no unit, a machine states no latency
        or bandwidth, or the two differ in more than latency, bytes, calls and computation.
    """
    if before is None:
        raise UnsupportedError(
            f"{trace.where} was recorded on a machine that is not named; name it with "
            "--set perturb.recorded_on=MACHINE"
        )
    if trace.tick is None:
        raise UnsupportedError(f"{trace.where}: the times have no unit; state it in the trace")
    recorded, target = costs_of(before, trace.tick), costs_of(query.machine, trace.tick)
    for machine in (before, query.machine):
        _check_network(query, machine)
    _check_eager_limits(query, before, trace, recorded, target)
    assert recorded.latency is not None
    assert target.latency is not None
    assert recorded.per_byte is not None
    assert target.per_byte is not None
    rates = before.processor.rate, query.machine.processor.rate
    notes, longer_gaps = tuple(unawaited_notes(trace)), None
    if rates[0] is None or rates[1] is None:
        notes += ("computation takes as long as recorded: one of the machines states no rate",)
    else:
        longer_gaps = _longer_gaps(query, before, trace, rates[0] / rates[1])
    change = Perturbation(
        noise=(Addition(target.overhead - recorded.overhead),),
        latency=(Addition(target.latency - recorded.latency),),
        per_byte=(Addition(target.per_byte - recorded.per_byte),),
        removed=longer_gaps,
        event=_call_changes(trace, recorded, target),
    )
    return change, recorded, notes


def _check_network(query: Query, machine: Machine) -> None:
    """Refuse a network that is not said by one latency and bandwidth of all messages."""
    contention = machine.network.contention or "none"
    if contention == "none":
        check_network(machine)
    if contention != "none":
        raise UnsupportedError(
            f"machine {machine.name!r} has contention {contention!r}; messages of a recorded "
            "run never wait for each other here. Set network.contention to none, or ask "
            "another family"
        )
    if machine.network.local is not None and place(_on(query, machine)).sharing.max() > 1:
        raise UnsupportedError(
            f"machine {machine.name!r} has network.local, and several processes on a node; a "
            "recorded run is moved with one latency and bandwidth for all messages. Leave "
            "network.local out, or ask another family"
        )


def _check_eager_limits(
    query: Query, before: Machine, trace: Trace, recorded: Recorded, target: Recorded
) -> None:
    """Refuse messages that wait for their receiver on one of the machines alone."""
    low, high = sorted((recorded.eager_max, target.eager_max))
    times, kinds = trace.events.times, trace.events.whole[:, KIND]
    sized = np.isin(kinds, (SEND, ISEND, SENDRECV))
    between = sized & (times[:, BYTES] > low) & (times[:, BYTES] <= high)
    if between.any():
        row = int(np.argmax(between))
        raise UnsupportedError(
            f"{trace.place(row)} ({trace.name(row)}): {times[row, BYTES]:,.15g} bytes wait for "
            f"their receiver on one of machines {before.name!r} and {query.machine.name!r}, by "
            "network.eager_limit, and not on the other; give both the same limit, or ask another "
            "family"
        )


def _on(query: Query, machine: Machine) -> Query:
    """Return the query on a machine; how processes were put on the recording one is not known."""
    return query if machine is query.machine else attrs.evolve(
        query, machine=machine, mapping="block"
    )  # fmt: skip


def _longer_gaps(
    query: Query, before: Machine, trace: Trace, rates: float
) -> tuple[Ints, Floats] | None:
    """Return what every gap takes longer, or None where computation takes as long.

    ``rates`` is the rate of the recording machine's processors over that of the query's.
    """
    speeds = (place(_on(query, machine)).speed for machine in (before, query.machine))
    share = rates * np.divide(*speeds) - 1
    if not share.any():
        return None
    gaps = gaps_of(trace) * np.repeat(share, np.diff(trace.events.offsets))
    gaps[first_events(trace)] = 0.0
    rows = np.flatnonzero(gaps)
    return rows, gaps[rows]


def _call_changes(trace: Trace, recorded: Recorded, target: Recorded) -> Floats | None:
    """Return what calls cost more than the difference of o says, as `Deltas.event`.

    That is the time of each byte sent, and what receives cost other than sends; None where that
    is 0.
    """
    byte_time = target.overhead_per_byte - recorded.overhead_per_byte
    receive = _receive_surplus(target) - _receive_surplus(recorded)
    if not (byte_time or receive):
        return None
    kind, whole_call = trace.events.whole[:, KIND], trace.events.whole[:, NAME] < NOTICE
    sends = whole_call & (kind != LOCAL) & ((kind < RECV) | (kind == SENDRECV))
    receives = whole_call & (kind != LOCAL) & (kind < ALL) & ~sends
    additions = np.zeros((trace.count, 3))
    additions[sends, CALL_ADDS] = trace.events.times[sends, BYTES] * byte_time
    additions[receives, CALL_ADDS] = receive
    additions[receives | (kind == SENDRECV), RECEIPT_ADDS] = receive
    return additions


def _receive_surplus(costs: Recorded) -> float:
    """Return what a receive costs more than a send."""
    return 0.0 if costs.overhead_receive is None else costs.overhead_receive - costs.overhead
