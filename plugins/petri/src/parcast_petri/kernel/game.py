"""The token game: firings, what they enable, and the loop that lets time pass."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k
from parcast_petri.kernel.delays import evaluate, sample
from parcast_petri.kernel.enabling import enabling
from parcast_petri.kernel.heaps import push, remove
from parcast_petri.kernel.ordinary import play_ordinary
from parcast_petri.kernel.queues import grant, leave, line_up, request
from parcast_petri.kernel.shares import share
from parcast_petri.kernel.timers import (
    advance,
    begin,
    close_timer,
    invalidate_readers,
    open_timer,
    reschedule,
    start,
    stop,
)


def touch_plain(m: Any, f: Any, t: int, draw: Any) -> None:
    """Start or stop the timer of a transition that has nothing but a timer."""
    marking, place, weight, inputs = m[k.MARKING], m[k.PRE_PLACE], m[k.PRE_WEIGHT], m[k.PRE_AT] + t
    running = m[m[k.SLOT] + t] >= 0
    for i in range(m[inputs], m[inputs + 1]):
        if m[marking + m[place + i]] < m[weight + i]:
            if running:
                remove(m, f, k.MAIN, t)
            return
    if not running:
        delay = f[m[k.DELAY] + t]
        if m[m[k.KIND] + t] != k.CONST:
            delay = sample(m, f, t, draw)
        push(m, f, k.MAIN, t, f[k.CLOCK] + delay)


def touch(m: Any, f: Any, t: int, draw: Any) -> bool:
    """Start and stop the timers of a transition as it is enabled now."""
    if m[m[k.PLAIN] + t]:
        touch_plain(m, f, t, draw)
        return True
    if m[m[k.QUEUE] + t] >= 0:
        request(m, f, t)
        return True
    degree, counted, load = enabling(m, t, -1), m[k.DEGREE] + t, m[m[k.LOAD] + t]
    if load >= 0 and degree != m[counted]:
        m[m[k.MARKING] + load] += degree - m[counted]
        m[counted] = degree
        invalidate_readers(m, load)
    if m[m[k.IMMEDIATES] + t]:
        waiting = m[m[k.SLOT] + t] >= 0
        if degree > 0 and not waiting:
            push(m, f, k.IMMEDIATE, t, f[k.CLOCK] * 0)
        elif degree == 0 and waiting:
            remove(m, f, k.IMMEDIATE, t)
        return True
    active, servers = m[k.ACTIVE] + t, m[m[k.SERVERS] + t]
    if servers == 1:
        if degree > 0 and m[active] == 0:
            return start(m, f, t, t, draw)
        if degree == 0 and m[active] > 0:
            stop(m, f, t, t)
        return True
    target = degree if servers < 0 else min(degree, servers)
    while m[active] > target:
        item = m[m[k.HEAD] + t]
        stop(m, f, item, t)
        close_timer(m, item)
    valid = True
    while m[active] < target and valid:
        valid = start(m, f, open_timer(m, t), t, draw)
    return valid


def fire(m: Any, f: Any, t: int, draw: Any) -> int:
    """Move the tokens of a transition; return `LIMIT`, or why the run must end."""
    queues, pools = m[k.QUEUES], m[k.POOLS]
    if queues and m[m[k.QUEUE] + t] >= 0:
        leave(m, f, t)
    m[m[k.FIRED] + t] += 1
    f[m[k.LAST] + t] = f[k.CLOCK]
    m[k.FIRINGS] += 1
    m[k.INSTANT] += 1
    if m[k.ROOM] > 0:
        f[m[k.TRACE_TIME] + m[k.TRACES]] = f[k.CLOCK]
        m[m[k.TRACE] + m[k.TRACES]] = t
        m[k.TRACES] += 1
    marking, changes, touched = m[k.MARKING], m[k.CHANGE_AT] + t, m[k.TOUCH_AT] + t
    for i in range(m[changes], m[changes + 1]):
        place = m[m[k.CHANGE_PLACE] + i]
        m[marking + place] += m[m[k.CHANGE_BY] + i]
        if pools:
            invalidate_readers(m, place)
        if queues and m[m[k.GRANTS] + place] >= 0:
            grant(m, f, m[m[k.GRANTS] + place])
        if m[marking + place] > m[k.BOUND]:
            m[k.CULPRIT] = place
            return k.UNBOUNDED
    for i in range(m[touched], m[touched + 1]):
        if not touch(m, f, m[m[k.TOUCH] + i], draw):
            return k.NEGATIVE
    return k.LIMIT


def expire(m: Any, f: Any, draw: Any) -> int:
    """Fire the transition whose timer is due first (see `fire`)."""
    heap, base = m[k.HEAP], m[k.BASE]
    item = m[heap + m[base + k.MAIN]]
    pool = item - m[k.TRANSITIONS]
    if 0 <= pool < m[k.POOLS]:
        h = k.FIRST_POOL + pool
        top = m[base + h]
        timer = m[heap + top]
        f[m[k.VIRTUAL] + pool] = f[m[k.KEY] + top]
        f[m[k.UPDATED] + pool] = f[k.CLOCK]
        remove(m, f, h, timer)
        reschedule(m, f, pool, item)
        item = timer
    else:
        remove(m, f, k.MAIN, item)
    t = m[m[k.OWNER] + item]
    if not m[m[k.PLAIN] + t]:
        m[m[k.ACTIVE] + t] -= 1
        if item != t:
            close_timer(m, item)
    return fire(m, f, t, draw)


def evaluate_pending(m: Any, f: Any) -> bool:
    """Evaluate the delays that waited for the end of this instant."""
    for i in range(m[k.PENDINGS]):
        item = m[m[k.PENDING_LIST] + i]
        m[m[k.PENDING] + item] = 0
        if m[m[k.SLOT] + item] == k.WAITING:
            t = m[m[k.OWNER] + item]
            m[m[k.SLOT] + item] = k.OUT
            m[k.CULPRIT] = t
            if not begin(m, f, item, t, evaluate(m, f, t)):
                return False
    m[k.PENDINGS] = 0
    return True


def refresh(m: Any, f: Any) -> bool:
    """Evaluate the speeds of pools that may have changed; tell whether they have a meaning."""
    if m[k.STALES] > 0:
        share(m, f)
    sizes, speeds, first_item = m[k.SIZE] + k.FIRST_POOL, m[k.SPEED], m[k.TRANSITIONS]
    for i in range(m[k.DIRTIES]):
        pool = m[m[k.DIRTY_LIST] + i]
        m[m[k.DIRTY] + pool] = 0
        if m[sizes + pool] > 0:
            advance(m, f, pool)
            m[k.CULPRIT] = first_item + pool
            f[speeds + pool] = evaluate(m, f, first_item + pool)
            if not f[speeds + pool] >= 0:
                return False
            reschedule(m, f, pool, first_item + pool)
    m[k.DIRTIES] = 0
    return True


def returns(m: Any) -> bool:
    """Tell whether the marking came back within one instant, so that it will for ever (Brent)."""
    turn = m[k.INSTANT]
    if m[k.RANDOM] or turn < 1024 + 8 * m[k.TRANSITIONS]:
        return False
    places = m[k.COUNTED]
    if m[k.SAVES] > 0:
        same = True
        for place in range(places):
            if m[m[k.MARKING] + place] != m[m[k.SAVED] + place]:
                same = False
                break
        if same:
            return True
    if turn >= 2 * m[k.SAVES]:
        m[k.SAVES] = turn
        for place in range(places):
            m[m[k.SAVED] + place] = m[m[k.MARKING] + place]
    return False


def enable(m: Any, f: Any, draw: Any) -> bool:
    """Start what the initial marking enables."""
    for t in range(m[k.TRANSITIONS]):
        if not touch(m, f, t, draw):
            return False
    m[k.STARTED] = 1
    return True


def run(m: Any, f: Any, draw: Any, firings: int) -> int:  # noqa: PLR0912  (one loop)
    """Play until nothing is enabled, or so many firings in all; return why it ended."""
    if m[k.STARTED] == 0 and not enable(m, f, draw):
        return k.NEGATIVE
    if m[k.ORDINARY] and m[k.ROOM] == 0:
        code = play_ordinary(m, f, draw, firings)
        if code != k.GENERAL:
            return code
    heap, keys, stop_place = m[k.HEAP], m[k.KEY], m[k.STOP_PLACE]
    bases, sizes = m[k.BASE], m[k.SIZE]
    immediate, main, ready = m[bases + k.IMMEDIATE], m[bases + k.MAIN], m[bases + k.READY]
    immediates, timers, requests = sizes + k.IMMEDIATE, sizes + k.MAIN, sizes + k.READY
    while True:
        if stop_place >= 0 and m[m[k.MARKING] + stop_place] >= m[k.STOP_TOKENS]:
            return k.STOPPED
        if m[k.ROOM] > 0 and m[k.TRACES] == m[k.ROOM]:
            return k.TRACED
        if m[k.SPARE] < m[k.BURST]:
            return k.FULL
        within_limit = m[k.FIRINGS] < firings
        if m[immediates] > 0:
            code = fire(m, f, m[heap + immediate], draw) if within_limit else k.LIMIT
        elif m[timers] > 0 and f[keys + main] <= f[k.UNTIL]:
            if within_limit:
                f[k.CLOCK] = max(f[k.CLOCK], f[keys + main])
                code = expire(m, f, draw)
            else:
                code = k.LIMIT
        elif m[k.DIRTIES] > 0 or m[k.STALES] > 0:
            if not refresh(m, f):
                return k.NEGATIVE
            continue
        elif m[requests] > 0:
            line_up(m, f, m[heap + ready] - m[k.TRANSITIONS] - m[k.POOLS])
            continue
        elif m[k.PENDINGS] > 0:
            if not evaluate_pending(m, f):
                return k.NEGATIVE
            continue
        elif m[timers] == 0:
            return k.DEAD
        else:
            f[k.CLOCK] = f[k.SINCE] = f[keys + main]
            f[k.UNTIL] = f[k.CLOCK] + abs(f[k.CLOCK]) * f[k.SAME]
            m[k.INSTANT] = 0
            m[k.SAVES] = 0
            continue
        if code != k.LIMIT or not within_limit:
            return code
        if returns(m):
            return k.ENDLESS
