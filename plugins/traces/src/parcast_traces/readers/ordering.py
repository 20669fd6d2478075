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
from parcast_traces.trace.roomy import Roomy

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

    ``missing`` is 0 for all steps and counts what each still requires; those that are in a heap
    have -1. ``slot_of`` is NONE for all: messages that are not known to have ended have their
    slots. Steps that are free and come later than all that began are found by going on, so that a
    heap has only those that are passed.
    """
    steps, events, over, begun, used, now = len(missing), 0, 0, 0, 0, 0.0
    for at in range(later_at[steps]):
        missing[later[at]] += 1
    free, waiting, spare = [0], [0], [0]  # steps, and slots that are free again
    free.pop()
    waiting.pop()
    spare.pop()
    ahead = 0
    while begun < steps:
        if len(free) == 0:
            while ahead < steps and missing[ahead] != 0:
                ahead += 1
        if len(free) > 0:
            number = heapq.heappop(free)
        elif ahead < steps:
            number = ahead
            ahead += 1
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
            after = 0 + later[at]  # of 64 bits, as the heaps are
            missing[after] -= 1
            if missing[after] == 0:
                waits = 0
                for requirement in range(needed_at[after], needed_at[after + 1]):
                    waits += slot_of[needed[requirement]] >= 0
                if waits > 0:
                    missing[after] = -1
                    heapq.heappush(waiting, after)
                elif after < ahead:
                    missing[after] = -1
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


def _group(keys: Any, values: Any, chosen: Any, every: bool, begins: Any, grouped: Any) -> None:
    """Fill where the values of each key begin, and the values by key; ``begins`` is of zeros."""
    for at in range(len(keys)):
        if every or chosen[at]:
            begins[keys[at] + 1] += 1
    for key in range(1, len(begins)):
        begins[key] += begins[key - 1]
    for at in range(len(keys)):
        if every or chosen[at]:
            grouped[begins[keys[at]]] = values[at]
            begins[keys[at]] += 1
    for key in range(len(begins) - 1, 0, -1):
        begins[key] = begins[key - 1]
    begins[0] = 0


_compiled_group = kernel(_group)


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
    compiled = steps >= (_PLAIN if "numba" in sys.modules else _PLAIN_WITHOUT_NUMBA)
    grouped = _grouped_compiled if compiled else _grouped
    later_at, later = grouped(graph.earlier, graph.later, None, steps)
    needed_at, needed = grouped(graph.later, graph.earlier, graph.ended, steps)
    missing, slot_of = Roomy(steps, np.int32).values, Roomy(steps, np.int32, NONE).values
    columns = (computes, graph.size, missing, later_at, later, needed_at, needed, slot_of)
    kinds = (np.int32, np.float64, np.int32)
    filled = [Roomy(2 * messages, kind).values for kind in kinds]
    filled += [Roomy(messages, np.int32).values for _ in range(2)]
    if compiled:
        events, over, begun, end = _compiled_order(*columns, *filled)
    else:
        lists = [column.tolist() for column in filled]
        events, over, begun, end = _ordered(*(column.tolist() for column in columns), *lists)
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
    _compiled_group(keys, values, np.empty(0, bool) if every else chosen, every, begins, grouped)
    return begins, grouped


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
