"""Max-min fair shares of links: what one member cannot use of a link, the others may.

Rates are found anew only where they may change: on the links of what came or went, on those of all
that is on these, and so on, but for links that have enough for all.
"""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k
from parcast_petri.kernel.delays import evaluate
from parcast_petri.kernel.timers import invalidate, note_stale


def share(m: Any, f: Any) -> None:
    """Give the members of stale links their rates, 1 at most, by progressive filling.

    The link that has least for each of its members, counted by their weights, gives them that,
    link after link (Bertsekas & Gallager, Data Networks, 1992, section 6.5.2).
    """
    reach(m, f)
    zero, links, count = f[k.CLOCK] * 0, m[k.STALE_LIST], m[k.STALES]
    for at in range(count):
        open_link(m, f, m[links + at])
    active = count
    while True:
        least, at = zero + 1, 0
        while at < active:
            link = m[links + at]
            number = m[m[k.OPEN] + link]
            share = zero + 1 if number == 0 else f[m[k.LEFT_ON] + link] / f[m[k.TAKEN] + link]
            if share >= 1:  # and it will never be less
                active -= 1
                m[links + at], m[links + active] = m[links + active], link
                continue
            least = min(least, share)
            at += 1
        if active == 0:
            break
        for at in range(active):
            link = m[links + at]
            left, taken = f[m[k.LEFT_ON] + link], f[m[k.TAKEN] + link]
            if m[m[k.OPEN] + link] > 0 and left / taken <= least:
                fill(m, f, link, max(least, zero))
    for at in range(count):
        close_link(m, f, m[links + at])
    m[k.STALES] = 0


def reach(m: Any, f: Any) -> None:
    """Note all links that may be full and share members with stale ones, and so on."""
    at, ample = 0, m[k.LINKS]  # links with enough for all stand at the end of the list
    while at < m[k.STALES]:
        link = m[m[k.STALE_LIST] + at]
        for i in range(m[m[k.MEMBER_AT] + link], m[m[k.MEMBER_AT] + link + 1]):
            member = m[m[k.MEMBER] + i]
            if m[m[k.MARKING] + member] == 0:
                continue
            for j in range(m[m[k.ON_AT] + member], m[m[k.ON_AT] + member + 1]):
                other = m[m[k.ON] + j]
                if m[m[k.STALE] + other]:
                    continue
                if may_be_full(m, f, other):
                    note_stale(m, other)
                else:
                    ample -= 1
                    m[m[k.STALE_LIST] + ample] = other
                    m[m[k.STALE] + other] = 1
        at += 1
    for at in range(ample, m[k.LINKS]):
        m[m[k.STALE] + m[m[k.STALE_LIST] + at]] = 0


def may_be_full(m: Any, f: Any, link: int) -> bool:
    """Tell whether a link has less than all of its members can use."""
    total = f[k.CLOCK] * 0
    for i in range(m[m[k.MEMBER_AT] + link], m[m[k.MEMBER_AT] + link + 1]):
        total += m[m[k.MARKING] + m[m[k.MEMBER] + i]] * f[m[k.MEMBER_WEIGHT] + i]
    return evaluate(m, f, m[k.TRANSITIONS] + m[k.POOLS] + link) < total  # type: ignore[no-any-return]


def open_link(m: Any, f: Any, link: int) -> None:
    """Take the rates of a link's members away."""
    f[m[k.LEFT_ON] + link] = evaluate(m, f, m[k.TRANSITIONS] + m[k.POOLS] + link)
    one, taken, total = f[k.CLOCK] * 0 + 1, f[k.CLOCK] * 0, 0
    for i in range(m[m[k.MEMBER_AT] + link], m[m[k.MEMBER_AT] + link + 1]):
        member = m[m[k.MEMBER] + i]
        number = m[m[k.MARKING] + member]
        if number > 0:
            total += number
            taken += number * f[m[k.MEMBER_WEIGHT] + i]
            f[m[k.RATE] + member] = one
    m[m[k.OPEN] + link] = total
    f[m[k.TAKEN] + link] = taken


def fill(m: Any, f: Any, full: int, rate: Any) -> None:
    """Give those members of a link a rate that have none yet, and take it off their other links."""
    for i in range(m[m[k.MEMBER_AT] + full], m[m[k.MEMBER_AT] + full + 1]):
        member = m[m[k.MEMBER] + i]
        number = m[m[k.MARKING] + member]
        if number == 0 or f[m[k.RATE] + member] < 1:
            continue
        f[m[k.RATE] + member] = rate
        for j in range(m[m[k.ON_AT] + member], m[m[k.ON_AT] + member + 1]):
            link = m[m[k.ON] + j]
            weighed = number * f[m[k.ON_WEIGHT] + j]
            f[m[k.LEFT_ON] + link] -= weighed * rate
            f[m[k.TAKEN] + link] -= weighed
            m[m[k.OPEN] + link] -= number


def close_link(m: Any, f: Any, link: int) -> None:
    """Note the pools of a link's members whose rates are others than before."""
    m[m[k.STALE] + link] = 0
    for i in range(m[m[k.MEMBER_AT] + link], m[m[k.MEMBER_AT] + link + 1]):
        member = m[m[k.MEMBER] + i]
        rate = f[m[k.RATE] + member]
        if m[m[k.MARKING] + member] > 0 and rate != f[m[k.RATE_BEFORE] + member]:
            f[m[k.RATE_BEFORE] + member] = rate
            pools = m[k.READER_AT] + member
            for j in range(m[pools], m[pools + 1]):
                invalidate(m, m[m[k.READER] + j])
