"""The order in which a rank of one stream does what a graph asks for, and its events.

Steps begin as soon as what they require has begun, those first that need no wait, in the order of
the graph; where all that are left need one, the rank waits for what the first of them requires.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import numpy as np

from parcast.plugins import Kernel, call_once, is_cached
from parcast_traces.compilation import compiled, files_of
from parcast_traces.readers import stepping
from parcast_traces.readers.schedules import CALC, RECV, SEND, Graph
from parcast_traces.readers.stepping import WAIT
from parcast_traces.trace.bulk import Bulk, Slots, record_with
from parcast_traces.trace.calls import CODES
from parcast_traces.trace.columns import NONE
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.roomy import Roomy

#: Events that are recorded together.
_PART = 1 << 18
#: Steps that are lists in memory at most, some 300 bytes each.
_MOST_PLAIN = 100_000


@attrs.frozen(eq=False)
class Order:
    """What a rank does one after the other: sends, receives and waits."""

    step: Any  #: of each event the step that begins, `WAIT` for a wait
    clock: Any  #: ns of computation before it
    slot: Any  #: of a message its request's; of a wait how many requests it completes
    completed: Any  #: the steps that waits complete, in order
    slots: Any  #: their requests' slots
    end: float  #: the clock at the end


_MODULES = (stepping,)


def _is_cached() -> bool:
    return is_cached("stepping.order", "parcast-traces", files_of(_MODULES, ()))


#: A step takes 2 us as it stands; to compile takes 5 s.
ORDERING = Kernel(
    stepping.order, partial(compiled, _MODULES, "order", lists=True),
    plain_steps=500_000, uncached_steps=2_500_000, loaded_steps=100, is_cached=_is_cached,
)  # fmt: skip


@call_once
def compiled_group() -> Any:
    """Return the compiled form of `stepping.group`."""
    return compiled(_MODULES, "group")


def order_of(graph: Graph) -> Order | None:
    """Return what a rank does, None if steps require each other in a cycle.

    Raises
    ------
    FileError
        If there is no room for it.
    """
    steps = len(graph.kind)
    computes = graph.kind == CALC
    messages = steps - int(computes.sum())
    compiling = ORDERING.worth_compiling(steps) or steps > _MOST_PLAIN
    grouped = _grouped_compiled if compiling else _grouped
    later_at, later = grouped(graph.earlier, graph.later, None, steps)
    needed_at, needed = grouped(graph.later, graph.earlier, graph.ended, steps)
    missing, slot_of = Roomy(steps, np.int32).values, Roomy(steps, np.int32, NONE).values
    columns = (computes, graph.size, later_at, later, needed_at, needed, missing, slot_of)
    kinds = (np.int32, np.float64, np.int32)
    filled = [Roomy(2 * messages, kind).values for kind in kinds]
    filled += [Roomy(messages, np.int32).values for _ in range(2)]
    if compiling:
        events, over, begun, end = ORDERING.compiled(*columns, *filled)
    else:
        lists = [column.tolist() for column in filled]
        events, over, begun, end = ORDERING.plain(*(column.tolist() for column in columns), *lists)
        filled = [np.array(column, like.dtype) for column, like in zip(lists, filled, strict=True)]
    if begun < steps:
        return None
    step, clock, slot, completed, slots = filled
    return Order(
        step=step[:events], clock=clock[:events], slot=slot[:events], completed=completed[:over],
        slots=slots[:over], end=float(end),
    )  # fmt: skip


def _grouped(keys: Any, values: Any, chosen: Any, count: int) -> tuple[Any, Any]:
    """Return where the values of each key begin, and the values by key; all, or those chosen."""
    if chosen is not None:
        keys, values = keys[chosen != 0], values[chosen != 0]
    begins = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=begins[1:])
    return begins, values[np.argsort(keys, kind="stable")].astype(np.int32)


def _grouped_compiled(keys: Any, values: Any, chosen: Any, count: int) -> tuple[Any, Any]:
    """Return what `_grouped` does, in files where it is long."""
    every = chosen is None
    begins = Roomy(count + 1, np.int64).values
    grouped = Roomy(len(keys) if every else int(np.count_nonzero(chosen)), np.int32).values
    compiled_group()(
        keys, values, np.empty(0, np.int8) if every else chosen, every, begins, grouped
    )
    return begins, grouped


def record_order(recorder: RankRecorder, graph: Graph, order: Order) -> None:
    """Record the events of a rank, and its end; no receive may be of any source or tag."""
    over = 0
    for low in range(0, len(order.step), _PART):
        part = slice(low, low + _PART)
        waits = order.step[part] == WAIT
        ending = over + int(order.slot[part][waits].sum())
        bulk = _bulk(recorder, graph, order.step[part], order.clock[part])
        record_with(recorder, bulk, Slots(order.slot[part], waits, order.slots[over:ending]))
        over = ending
    recorder.local("finalize", order.end, order.end)


def _bulk(recorder: RankRecorder, graph: Graph, step: Any, clock: Any) -> Bulk:
    """Return events as a recorder takes them together."""
    names = ("isend", "irecv", "waitall")
    kind = np.where(step == WAIT, 2, graph.kind[step])
    peer, tag, size = graph.peer[step], graph.tag[step], graph.size[step].astype(np.float64)
    sends, receives = kind == SEND, kind == RECV
    none, nothing = np.full(len(step), NONE, np.int64), np.empty(0, np.int64)
    return Bulk(
        call=np.array([CODES[name] for name in names])[kind], start=clock, end=clock,
        to=np.where(sends, peer, NONE), tag=tag, size=np.where(sends, size, 0.0),
        source=np.where(receives, peer, NONE), source_tag=tag,
        room=np.where(receives, size, np.inf), comm=np.zeros(len(step), np.int64), request=none,
        site=np.array([recorder.names.site(name) for name in names])[kind],
        completed=nothing, by=nothing,
    )  # fmt: skip
