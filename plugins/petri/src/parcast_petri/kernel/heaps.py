"""Heaps of items, ordered by key and tie; each has a stretch of one array, four below each.

Keys stand beside the items, so that those that are compared are neighbors in memory.
"""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel.layout import (
    BASE,
    HEAP,
    KEY,
    OUT,
    PLACE,
    SIZE,
    TIE,
)


def put(m: Any, f: Any, at: int, item: int, key: Any) -> None:
    """Write an item at a place of a heap."""
    m[m[HEAP] + at] = item
    f[m[KEY] + at] = key
    m[m[PLACE] + item] = at


def rise(m: Any, f: Any, base: int, at: int, item: int, key: Any) -> None:
    """Put an item in at a free place, or above it where it goes before what is there."""
    while at > base:
        above = base + (at - base - 1) // 4
        other, its = m[m[HEAP] + above], f[m[KEY] + above]
        if its < key or (its == key and m[m[TIE] + other] <= m[m[TIE] + item]):
            break
        put(m, f, at, other, its)
        at = above
    put(m, f, at, item, key)


def sink(m: Any, f: Any, base: int, size: int, at: int, item: int, key: Any) -> None:
    """Put an item in at a free place, or below it where others go before."""
    while True:
        low = base + 4 * (at - base) + 1
        if low >= base + size:
            break
        below, its = low, f[m[KEY] + low]
        for k in range(low + 1, min(low + 4, base + size)):
            other = f[m[KEY] + k]
            if other < its or (
                other == its and m[m[TIE] + m[m[HEAP] + k]] < m[m[TIE] + m[m[HEAP] + below]]
            ):
                below, its = k, other
        if key < its or (key == its and m[m[TIE] + item] <= m[m[TIE] + m[m[HEAP] + below]]):
            break
        put(m, f, at, m[m[HEAP] + below], its)
        at = below
    put(m, f, at, item, key)


def push(m: Any, f: Any, h: int, item: int, key: Any) -> None:
    """Put an item into a heap, or move it there to another key."""
    at, base = m[m[PLACE] + item], m[m[BASE] + h]
    if at < 0:
        at = base + m[m[SIZE] + h]
        m[m[SIZE] + h] += 1
        rise(m, f, base, at, item, key)
    else:
        settle(m, f, h, at, item, key)


def settle(m: Any, f: Any, h: int, at: int, item: int, key: Any) -> None:
    """Put an item in at a free place inside a heap, or wherever it belongs from there."""
    base = m[m[BASE] + h]
    rise(m, f, base, at, item, key)
    if m[m[PLACE] + item] == at:
        sink(m, f, base, m[m[SIZE] + h], at, item, key)


def remove(m: Any, f: Any, h: int, item: int) -> None:
    """Take an item out of a heap."""
    at = m[m[PLACE] + item]
    m[m[PLACE] + item] = OUT
    m[m[SIZE] + h] -= 1
    end = m[m[BASE] + h] + m[m[SIZE] + h]
    if at != end:
        settle(m, f, h, at, m[m[HEAP] + end], f[m[KEY] + end])
