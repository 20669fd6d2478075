"""Timers: what starts, stops and drops them, on the clock and in pools."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k
from parcast_petri.kernel.delays import evaluate, sample
from parcast_petri.kernel.heaps import push, remove


def invalidate_readers(m: Any, place: int) -> None:
    """Note the pools and links whose speeds depend on a place or load."""
    pools = m[k.READER_AT] + place
    for i in range(m[pools], m[pools + 1]):
        invalidate(m, m[m[k.READER] + i])
    if m[k.LINKS] > 0:
        watched = m[k.WATCHED_AT] + place
        for i in range(m[watched], m[watched + 1]):
            note_stale(m, m[m[k.WATCHED] + i])


def note_stale(m: Any, link: int) -> None:
    """Note a link whose members' rates must be found anew."""
    if not m[m[k.STALE] + link]:
        m[m[k.STALE] + link] = 1
        m[m[k.STALE_LIST] + m[k.STALES]] = link
        m[k.STALES] += 1


def invalidate(m: Any, pool: int) -> None:
    """Note a pool whose speed must be evaluated anew."""
    if not m[m[k.DIRTY] + pool]:
        m[m[k.DIRTY] + pool] = 1
        m[m[k.DIRTY_LIST] + m[k.DIRTIES]] = pool
        m[k.DIRTIES] += 1


def advance(m: Any, f: Any, pool: int) -> None:
    """Bring the work done in a pool up to the present."""
    now, updated = f[k.CLOCK], m[k.UPDATED] + pool
    f[m[k.VIRTUAL] + pool] += (now - f[updated]) * f[m[k.SPEED] + pool]
    f[updated] = now


def reschedule(m: Any, f: Any, pool: int, item: int) -> None:
    """Give a pool, which is up to the present, its place among what is due."""
    h, speed = k.FIRST_POOL + pool, f[m[k.SPEED] + pool]
    empty = m[m[k.SIZE] + h] == 0
    if empty:
        f[m[k.VIRTUAL] + pool] *= 0
    if empty or speed <= 0:
        if m[m[k.SLOT] + item] >= 0:
            remove(m, f, k.MAIN, item)
        return
    top = m[m[k.BASE] + h]
    m[m[k.TIE] + item] = m[m[k.TIE] + m[m[k.HEAP] + top]]
    wait = (f[m[k.KEY] + top] - f[m[k.VIRTUAL] + pool]) / speed
    push(m, f, k.MAIN, item, f[k.CLOCK] + max(wait, wait * 0))


def begin(m: Any, f: Any, item: int, t: int, work: Any) -> bool:
    """Start a timer; tell whether its delay has a meaning."""
    if not work >= 0:
        m[k.CULPRIT] = t
        return False
    pool = m[m[k.POOL] + t]
    if pool < 0:
        push(m, f, k.MAIN, item, f[k.CLOCK] + work)
    else:
        advance(m, f, pool)
        push(m, f, k.FIRST_POOL + pool, item, f[m[k.VIRTUAL] + pool] + work)
        reschedule(m, f, pool, m[k.TRANSITIONS] + pool)
        invalidate(m, pool)
    return True


def start(m: Any, f: Any, item: int, t: int, draw: Any) -> bool:
    """Start a timer, or note that its delay is evaluated when this instant is over."""
    m[m[k.ACTIVE] + t] += 1
    kind = m[m[k.KIND] + t]
    if f[m[k.LEFT] + t] >= 0:
        work = f[m[k.LEFT] + t]
        f[m[k.LEFT] + t] = f[m[k.DELAY] + t] * 0 - 1
        return begin(m, f, item, t, work)
    if kind == k.CONST:
        return begin(m, f, item, t, f[m[k.DELAY] + t])
    if kind != k.MARKED:
        return begin(m, f, item, t, sample(m, f, t, draw))
    if m[k.SEQUENTIAL] and m[k.STARTED]:
        m[k.CULPRIT] = t
        return begin(m, f, item, t, evaluate(m, f, t))
    m[m[k.SLOT] + item] = k.WAITING
    if not m[m[k.PENDING] + item]:
        m[m[k.PENDING] + item] = 1
        m[m[k.PENDING_LIST] + m[k.PENDINGS]] = item
        m[k.PENDINGS] += 1
    return True


def stop(m: Any, f: Any, item: int, t: int) -> None:
    """Stop a timer that is no longer enabled."""
    m[m[k.ACTIVE] + t] -= 1
    if m[m[k.SLOT] + item] == k.WAITING:
        m[m[k.SLOT] + item] = k.OUT
        return
    pool, now, due = m[m[k.POOL] + t], f[k.CLOCK], f[m[k.KEY] + m[m[k.SLOT] + item]]
    if pool < 0:
        remove(m, f, k.MAIN, item)
    else:
        advance(m, f, pool)
        now = f[m[k.VIRTUAL] + pool]  # which an empty pool forgets
        remove(m, f, k.FIRST_POOL + pool, item)
        reschedule(m, f, pool, m[k.TRANSITIONS] + pool)
    if m[m[k.AGE] + t]:
        f[m[k.LEFT] + t] = max(due - now, now * 0)


def open_timer(m: Any, t: int) -> int:
    """Return a new timer of a transition with several servers."""
    m[k.SPARE] -= 1
    item: int = m[m[k.FREE] + m[k.SPARE]]
    m[m[k.OWNER] + item] = t
    m[m[k.TIE] + item] = m[m[k.TIE] + t]
    below = m[m[k.HEAD] + t]
    m[m[k.OLDER] + item] = below
    m[m[k.YOUNGER] + item] = -1
    if below >= 0:
        m[m[k.YOUNGER] + below] = item
    m[m[k.HEAD] + t] = item
    return item


def close_timer(m: Any, item: int) -> None:
    """Give back a timer of a transition with several servers."""
    older, younger = m[m[k.OLDER] + item], m[m[k.YOUNGER] + item]
    if older >= 0:
        m[m[k.YOUNGER] + older] = younger
    if younger >= 0:
        m[m[k.OLDER] + younger] = older
    else:
        m[m[k.HEAD] + m[m[k.OWNER] + item]] = older
    m[m[k.FREE] + m[k.SPARE]] = item
    m[k.SPARE] += 1
