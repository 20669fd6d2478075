"""Timers: what starts, stops and drops them, on the clock and in pools."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel.delays import evaluate, sample
from parcast_petri.kernel.heaps import push, remove
from parcast_petri.kernel.layout import (
    ACTIVE,
    AGE,
    BASE,
    CLOCK,
    CONST,
    CULPRIT,
    DELAY,
    DIRTIES,
    DIRTY,
    DIRTY_LIST,
    FIRST_POOL,
    FREE,
    HEAD,
    HEAP,
    KEY,
    KIND,
    LEFT,
    MAIN,
    MARKED,
    OLDER,
    OUT,
    OWNER,
    PENDING,
    PENDING_LIST,
    PENDINGS,
    PLACE,
    POOL,
    SEQUENTIAL,
    SIZE,
    SPARE,
    SPEED,
    STARTED,
    STIR,
    STIR_AT,
    TIE,
    TRANSITIONS,
    UPDATED,
    VIRTUAL,
    WAITING,
    YOUNGER,
)


def stir(m: Any, place: int) -> None:
    """Note the pools whose speed must be evaluated anew."""
    for k in range(m[m[STIR_AT] + place], m[m[STIR_AT] + place + 1]):
        soil(m, m[m[STIR] + k])


def soil(m: Any, pool: int) -> None:
    """Note a pool whose speed must be evaluated anew."""
    if not m[m[DIRTY] + pool]:
        m[m[DIRTY] + pool] = 1
        m[m[DIRTY_LIST] + m[DIRTIES]] = pool
        m[DIRTIES] += 1


def advance(m: Any, f: Any, pool: int) -> None:
    """Bring the work done in a pool up to the present."""
    now = f[CLOCK]
    f[m[VIRTUAL] + pool] += (now - f[m[UPDATED] + pool]) * f[m[SPEED] + pool]
    f[m[UPDATED] + pool] = now


def reschedule(m: Any, f: Any, pool: int, item: int) -> None:
    """Give a pool, which is up to the present, its place among what is due."""
    h = FIRST_POOL + pool
    if m[m[SIZE] + h] == 0:
        f[m[VIRTUAL] + pool] *= 0
    if m[m[SIZE] + h] == 0 or f[m[SPEED] + pool] <= 0:
        if m[m[PLACE] + item] >= 0:
            remove(m, f, MAIN, item)
        return
    top = m[m[HEAP] + m[m[BASE] + h]]
    m[m[TIE] + item] = m[m[TIE] + top]
    wait = (f[m[KEY] + m[m[BASE] + h]] - f[m[VIRTUAL] + pool]) / f[m[SPEED] + pool]
    push(m, f, MAIN, item, f[CLOCK] + max(wait, wait * 0))


def begin(m: Any, f: Any, item: int, t: int, work: Any) -> bool:
    """Start a timer; tell whether its delay has a meaning."""
    if not work >= 0:
        m[CULPRIT] = t
        return False
    pool = m[m[POOL] + t]
    if pool < 0:
        push(m, f, MAIN, item, f[CLOCK] + work)
    else:
        advance(m, f, pool)
        push(m, f, FIRST_POOL + pool, item, f[m[VIRTUAL] + pool] + work)
        reschedule(m, f, pool, m[TRANSITIONS] + pool)
        soil(m, pool)
    return True


def start(m: Any, f: Any, item: int, t: int, draw: Any) -> bool:
    """Start a timer, or note that its delay is evaluated when this instant is over."""
    m[m[ACTIVE] + t] += 1
    kind = m[m[KIND] + t]
    if f[m[LEFT] + t] >= 0:
        work = f[m[LEFT] + t]
        f[m[LEFT] + t] = f[m[DELAY] + t] * 0 - 1
        return begin(m, f, item, t, work)
    if kind == CONST:
        return begin(m, f, item, t, f[m[DELAY] + t])
    if kind != MARKED:
        return begin(m, f, item, t, sample(m, f, t, draw))
    if m[SEQUENTIAL] and m[STARTED]:
        m[CULPRIT] = t
        return begin(m, f, item, t, evaluate(m, f, t))
    m[m[PLACE] + item] = WAITING
    if not m[m[PENDING] + item]:
        m[m[PENDING] + item] = 1
        m[m[PENDING_LIST] + m[PENDINGS]] = item
        m[PENDINGS] += 1
    return True


def stop(m: Any, f: Any, item: int, t: int) -> None:
    """Stop a timer that is no longer enabled."""
    m[m[ACTIVE] + t] -= 1
    if m[m[PLACE] + item] == WAITING:
        m[m[PLACE] + item] = OUT
        return
    pool, now, due = m[m[POOL] + t], f[CLOCK], f[m[KEY] + m[m[PLACE] + item]]
    if pool < 0:
        remove(m, f, MAIN, item)
    else:
        advance(m, f, pool)
        now = f[m[VIRTUAL] + pool]  # which an empty pool forgets
        remove(m, f, FIRST_POOL + pool, item)
        reschedule(m, f, pool, m[TRANSITIONS] + pool)
    if m[m[AGE] + t]:
        f[m[LEFT] + t] = max(due - now, now * 0)


def open_timer(m: Any, t: int) -> int:
    """Return a new timer of a transition with several servers."""
    m[SPARE] -= 1
    item: int = m[m[FREE] + m[SPARE]]
    m[m[OWNER] + item] = t
    m[m[TIE] + item] = m[m[TIE] + t]
    below = m[m[HEAD] + t]
    m[m[OLDER] + item] = below
    m[m[YOUNGER] + item] = -1
    if below >= 0:
        m[m[YOUNGER] + below] = item
    m[m[HEAD] + t] = item
    return item


def close_timer(m: Any, item: int) -> None:
    """Give back a timer of a transition with several servers."""
    older, younger = m[m[OLDER] + item], m[m[YOUNGER] + item]
    if older >= 0:
        m[m[YOUNGER] + older] = younger
    if younger >= 0:
        m[m[OLDER] + younger] = older
    else:
        m[m[HEAD] + m[m[OWNER] + item]] = older
    m[m[FREE] + m[SPARE]] = item
    m[SPARE] += 1
