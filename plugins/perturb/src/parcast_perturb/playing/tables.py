"""A program's trace as the calls and messages that the kernels play."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast.model import SIGNAL, Costs
from parcast_perturb.awaiting import awaited_by, messages_of
from parcast_perturb.playing.layout import (
    BOTH,
    BUS,
    LINKS,
    MARK,
    NONE,
    NOTHING_SHARED,
    PORTS,
    RECEIVING,
    RECEIVING_LATER,
    SENDING,
    SENDING_LATER,
    STARTING,
    WAITING,
    Calls,
    Messages,
)
from parcast_perturb.propagation.state import CALL_ADDS, RECEIPT_ADDS
from parcast_traces.trace.calls import IRECV, ISEND, LOCAL, RECV, SEND, SENDRECV, WAIT
from parcast_traces.trace.columns import BYTES, END, KIND, OUT, START, Ints
from parcast_traces.workload import Traced

#: Kinds of calls by those of traces.
_KINDS = {
    SEND: SENDING, ISEND: SENDING_LATER, RECV: RECEIVING, IRECV: RECEIVING_LATER,
    SENDRECV: BOTH, WAIT: WAITING, LOCAL: MARK,
}  # fmt: skip

_SHARED = {"none": NOTHING_SHARED, "bus": BUS, "endpoint": PORTS, "fair": LINKS}


def tables_of(content: Traced) -> tuple[Calls, Messages, int]:
    """Return the calls, the messages, and what these share.

    Parameters
    ----------
    content
        A program as a trace, and the costs of its machine.
    """
    costs, trace = content.costs, content.trace
    events = trace.events
    send, receive = messages_of(trace)  # in the order of channels
    order = np.argsort(send, kind="stable")
    send, receive = send[order], receive[order]
    numbers = np.arange(len(send))
    sends, receives = (np.full(trace.count, NONE, np.int64) for _ in range(2))
    sends[send], receives[receive] = numbers, numbers
    callers = awaited_by(content, send, receive)
    order = np.flatnonzero(callers != NONE)
    order = order[np.argsort(callers[order], kind="stable")]
    kinds = np.full(max(_KINDS) + 1, MARK, np.int64)
    kinds[list(_KINDS)] = list(_KINDS.values())
    kind = kinds[events.whole[:, KIND]]
    if content.starts is not None:
        kind[content.starts] = STARTING
    gap = events.times[:, START].copy()
    gap[1:] -= events.times[:-1, END]
    begins = events.offsets[:-1]
    gap[begins] = events.times[begins, START]
    cost = content.added[:, CALL_ADDS].copy()
    by_message = costs.overhead_by == "message"
    if by_message:
        cost[(kind == RECEIVING_LATER) | (kind == WAITING)] = 0.0
    rank = events.rank_of(np.arange(trace.count))
    calls = Calls(
        offsets=np.asarray(events.offsets, np.int64),
        rank=rank,
        kind=kind,
        gap=gap,
        cost=cost,
        receipt=content.added[:, RECEIPT_ADDS].copy(),
        sends=sends,
        receives=receives,
        first=np.searchsorted(callers[order], np.arange(trace.count + 1)),
        awaited=order % max(len(send), 1),
        arriving=order < len(send),
        by_message=by_message,
    )
    size = events.times[send, BYTES]
    target = trace.channels.target[events.whole[send, OUT]].astype(np.int64)
    early = content.eager_limit if content.early_limit is None else content.early_limit
    messages = _messages(costs, rank[send], target, size, size > early)
    return calls, messages, _SHARED[costs.contention]


def _messages(costs: Costs, source: Ints, target: Ints, size: Any, late: Any) -> Messages:
    """Return what messages cost, and what they pass."""
    count = len(source)

    def of_each(values: Any) -> Any:
        return np.broadcast_to(np.asarray(values, float), count).copy()

    transfer = of_each(costs.transfer(source, target, size) if count else 0.0)
    leaves, enters = (costs.placement.node[ranks].astype(np.int64) for ranks in (source, target))
    route, routes = np.full(count, NONE, np.int64), np.empty((0, 1), np.int32)
    weights, shares = np.ones(1), np.ones(0)
    if costs.contention == "fair" and count:
        ranks = len(costs.placement.node)
        pairs, which = np.unique(source * ranks + target, return_inverse=True)
        routes, weights = costs.wiring().loads(*np.divmod(pairs, ranks))
        shares = np.asarray(costs.share(*np.divmod(pairs, ranks)), float)
        passes: Any = (routes >= 0).any(axis=1)
        route = which.reshape(-1)
        leaves = np.where(passes[route] & (transfer > 0), leaves, NONE)
    elif costs.contention == "none":
        leaves = np.full(count, NONE)
    else:
        leaves = np.where((leaves == enters) | (size == SIGNAL), NONE, leaves)
    latency = of_each(costs.latency(source, target, size) if count else 0.0)
    return Messages(
        source=source,
        target=target,
        late=late,
        latency=latency,
        before=latency if costs.contention == "fair" else of_each(0.0),
        transfer=transfer,
        receiving=of_each(costs.receiving(size)),
        leaves=leaves,
        enters=enters,
        bytes=of_each(costs.on_wire(source, target, size)),
        route=route,
        routes=routes,
        weights=weights.astype(float),
        shares=shares,
    )
