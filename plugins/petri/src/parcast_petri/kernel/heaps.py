"""Heaps of items, ordered by key and tie; each has a stretch of one array, four below each.

Keys stand beside the items, so that those that are compared are neighbors in memory.
"""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k


def put(m: Any, f: Any, slot: int, item: int, key: Any) -> None:
    """Write an item into a slot of a heap."""
    m[m[k.HEAP] + slot] = item
    f[m[k.KEY] + slot] = key
    m[m[k.SLOT] + item] = slot


def rise(m: Any, f: Any, base: int, slot: int, item: int, key: Any) -> None:
    """Put an item into a free slot, or above it where it goes before what is there."""
    heap, keys, ties = m[k.HEAP], m[k.KEY], m[k.TIE]
    while slot > base:
        above = base + (slot - base - 1) // 4
        parent, parent_key = m[heap + above], f[keys + above]
        if parent_key < key or (parent_key == key and m[ties + parent] <= m[ties + item]):
            break
        put(m, f, slot, parent, parent_key)
        slot = above
    put(m, f, slot, item, key)


def sink(m: Any, f: Any, base: int, size: int, slot: int, item: int, key: Any) -> None:
    """Put an item into a free slot, or below it where others go before."""
    heap, keys, ties = m[k.HEAP], m[k.KEY], m[k.TIE]
    while True:
        low = base + 4 * (slot - base) + 1
        if low >= base + size:
            break
        below, least = low, f[keys + low]
        for sibling in range(low + 1, min(low + 4, base + size)):
            sibling_key = f[keys + sibling]
            if sibling_key < least or (
                sibling_key == least and m[ties + m[heap + sibling]] < m[ties + m[heap + below]]
            ):
                below, least = sibling, sibling_key
        if key < least or (key == least and m[ties + item] <= m[ties + m[heap + below]]):
            break
        put(m, f, slot, m[heap + below], least)
        slot = below
    put(m, f, slot, item, key)


def push(m: Any, f: Any, h: int, item: int, key: Any) -> None:
    """Put an item into a heap, or move it there to another key."""
    slot, base = m[m[k.SLOT] + item], m[m[k.BASE] + h]
    if slot < 0:
        slot = base + m[m[k.SIZE] + h]
        m[m[k.SIZE] + h] += 1
        rise(m, f, base, slot, item, key)
    else:
        settle(m, f, h, slot, item, key)


def settle(m: Any, f: Any, h: int, slot: int, item: int, key: Any) -> None:
    """Put an item into a free slot inside a heap, or wherever it belongs from there."""
    base = m[m[k.BASE] + h]
    rise(m, f, base, slot, item, key)
    if m[m[k.SLOT] + item] == slot:
        sink(m, f, base, m[m[k.SIZE] + h], slot, item, key)


def remove(m: Any, f: Any, h: int, item: int) -> None:
    """Take an item out of a heap."""
    slot = m[m[k.SLOT] + item]
    m[m[k.SLOT] + item] = k.OUT
    m[m[k.SIZE] + h] -= 1
    end = m[m[k.BASE] + h] + m[m[k.SIZE] + h]
    if slot != end:
        settle(m, f, h, slot, m[m[k.HEAP] + end], f[m[k.KEY] + end])
