"""What a recorded run is on another machine: what differs, and what no difference can say."""

from __future__ import annotations

import attrs
import numpy as np

from parcast import Query, UnsupportedError
from parcast.model import Machine, place
from parcast_perturb.perturbation import Recorded
from parcast_perturb.propagation.state import CALL_ADDS, RECEIPT_ADDS
from parcast_traces.trace.calls import ALL, ISEND, LOCAL, NOTICE, RECV, SEND, SENDRECV
from parcast_traces.trace.columns import BYTES, END, KIND, NAME, START, Floats, Ints, Trace


def refuse(query: Query, before: Machine, trace: Trace, here: Recorded, there: Recorded) -> None:
    """Refuse machines whose difference is none of latency, bytes, calls and computation.

    Raises
    ------
    UnsupportedError
        With what one of them has.
    """
    for machine in (before, query.machine):
        contention = machine.network.contention or "none"
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
    low, high = sorted((here.eager_max, there.eager_max))
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


def slower(query: Query, before: Machine, trace: Trace, rates: float) -> tuple[Ints, Floats] | None:
    """Return what every gap takes longer, or None where computation takes as long.

    Parameters
    ----------
    query
        The machine, and how processes are put on its nodes.
    before
        The recording machine, with the mapping ``block``.
    trace
        What ran.
    rates
        The rate of the recording machine's processors over that of the query's.
    """
    speeds = (place(_on(query, machine)).speed for machine in (before, query.machine))
    share = rates * np.divide(*speeds) - 1
    if not share.any():
        return None
    times, offsets = trace.events.times, trace.events.offsets
    gaps = np.zeros(trace.count)
    gaps[1:] = times[1:, START] - times[:-1, END]
    gaps[offsets[:-1][np.diff(offsets) > 0]] = 0.0
    gaps *= np.repeat(share, np.diff(offsets))
    rows = np.flatnonzero(gaps)
    return rows, gaps[rows]


def unlike(trace: Trace, here: Recorded, there: Recorded) -> Floats | None:
    """Return what calls cost more than the difference of o says, as `Deltas.event`.

    That is the time of each byte sent, and what receives cost other than sends; None where that
    is 0.
    """
    each = there.overhead_per_byte - here.overhead_per_byte
    receive = _of_receive(there) - _of_receive(here)
    if not (each or receive):
        return None
    kind, whole_call = trace.events.whole[:, KIND], trace.events.whole[:, NAME] < NOTICE
    sends = whole_call & (kind != LOCAL) & ((kind < RECV) | (kind == SENDRECV))
    receives = whole_call & (kind != LOCAL) & (kind < ALL) & ~sends
    found = np.zeros((trace.count, 3))
    found[sends, CALL_ADDS] = trace.events.times[sends, BYTES] * each
    found[receives, CALL_ADDS] = receive
    found[receives | (kind == SENDRECV), RECEIPT_ADDS] = receive
    return found


def _of_receive(known: Recorded) -> float:
    """Return what a receive costs more than a send."""
    return 0.0 if known.overhead_receive is None else known.overhead_receive - known.overhead
