"""Resources that are granted in the order of the requests for them."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel.enabling import enabling
from parcast_petri.kernel.heaps import push, remove
from parcast_petri.kernel.layout import (
    ACTIVE,
    ASKING,
    BASE,
    CLOCK,
    GRANTED,
    HEAP,
    HEAPS,
    IMMEDIATE,
    IN_LINE,
    KEY,
    MARKING,
    NOT_ASKED,
    PLACE,
    POOLS,
    PROMISED,
    QUEUE,
    QUEUES,
    READY,
    RESOURCE,
    SERIAL,
    SINCE,
    SIZE,
    TIE,
    TRANSITIONS,
)


def update_ready(m: Any, f: Any, q: int) -> None:
    """Put a queue among those that somebody asks, by the first to ask, or take it out."""
    h = m[HEAPS] - 2 * m[QUEUES] + q
    item = m[TRANSITIONS] + m[POOLS] + q
    if m[m[SIZE] + h] > 0:
        top = m[m[HEAP] + m[m[BASE] + h]]
        m[m[TIE] + item] = m[m[TIE] + top]
        push(m, f, READY, item, f[m[KEY] + m[m[BASE] + h]])
    elif m[m[PLACE] + item] >= 0:
        remove(m, f, READY, item)


def grant(m: Any, f: Any, q: int) -> None:
    """Let the first in line take the resource, if there is one of each."""
    h = m[HEAPS] - m[QUEUES] + q
    free = m[m[MARKING] + m[m[RESOURCE] + q]] > 0
    if free and m[m[SIZE] + h] > 0 and m[m[PROMISED] + q] == 0:
        t = m[m[HEAP] + m[m[BASE] + h]]
        remove(m, f, h, t)
        m[m[PROMISED] + q] = 1
        m[m[ACTIVE] + t] = GRANTED
        push(m, f, IMMEDIATE, t, f[CLOCK] * 0)


def line_up(m: Any, f: Any, q: int) -> None:
    """Give the first who asks its place in line, behind all that asked before."""
    h = m[HEAPS] - 2 * m[QUEUES] + q
    t = m[m[HEAP] + m[m[BASE] + h]]
    remove(m, f, h, t)
    m[SERIAL] += 1
    m[m[ACTIVE] + t] = IN_LINE
    push(m, f, h + m[QUEUES], t, f[CLOCK] * 0 + m[SERIAL])
    update_ready(m, f, q)
    grant(m, f, q)


def leave(m: Any, f: Any, t: int) -> None:
    """Take a transition out of its queue, wherever it stands."""
    q, stage = m[m[QUEUE] + t], m[m[ACTIVE] + t]
    h = m[HEAPS] - 2 * m[QUEUES] + q
    if stage == ASKING:
        remove(m, f, h, t)
        update_ready(m, f, q)
    elif stage == IN_LINE:
        remove(m, f, h + m[QUEUES], t)
    elif stage == GRANTED:
        remove(m, f, IMMEDIATE, t)
        m[m[PROMISED] + q] = 0
    m[m[ACTIVE] + t] = NOT_ASKED


def request(m: Any, f: Any, t: int) -> None:
    """Ask for a transition's resource, or withdraw."""
    q = m[m[QUEUE] + t]
    enabled = enabling(m, t, m[m[RESOURCE] + q]) > 0
    if enabled and m[m[ACTIVE] + t] == NOT_ASKED:
        m[m[ACTIVE] + t] = ASKING
        push(m, f, m[HEAPS] - 2 * m[QUEUES] + q, t, f[SINCE])
        update_ready(m, f, q)
    elif not enabled and m[m[ACTIVE] + t] != NOT_ASKED:
        leave(m, f, t)
        grant(m, f, q)
