"""Nets whose transitions have timers and nothing else, in one loop with few questions asked."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel.delays import sample
from parcast_petri.kernel.heaps import push, remove, sink
from parcast_petri.kernel.layout import (
    BASE,
    BOUND,
    CHANGE_AT,
    CHANGE_BY,
    CHANGE_PLACE,
    CLOCK,
    CONST,
    CULPRIT,
    DEAD,
    DELAY,
    FIRED,
    FIRINGS,
    GENERAL,
    HEAP,
    INSTANT,
    KEY,
    KIND,
    LAST,
    LIMIT,
    MAIN,
    MARKING,
    OUT,
    PLACE,
    PRE_AT,
    PRE_PLACE,
    PRE_WEIGHT,
    SINCE,
    SIZE,
    STOP_PLACE,
    STOP_TOKENS,
    STOPPED,
    TOUCH,
    TOUCH_AT,
    UNBOUNDED,
    UNTIL,
)

#: So many firings without time passing are looked at by the general loop.
_SUSPICIOUS = 1024


def close(m: Any, f: Any) -> None:
    """Fill the gap that the first timer left with the last one."""
    base = m[m[BASE] + MAIN]
    m[m[SIZE] + MAIN] -= 1
    size = m[m[SIZE] + MAIN]
    if size > 0:
        sink(m, f, base, size, base, m[m[HEAP] + base + size], f[m[KEY] + base + size])


def set_timer(m: Any, f: Any, t: int, draw: Any, gap: bool) -> bool:
    """Start or stop the timer of a transition; return whether the first place is still free."""
    running = m[m[PLACE] + t] >= 0
    for k in range(m[m[PRE_AT] + t], m[m[PRE_AT] + t + 1]):
        if m[m[MARKING] + m[m[PRE_PLACE] + k]] < m[m[PRE_WEIGHT] + k]:
            if running:
                if gap:
                    close(m, f)
                remove(m, f, MAIN, t)
                return False
            return gap
    if running:
        return gap
    delay = f[m[DELAY] + t]
    if m[m[KIND] + t] != CONST:
        delay = sample(m, f, t, draw)
    if gap:
        base = m[m[BASE] + MAIN]
        sink(m, f, base, m[m[SIZE] + MAIN], base, t, f[CLOCK] + delay)
    else:
        push(m, f, MAIN, t, f[CLOCK] + delay)
    return False


def play_ordinary(m: Any, f: Any, draw: Any, firings: int) -> int:
    """Play as `run` does; return `GENERAL` where that one must go on."""
    marking, fired, last, first = m[MARKING], m[FIRED], m[LAST], m[m[BASE] + MAIN]
    change_at, change_place, change_by = m[CHANGE_AT], m[CHANGE_PLACE], m[CHANGE_BY]
    touch_at, touched, bound, stop_place = m[TOUCH_AT], m[TOUCH], m[BOUND], m[STOP_PLACE]
    heap, keys, places = m[HEAP], m[KEY], m[PLACE]
    while m[INSTANT] < _SUSPICIOUS:
        if stop_place >= 0 and m[marking + stop_place] >= m[STOP_TOKENS]:
            return STOPPED
        if m[m[SIZE] + MAIN] == 0:
            return DEAD
        now = f[keys + first]
        if now > f[CLOCK]:
            f[CLOCK] = f[SINCE] = f[UNTIL] = now
            m[INSTANT] = 0
        if m[FIRINGS] >= firings:
            return LIMIT
        t = m[heap + first]
        m[places + t] = OUT
        m[fired + t] += 1
        f[last + t] = now
        m[FIRINGS] += 1
        m[INSTANT] += 1
        full = -1
        for k in range(m[change_at + t], m[change_at + t + 1]):
            at = marking + m[change_place + k]
            m[at] += m[change_by + k]
            if m[at] > bound:
                full = m[change_place + k]
        gap = True
        for k in range(m[touch_at + t], m[touch_at + t + 1]):
            gap = set_timer(m, f, m[touched + k], draw, gap)
        if gap:
            close(m, f)
        if full >= 0:
            m[CULPRIT] = full
            return UNBOUNDED
    return GENERAL
