"""Resources that are granted in the order of the requests for them."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k
from parcast_petri.kernel.enabling import enabling
from parcast_petri.kernel.heaps import push, remove


def update_ready(m: Any, f: Any, q: int) -> None:
    """Put a queue among those that somebody asks, by the first to ask, or take it out."""
    h = m[k.HEAPS] - 2 * m[k.QUEUES] + q
    item = m[k.TRANSITIONS] + m[k.POOLS] + q
    if m[m[k.SIZE] + h] > 0:
        top = m[m[k.HEAP] + m[m[k.BASE] + h]]
        m[m[k.TIE] + item] = m[m[k.TIE] + top]
        push(m, f, k.READY, item, f[m[k.KEY] + m[m[k.BASE] + h]])
    elif m[m[k.SLOT] + item] >= 0:
        remove(m, f, k.READY, item)


def grant(m: Any, f: Any, q: int) -> None:
    """Let the first in line take the resource, if there is one of each."""
    h = m[k.HEAPS] - m[k.QUEUES] + q
    free = m[m[k.MARKING] + m[m[k.RESOURCE] + q]] > 0
    if free and m[m[k.SIZE] + h] > 0 and m[m[k.PROMISED] + q] == 0:
        t = m[m[k.HEAP] + m[m[k.BASE] + h]]
        remove(m, f, h, t)
        m[m[k.PROMISED] + q] = 1
        m[m[k.ACTIVE] + t] = k.GRANTED
        push(m, f, k.IMMEDIATE, t, f[k.CLOCK] * 0)


def line_up(m: Any, f: Any, q: int) -> None:
    """Give the first who asks its place in line, behind all that asked before."""
    h = m[k.HEAPS] - 2 * m[k.QUEUES] + q
    t = m[m[k.HEAP] + m[m[k.BASE] + h]]
    remove(m, f, h, t)
    m[k.SERIAL] += 1
    m[m[k.ACTIVE] + t] = k.IN_LINE
    push(m, f, h + m[k.QUEUES], t, f[k.CLOCK] * 0 + m[k.SERIAL])
    update_ready(m, f, q)
    grant(m, f, q)


def leave(m: Any, f: Any, t: int) -> None:
    """Take a transition out of its queue, wherever it stands."""
    q, stage = m[m[k.QUEUE] + t], m[m[k.ACTIVE] + t]
    h = m[k.HEAPS] - 2 * m[k.QUEUES] + q
    if stage == k.ASKING:
        remove(m, f, h, t)
        update_ready(m, f, q)
    elif stage == k.IN_LINE:
        remove(m, f, h + m[k.QUEUES], t)
    elif stage == k.GRANTED:
        remove(m, f, k.IMMEDIATE, t)
        m[m[k.PROMISED] + q] = 0
    m[m[k.ACTIVE] + t] = k.NOT_ASKED


def request(m: Any, f: Any, t: int) -> None:
    """Ask for a transition's resource, or withdraw."""
    q = m[m[k.QUEUE] + t]
    enabled = enabling(m, t, m[m[k.RESOURCE] + q]) > 0
    if enabled and m[m[k.ACTIVE] + t] == k.NOT_ASKED:
        m[m[k.ACTIVE] + t] = k.ASKING
        push(m, f, m[k.HEAPS] - 2 * m[k.QUEUES] + q, t, f[k.SINCE])
        update_ready(m, f, q)
    elif not enabled and m[m[k.ACTIVE] + t] != k.NOT_ASKED:
        leave(m, f, t)
        grant(m, f, q)
