"""Binary heaps of items, ordered by key and tie; every heap has a stretch of one array."""

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


def rise(m: Any, f: Any, base: int, at: int) -> None:
    """Move an item up to its place in its heap."""
    item = m[m[HEAP] + at]
    while at > base:
        above = base + (at - base - 1) // 2
        other = m[m[HEAP] + above]
        if f[m[KEY] + other] < f[m[KEY] + item] or (
            f[m[KEY] + other] == f[m[KEY] + item] and m[m[TIE] + other] <= m[m[TIE] + item]
        ):
            break
        m[m[HEAP] + at] = other
        m[m[PLACE] + other] = at
        at = above
    m[m[HEAP] + at] = item
    m[m[PLACE] + item] = at


def sink(m: Any, f: Any, base: int, size: int, at: int) -> None:
    """Move an item down to its place in its heap."""
    item = m[m[HEAP] + at]
    while True:
        below = base + 2 * (at - base) + 1
        if below >= base + size:
            break
        other = m[m[HEAP] + below]
        if below + 1 < base + size:
            right = m[m[HEAP] + below + 1]
            if f[m[KEY] + right] < f[m[KEY] + other] or (
                f[m[KEY] + right] == f[m[KEY] + other] and m[m[TIE] + right] < m[m[TIE] + other]
            ):
                below += 1
                other = right
        if f[m[KEY] + item] < f[m[KEY] + other] or (
            f[m[KEY] + item] == f[m[KEY] + other] and m[m[TIE] + item] <= m[m[TIE] + other]
        ):
            break
        m[m[HEAP] + at] = other
        m[m[PLACE] + other] = at
        at = below
    m[m[HEAP] + at] = item
    m[m[PLACE] + item] = at


def push(m: Any, f: Any, h: int, item: int, key: Any) -> None:
    """Put an item into a heap, or move it there to another key."""
    f[m[KEY] + item] = key
    at = m[m[PLACE] + item]
    if at < 0:
        at = m[m[BASE] + h] + m[m[SIZE] + h]
        m[m[SIZE] + h] += 1
        m[m[HEAP] + at] = item
    rise(m, f, m[m[BASE] + h], at)
    sink(m, f, m[m[BASE] + h], m[m[SIZE] + h], m[m[PLACE] + item])


def remove(m: Any, f: Any, h: int, item: int) -> None:
    """Take an item out of a heap."""
    at = m[m[PLACE] + item]
    m[m[PLACE] + item] = OUT
    m[m[SIZE] + h] -= 1
    end = m[m[BASE] + h] + m[m[SIZE] + h]
    if at != end:
        other = m[m[HEAP] + end]
        m[m[HEAP] + at] = other
        m[m[PLACE] + other] = at
        rise(m, f, m[m[BASE] + h], at)
        sink(m, f, m[m[BASE] + h], m[m[SIZE] + h], m[m[PLACE] + other])
