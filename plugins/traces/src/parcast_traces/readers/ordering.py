"""The order in which a rank of one stream does what a graph asks for, and its events.

Steps begin as soon as what they require has begun, those first that need no wait, in the order of
the graph; where all that are left need one, the rank waits for what the first of them requires.
"""

from __future__ import annotations

import heapq
import sys
from typing import Any

import attrs
import numpy as np

from parcast_traces.compilation import kernel
from parcast_traces.readers.schedules import CALC, RECV, SEND, Graph
from parcast_traces.trace.bulk import Bulk, Slots, record_with
from parcast_traces.trace.calls import CODES
from parcast_traces.trace.columns import NONE
from parcast_traces.trace.rank_recorder import RankRecorder

#: Events that are recorded together.
_PART = 1 << 18
#: Below this many steps the plain form is faster than to load the compiled one, and numba with it.
_PLAIN, _PLAIN_WITHOUT_NUMBA = 5_000, 100_000

_WAIT = -1  #: in place of a step


@attrs.frozen(eq=False)
class Order:
    """What a rank does one after the other: sends, receives and waits."""

    step: Any  #: of each event the step that begins, `_WAIT` for a wait
    clock: Any  #: ns of computation before it
    slot: Any  #: of a message its request's; of a wait how many requests it completes
    completed: Any  #: the steps that waits complete, in order
    slots: Any  #: their requests' slots
    end: float  #: the clock at the end


def _ordered(  # noqa: PLR0912, PLR0915  (one kernel calls no other)
    computes: Any, size: Any, missing: Any, later_at: Any, later: Any, needed_at: Any,
    needed: Any, slot_of: Any, step: Any, clock: Any, slot: Any, completed: Any, slots: Any,
) -> tuple[int, int, int, float]:  # fmt: skip
    """Fill the columns of an `Order`; return how many events, completions and steps there are.

    ``slot_of`` is NONE for all steps: messages that are not known to have ended have their slots.
    """
    steps, events, over, begun, used, now = len(missing), 0, 0, 0, 0, 0.0
    free = [number for number in range(steps) if missing[number] == 0]
    waiting, spare = [0], [0]  # steps, and slots that are free again
    waiting.pop()
    spare.pop()
    while begun < steps:
        if len(free) > 0:
            number = heapq.heappop(free)
        elif len(waiting) > 0:
            number = heapq.heappop(waiting)
            before, required = over, range(needed_at[number], needed_at[number + 1])
            needs = [needed[at] for at in required if slot_of[needed[at]] >= 0]
            needs.sort()
            for need in needs:
                if slot_of[need] >= 0:  # it may be named twice
                    completed[over], slots[over] = need, slot_of[need]
                    spare.append(slot_of[need])
                    slot_of[need] = -1
                    over += 1
            if over > before:
                step[events], clock[events], slot[events] = -1, now, over - before
                events += 1
        else:
            break
        begun += 1
        if computes[number]:
            now += size[number]
        else:
            if len(spare) > 0:
                slot_of[number] = spare.pop()
            else:
                slot_of[number] = used
                used += 1
            step[events], clock[events], slot[events] = number, now, slot_of[number]
            events += 1
        for at in range(later_at[number], later_at[number + 1]):
            after = later[at]
            missing[after] -= 1
            if missing[after] == 0:
                waits = 0
                for requirement in range(needed_at[after], needed_at[after + 1]):
                    waits += slot_of[needed[requirement]] >= 0
                if waits > 0:
                    heapq.heappush(waiting, after)
                else:
                    heapq.heappush(free, after)
    before = over
    for number in range(steps):
        if slot_of[number] >= 0:
            completed[over], slots[over] = number, slot_of[number]
            over += 1
    if over > before:
        step[events], clock[events], slot[events] = -1, now, over - before
        events += 1
    return events, over, begun, now


_compiled_order = kernel(_ordered)


def order_of(graph: Graph) -> Order | None:
    """Return what a rank does, None if steps require each other in a cycle."""
    steps = len(graph.kind)
    computes = graph.kind == CALC
    missing = np.bincount(graph.later, minlength=steps)
    later_at, later = _grouped(graph.earlier, graph.later, steps)
    ended = graph.ended.astype(bool)
    needed_at, needed = _grouped(graph.later[ended], graph.earlier[ended], steps)
    messages = steps - int(computes.sum())
    sizes = graph.size.astype(np.int64, copy=False)  # other types are compiled for anew
    graph_columns = (computes, sizes, missing, later_at, later, needed_at, needed,
             np.full(steps, NONE, np.int32))  # fmt: skip
    kinds = (np.int32, np.float64, np.int32)
    filled = [np.empty(2 * messages, kind) for kind in kinds]
    filled += [np.empty(messages, np.int32) for _ in range(2)]
    if steps < (_PLAIN if "numba" in sys.modules else _PLAIN_WITHOUT_NUMBA):
        lists = [column.tolist() for column in filled]
        events, over, begun, end = _ordered(*(column.tolist() for column in graph_columns), *lists)
        filled = [np.array(column, like.dtype) for column, like in zip(lists, filled, strict=True)]
    else:
        events, over, begun, end = _compiled_order(*graph_columns, *filled)
    if begun < steps:
        return None
    step, clock, slot, completed, slots = filled
    return Order(
        step=step[:events], clock=clock[:events], slot=slot[:events], completed=completed[:over],
        slots=slots[:over], end=float(end),
    )  # fmt: skip


def _grouped(keys: Any, values: Any, count: int) -> tuple[Any, Any]:
    """Return where the values of each key begin, and the values by key."""
    begins = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=begins[1:])
    return begins, values[np.argsort(keys, kind="stable")].astype(np.int64)


def record_order(recorder: RankRecorder, graph: Graph, order: Order) -> None:
    """Record the events of a rank, and its end; no receive may be of any source or tag."""
    over = 0
    for low in range(0, len(order.step), _PART):
        part = slice(low, low + _PART)
        waits = order.step[part] == _WAIT
        ending = over + int(order.slot[part][waits].sum())
        bulk = _bulk(recorder, graph, order.step[part], order.clock[part])
        record_with(recorder, bulk, Slots(order.slot[part], waits, order.slots[over:ending]))
        over = ending
    recorder.local("finalize", order.end, order.end)


def _bulk(recorder: RankRecorder, graph: Graph, step: Any, clock: Any) -> Bulk:
    """Return events as a recorder takes them together."""
    names = ("isend", "irecv", "waitall")
    kind = np.where(step == _WAIT, 2, graph.kind[step])
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
