"""The token game: firings, what they enable, and the loop that lets time pass."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel.delays import evaluate, sample
from parcast_petri.kernel.enabling import enabling
from parcast_petri.kernel.heaps import push, remove
from parcast_petri.kernel.layout import (
    ACTIVE,
    BASE,
    BOUND,
    BURST,
    CHANGE_AT,
    CHANGE_BY,
    CHANGE_PLACE,
    CLOCK,
    CONST,
    COUNTED,
    CULPRIT,
    DEAD,
    DEGREE,
    DELAY,
    DIRTIES,
    DIRTY,
    DIRTY_LIST,
    ENDLESS,
    FIRED,
    FIRINGS,
    FIRST_POOL,
    FULL,
    GENERAL,
    GRANTS,
    HEAD,
    HEAP,
    IMMEDIATE,
    IMMEDIATES,
    INSTANT,
    KEY,
    KIND,
    LAST,
    LIMIT,
    LINKS,
    LOAD,
    MAIN,
    MARKING,
    NEGATIVE,
    ORDINARY,
    OUT,
    OWNER,
    PENDING,
    PENDING_LIST,
    PENDINGS,
    PLACE,
    PLAIN,
    POOLS,
    PRE_AT,
    PRE_PLACE,
    PRE_WEIGHT,
    QUEUE,
    QUEUES,
    RANDOM,
    READY,
    ROOM,
    SAME,
    SAVED,
    SAVES,
    SERVERS,
    SINCE,
    SIZE,
    SPARE,
    SPEED,
    STARTED,
    STOP_PLACE,
    STOP_TOKENS,
    STOPPED,
    TOUCH,
    TOUCH_AT,
    TRACE,
    TRACE_TIME,
    TRACED,
    TRACES,
    TRANSITIONS,
    UNBOUNDED,
    UNTIL,
    UPDATED,
    VIRTUAL,
    WAITING,
)
from parcast_petri.kernel.ordinary import play_ordinary
from parcast_petri.kernel.queues import grant, leave, line_up, request
from parcast_petri.kernel.shares import share
from parcast_petri.kernel.timers import (
    advance,
    begin,
    close_timer,
    open_timer,
    reschedule,
    start,
    stir,
    stop,
)


def touch_plain(m: Any, f: Any, t: int, draw: Any) -> None:
    """Start or stop the timer of a transition that has nothing out of the common."""
    for k in range(m[m[PRE_AT] + t], m[m[PRE_AT] + t + 1]):
        if m[m[MARKING] + m[m[PRE_PLACE] + k]] < m[m[PRE_WEIGHT] + k]:
            if m[m[PLACE] + t] >= 0:
                remove(m, f, MAIN, t)
            return
    if m[m[PLACE] + t] < 0:
        delay = f[m[DELAY] + t]
        if m[m[KIND] + t] != CONST:
            delay = sample(m, f, t, draw)
        push(m, f, MAIN, t, f[CLOCK] + delay)


def touch(m: Any, f: Any, t: int, draw: Any) -> bool:
    """Start and stop the timers of a transition as it is enabled now."""
    if m[m[PLAIN] + t]:
        touch_plain(m, f, t, draw)
        return True
    if m[m[QUEUE] + t] >= 0:
        request(m, f, t)
        return True
    degree = enabling(m, t, -1)
    if m[m[LOAD] + t] >= 0 and degree != m[m[DEGREE] + t]:
        m[m[MARKING] + m[m[LOAD] + t]] += degree - m[m[DEGREE] + t]
        m[m[DEGREE] + t] = degree
        stir(m, m[m[LOAD] + t])
    if m[m[IMMEDIATES] + t]:
        if degree > 0 and m[m[PLACE] + t] < 0:
            push(m, f, IMMEDIATE, t, f[CLOCK] * 0)
        elif degree == 0 and m[m[PLACE] + t] >= 0:
            remove(m, f, IMMEDIATE, t)
        return True
    if m[m[SERVERS] + t] == 1:
        if degree > 0 and m[m[ACTIVE] + t] == 0:
            return start(m, f, t, t, draw)
        if degree == 0 and m[m[ACTIVE] + t] > 0:
            stop(m, f, t, t)
        return True
    target = degree if m[m[SERVERS] + t] < 0 else min(degree, m[m[SERVERS] + t])
    while m[m[ACTIVE] + t] > target:
        item = m[m[HEAD] + t]
        stop(m, f, item, t)
        close_timer(m, item)
    valid = True
    while m[m[ACTIVE] + t] < target and valid:
        valid = start(m, f, open_timer(m, t), t, draw)
    return valid


def fire(m: Any, f: Any, t: int, draw: Any) -> int:
    """Move the tokens of a transition; return `LIMIT`, or why the run must end."""
    if m[QUEUES] and m[m[QUEUE] + t] >= 0:
        leave(m, f, t)
    m[m[FIRED] + t] += 1
    f[m[LAST] + t] = f[CLOCK]
    m[FIRINGS] += 1
    m[INSTANT] += 1
    if m[ROOM] > 0:
        f[m[TRACE_TIME] + m[TRACES]] = f[CLOCK]
        m[m[TRACE] + m[TRACES]] = t
        m[TRACES] += 1
    for k in range(m[m[CHANGE_AT] + t], m[m[CHANGE_AT] + t + 1]):
        place = m[m[CHANGE_PLACE] + k]
        m[m[MARKING] + place] += m[m[CHANGE_BY] + k]
        if m[POOLS]:
            stir(m, place)
        if m[QUEUES] and m[m[GRANTS] + place] >= 0:
            grant(m, f, m[m[GRANTS] + place])
        if m[m[MARKING] + place] > m[BOUND]:
            m[CULPRIT] = place
            return UNBOUNDED
    for k in range(m[m[TOUCH_AT] + t], m[m[TOUCH_AT] + t + 1]):
        if not touch(m, f, m[m[TOUCH] + k], draw):
            return NEGATIVE
    return LIMIT


def expire(m: Any, f: Any, draw: Any) -> int:
    """Fire the transition whose timer is due first (see `fire`)."""
    item = m[m[HEAP] + m[m[BASE] + MAIN]]
    pool = item - m[TRANSITIONS]
    if 0 <= pool < m[POOLS]:
        h = FIRST_POOL + pool
        timer = m[m[HEAP] + m[m[BASE] + h]]
        f[m[VIRTUAL] + pool] = f[m[KEY] + m[m[BASE] + h]]
        f[m[UPDATED] + pool] = f[CLOCK]
        remove(m, f, h, timer)
        reschedule(m, f, pool, item)
        item = timer
    else:
        remove(m, f, MAIN, item)
    t = m[m[OWNER] + item]
    if not m[m[PLAIN] + t]:
        m[m[ACTIVE] + t] -= 1
        if item != t:
            close_timer(m, item)
    return fire(m, f, t, draw)


def evaluate_pending(m: Any, f: Any) -> bool:
    """Evaluate the delays that waited for the end of this instant."""
    for k in range(m[PENDINGS]):
        item = m[m[PENDING_LIST] + k]
        m[m[PENDING] + item] = 0
        if m[m[PLACE] + item] == WAITING:
            t = m[m[OWNER] + item]
            m[m[PLACE] + item] = OUT
            m[CULPRIT] = t
            if not begin(m, f, item, t, evaluate(m, f, t)):
                return False
    m[PENDINGS] = 0
    return True


def refresh(m: Any, f: Any) -> bool:
    """Evaluate the speeds of pools that may have changed; tell whether they have a meaning."""
    if m[LINKS] > 0:
        share(m, f)
    for k in range(m[DIRTIES]):
        pool = m[m[DIRTY_LIST] + k]
        m[m[DIRTY] + pool] = 0
        if m[m[SIZE] + FIRST_POOL + pool] > 0:
            advance(m, f, pool)
            m[CULPRIT] = m[TRANSITIONS] + pool
            f[m[SPEED] + pool] = evaluate(m, f, m[TRANSITIONS] + pool)
            if not f[m[SPEED] + pool] >= 0:
                return False
            reschedule(m, f, pool, m[TRANSITIONS] + pool)
    m[DIRTIES] = 0
    return True


def returns(m: Any) -> bool:
    """Tell whether the marking came back within one instant, so that it will for ever (Brent)."""
    turn = m[INSTANT]
    if m[RANDOM] or turn < 1024 + 8 * m[TRANSITIONS]:
        return False
    places = m[COUNTED]
    if m[SAVES] > 0:
        same = True
        for place in range(places):
            if m[m[MARKING] + place] != m[m[SAVED] + place]:
                same = False
                break
        if same:
            return True
    if turn >= 2 * m[SAVES]:
        m[SAVES] = turn
        for place in range(places):
            m[m[SAVED] + place] = m[m[MARKING] + place]
    return False


def enable(m: Any, f: Any, draw: Any) -> bool:
    """Start what the initial marking enables."""
    for t in range(m[TRANSITIONS]):
        if not touch(m, f, t, draw):
            return False
    m[STARTED] = 1
    return True


def run(m: Any, f: Any, draw: Any, firings: int) -> int:  # noqa: PLR0912  (one loop)
    """Play until nothing is enabled, or so many firings in all; return why it ended."""
    if m[STARTED] == 0 and not enable(m, f, draw):
        return NEGATIVE
    if m[ORDINARY] and m[ROOM] == 0:
        code = play_ordinary(m, f, draw, firings)
        if code != GENERAL:
            return code
    while True:
        stop_place = m[STOP_PLACE]
        if stop_place >= 0 and m[m[MARKING] + stop_place] >= m[STOP_TOKENS]:
            return STOPPED
        if m[ROOM] > 0 and m[TRACES] == m[ROOM]:
            return TRACED
        if m[SPARE] < m[BURST]:
            return FULL
        within_limit = m[FIRINGS] < firings
        if m[m[SIZE] + IMMEDIATE] > 0:
            code = fire(m, f, m[m[HEAP] + m[m[BASE] + IMMEDIATE]], draw) if within_limit else LIMIT
        elif m[m[SIZE] + MAIN] > 0 and f[m[KEY] + m[m[BASE] + MAIN]] <= f[UNTIL]:
            if within_limit:
                f[CLOCK] = max(f[CLOCK], f[m[KEY] + m[m[BASE] + MAIN]])
                code = expire(m, f, draw)
            else:
                code = LIMIT
        elif m[DIRTIES] > 0:
            if not refresh(m, f):
                return NEGATIVE
            continue
        elif m[m[SIZE] + READY] > 0:
            line_up(m, f, m[m[HEAP] + m[m[BASE] + READY]] - m[TRANSITIONS] - m[POOLS])
            continue
        elif m[PENDINGS] > 0:
            if not evaluate_pending(m, f):
                return NEGATIVE
            continue
        elif m[m[SIZE] + MAIN] == 0:
            return DEAD
        else:
            f[CLOCK] = f[SINCE] = f[m[KEY] + m[m[BASE] + MAIN]]
            f[UNTIL] = f[CLOCK] + abs(f[CLOCK]) * f[SAME]
            m[INSTANT] = 0
            m[SAVES] = 0
            continue
        if code != LIMIT or not within_limit:
            return code
        if returns(m):
            return ENDLESS
