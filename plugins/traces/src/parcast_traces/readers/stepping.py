"""In which order a rank of one stream does the steps of a graph. Compiled, or as it stands.

Compiled, columns are arrays; as it stands they are lists.
"""

from __future__ import annotations

import heapq
from typing import Any

from parcast_traces.compilation import step

WAIT = -1  #: in place of a step


@step
def order(
    computes: Any, size: Any, later_at: Any, later: Any, needed_at: Any, needed: Any, missing: Any,
    slot_of: Any, step: Any, clock: Any, slot: Any, completed: Any, slots: Any,
) -> tuple[int, int, int, float]:  # fmt: skip
    """Fill the columns of an `Order`; return how many events, completions and steps there are.

    ``missing`` is 0 for all steps and counts what each still requires; those that are in a heap
    have -1. ``slot_of`` is NONE for all: messages that are not known to have ended have their
    slots. Steps that are free and come later than all that began are found by going on, so that a
    heap has only those that are passed.
    """
    free, waiting, spare = _empty(), _empty(), _empty()  # steps, and slots that are free again
    count, begun, ahead, used, now = len(missing), 0, 0, 0, 0.0
    events, over = 0, 0
    _count_missing(later_at, later, missing)
    while begun < count:
        if len(free) == 0:
            ahead = _next_free(missing, ahead)
        if len(free) > 0:
            number = heapq.heappop(free)
        elif ahead < count:
            number = ahead
            ahead += 1
        elif len(waiting) > 0:
            number = heapq.heappop(waiting)
            needs = _open_needs(needed_at, needed, slot_of, number)
            ended = _end(needs, slot_of, spare, completed, slots, over)
            if ended > over:
                step[events], clock[events], slot[events] = WAIT, now, ended - over
                events, over = events + 1, ended
        else:
            break  # all that are left require each other
        begun += 1
        if computes[number]:
            now += size[number]
        else:
            slot_of[number] = spare.pop() if len(spare) > 0 else used
            used += slot_of[number] == used
            step[events], clock[events], slot[events] = number, now, slot_of[number]
            events += 1
        own = range(later_at[number], later_at[number + 1])
        _allow(own, later, missing, needed_at, needed, slot_of, ahead, free, waiting)
    ended = _end_all(slot_of, completed, slots, over)
    if ended > over:
        step[events], clock[events], slot[events] = WAIT, now, ended - over
        events += 1
    return events, ended, begun, now


@step
def _empty() -> list[int]:
    """Return a list of no numbers; that they are numbers is what the compiled form must see."""
    numbers = [0]
    numbers.pop()
    return numbers


@step
def _count_missing(later_at: Any, later: Any, missing: Any) -> None:
    for at in range(later_at[len(missing)]):
        missing[later[at]] += 1


@step
def _next_free(missing: Any, ahead: int) -> int:
    """Return the first step from one on that requires nothing more, and is in no heap."""
    while ahead < len(missing) and missing[ahead] != 0:
        ahead += 1
    return ahead


@step
def _open_needs(needed_at: Any, needed: Any, slot_of: Any, number: int) -> list[int]:
    """Return the messages that are open and must have ended before a step, in order."""
    required = range(needed_at[number], needed_at[number + 1])
    needs = [0 + needed[at] for at in required if slot_of[needed[at]] >= 0]
    for place in range(1, len(needs)):  # mostly in order; numpy's sort compiles for a second
        message, at = needs[place], place
        while at > 0 and needs[at - 1] > message:
            needs[at] = needs[at - 1]
            at -= 1
        needs[at] = message
    return needs


@step
def _allow(
    own: range, later: Any, missing: Any, needed_at: Any, needed: Any, slot_of: Any, ahead: int,
    free: list[int], waiting: list[int],
) -> None:  # fmt: skip
    """Let steps that required one more begin: after a wait where what they need is open."""
    for at in own:
        after = 0 + later[at]  # of 64 bits, as the heaps are
        missing[after] -= 1
        if missing[after] == 0:
            needs = 0
            for need in range(needed_at[after], needed_at[after + 1]):
                needs += slot_of[needed[need]] >= 0
            if needs > 0:
                missing[after] = -1
                heapq.heappush(waiting, after)
            elif after < ahead:
                missing[after] = -1
                heapq.heappush(free, after)


@step
def _end(
    needs: list[int], slot_of: Any, spare: list[int], completed: Any, slots: Any, over: int
) -> int:
    """Complete messages; return how many are over."""
    for need in needs:
        if slot_of[need] >= 0:  # it may be named twice
            completed[over], slots[over] = need, slot_of[need]
            spare.append(0 + slot_of[need])  # of 64 bits, as the list is
            slot_of[need] = -1
            over += 1
    return over


@step
def _end_all(slot_of: Any, completed: Any, slots: Any, over: int) -> int:
    """Complete the messages that are still open; return how many are over."""
    for number in range(len(slot_of)):
        if slot_of[number] >= 0:
            completed[over], slots[over] = number, slot_of[number]
            over += 1
    return over


@step
def group(keys: Any, values: Any, chosen: Any, every: bool, begins: Any, grouped: Any) -> None:
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
