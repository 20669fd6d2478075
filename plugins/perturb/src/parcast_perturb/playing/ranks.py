"""Ranks: what they do by themselves, call after call, until they wait for what is not known.

Arguments without type are the named tuples of `parcast_perturb.playing.layout`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.playing import heap
from parcast_perturb.playing.layout import (
    BOTH,
    LATER,
    NONE,
    READY,
    RECEIVING,
    STARTING,
    UNKNOWN,
    WAITING,
)
from parcast_traces.compilation import step


@step
def arrive(message: int, at: float, messages: Any, run: Any) -> None:
    """A message is there: whoever waits for nothing else goes on."""
    run.arrival[message] = at
    for side in range(2):
        if run.awaiting[message, side]:
            run.awaiting[message, side] = False
            rank = messages.source[message] if side else messages.target[message]
            run.pending[rank] -= 1
            if run.pending[rank] == 0:
                run.ready[run.counters[READY]] = rank
                run.counters[READY] += 1


@step
def leave(message: int, at: float, messages: Any, run: Any) -> None:
    """A message leaves: it arrives by itself, or asks for what it passes."""
    run.flight[message] = at
    if messages.leaves[message] == NONE:
        way = messages.latency[message] + messages.transfer[message]
        arrive(message, at + way, messages, run)
        return
    run.asked[message] = at + messages.before[message]
    heap.push(run.later, run.counters[LATER], run.asked, message)
    run.counters[LATER] += 1


@step
def begin_message(message: int, sending: bool, at: float, messages: Any, run: Any) -> None:
    """One side of a message is there; it leaves if that is all that it needs."""
    if sending:
        run.sent[message] = at
    else:
        run.posted[message] = at
    leaves_at = run.sent[message]
    if messages.late[message]:
        if leaves_at == UNKNOWN or run.posted[message] == UNKNOWN:
            return
        leaves_at = max(leaves_at, run.posted[message])
    elif not sending:
        return
    leave(message, leaves_at, messages, run)


@step
def enter(rank: int, row: int, calls: Any, messages: Any, noise: Any, run: Any) -> None:
    """Do what a call does before it waits."""
    kind = calls.kind[row]
    begin = run.clock[rank] + (calls.gap[row] + noise.gap[row])
    own = begin + (calls.cost[row] + noise.call[row])
    run.pending[rank] = 0
    run.clock[rank] = own
    if kind in (RECEIVING, WAITING):
        run.clock[rank] = begin  # its own time comes after the wait
    for side in range(2):
        message = calls.receives[row] if side else calls.sends[row]
        if message != NONE:
            at = begin if side and kind != BOTH else own
            begin_message(message, side == 0, at, messages, run)
    for edge in range(calls.first[row], calls.first[row + 1]):
        message = calls.awaited[edge]
        if run.arrival[message] == UNKNOWN:
            run.awaiting[message, 0 if calls.arriving[edge] else 1] = True
            run.pending[rank] += 1


@step
def order(first: int, last: int, calls: Any, run: Any) -> None:
    """Put what a wait takes into the order of arrival."""
    for edge in range(first + 1, last):
        message, arriving, at = calls.awaited[edge], calls.arriving[edge], edge
        while at > first and run.arrival[calls.awaited[at - 1]] > run.arrival[message]:
            calls.awaited[at], calls.arriving[at] = calls.awaited[at - 1], calls.arriving[at - 1]
            at -= 1
        calls.awaited[at], calls.arriving[at] = message, arriving


@step
def finish(rank: int, row: int, calls: Any, messages: Any, noise: Any, run: Any) -> None:
    """End a call all of whose messages are there."""
    kind, first, last = calls.kind[row], calls.first[row], calls.first[row + 1]
    clock, taking = run.clock[rank], kind == WAITING and calls.by_message
    if taking:
        order(first, last, calls, run)
    for edge in range(first, last):
        message = calls.awaited[edge]
        end = run.arrival[message]
        if kind == BOTH and calls.arriving[edge]:
            end += calls.receipt[row] + noise.call[row]
        clock = max(clock, end)
        if taking and calls.arriving[edge]:
            clock += messages.receiving[message]
    if kind in (RECEIVING, WAITING):
        clock += calls.cost[row] + noise.call[row]
    run.clock[rank] = clock
    run.ends[row] = clock
    if kind == STARTING:
        run.started[rank] = clock


@step
def advance(rank: int, calls: Any, messages: Any, noise: Any, run: Any) -> None:
    """Let a rank go on as far as it can."""
    while run.cursor[rank] < calls.offsets[rank + 1]:
        row = run.cursor[rank]
        if run.pending[rank] == NONE:
            enter(rank, row, calls, messages, noise, run)
            if run.pending[rank] > 0:
                return
        finish(rank, row, calls, messages, noise, run)
        run.cursor[rank] += 1
        run.pending[rank] = NONE
