"""Nets whose transitions have timers and nothing else, in one loop with few questions asked."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k
from parcast_petri.kernel.delays import sample
from parcast_petri.kernel.heaps import push, remove, sink

#: So many firings without time passing are looked at by the general loop.
_SUSPICIOUS = 1024


def close(m: Any, f: Any) -> None:
    """Fill the gap that the first timer left with the last one."""
    base = m[m[k.BASE] + k.MAIN]
    m[m[k.SIZE] + k.MAIN] -= 1
    size = m[m[k.SIZE] + k.MAIN]
    if size > 0:
        sink(m, f, base, size, base, m[m[k.HEAP] + base + size], f[m[k.KEY] + base + size])


def set_timer(m: Any, f: Any, t: int, draw: Any, gap: bool) -> bool:
    """Start or stop the timer of a transition; return whether the first place is still free."""
    running = m[m[k.SLOT] + t] >= 0
    for i in range(m[m[k.PRE_AT] + t], m[m[k.PRE_AT] + t + 1]):
        if m[m[k.MARKING] + m[m[k.PRE_PLACE] + i]] < m[m[k.PRE_WEIGHT] + i]:
            if running:
                if gap:
                    close(m, f)
                remove(m, f, k.MAIN, t)
                return False
            return gap
    if running:
        return gap
    delay = f[m[k.DELAY] + t]
    if m[m[k.KIND] + t] != k.CONST:
        delay = sample(m, f, t, draw)
    if gap:
        base = m[m[k.BASE] + k.MAIN]
        sink(m, f, base, m[m[k.SIZE] + k.MAIN], base, t, f[k.CLOCK] + delay)
    else:
        push(m, f, k.MAIN, t, f[k.CLOCK] + delay)
    return False


def play_ordinary(m: Any, f: Any, draw: Any, firings: int) -> int:
    """Play as `run` does; return `GENERAL` where that one must go on."""
    marking, fired, last, first = m[k.MARKING], m[k.FIRED], m[k.LAST], m[m[k.BASE] + k.MAIN]
    change_at, change_place, change_by = m[k.CHANGE_AT], m[k.CHANGE_PLACE], m[k.CHANGE_BY]
    touch_at, touched, bound, stop_place = m[k.TOUCH_AT], m[k.TOUCH], m[k.BOUND], m[k.STOP_PLACE]
    heap, keys, places = m[k.HEAP], m[k.KEY], m[k.SLOT]
    while m[k.INSTANT] < _SUSPICIOUS:
        if stop_place >= 0 and m[marking + stop_place] >= m[k.STOP_TOKENS]:
            return k.STOPPED
        if m[m[k.SIZE] + k.MAIN] == 0:
            return k.DEAD
        now = f[keys + first]
        if now > f[k.CLOCK]:
            f[k.CLOCK] = f[k.SINCE] = f[k.UNTIL] = now
            m[k.INSTANT] = 0
        if m[k.FIRINGS] >= firings:
            return k.LIMIT
        t = m[heap + first]
        m[places + t] = k.OUT
        m[fired + t] += 1
        f[last + t] = now
        m[k.FIRINGS] += 1
        m[k.INSTANT] += 1
        full = -1
        for i in range(m[change_at + t], m[change_at + t + 1]):
            at = marking + m[change_place + i]
            m[at] += m[change_by + i]
            if m[at] > bound:
                full = m[change_place + i]
        gap = True
        for i in range(m[touch_at + t], m[touch_at + t + 1]):
            gap = set_timer(m, f, m[touched + i], draw, gap)
        if gap:
            close(m, f)
        if full >= 0:
            m[k.CULPRIT] = full
            return k.UNBOUNDED
    return k.GENERAL
