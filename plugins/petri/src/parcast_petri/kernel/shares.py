"""Max-min fair shares of links: what one member cannot use of a link, the others may."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel.delays import evaluate
from parcast_petri.kernel.layout import (
    CLOCK,
    LEFT_ON,
    LINKS,
    MARKING,
    MEMBER,
    MEMBER_AT,
    ON,
    ON_AT,
    OPEN,
    POOLS,
    RATE,
    TRANSITIONS,
)


def share(m: Any, f: Any) -> None:
    """Give the members of all links their rates, 1 at most, by progressive filling.

    The link that has least for each of its members gives them that, link after link (Bertsekas &
    Gallager, Data Networks, 1992, section 6.5.2).
    """
    zero = f[CLOCK] * 0
    for link in range(m[LINKS]):
        f[m[LEFT_ON] + link] = evaluate(m, f, m[TRANSITIONS] + m[POOLS] + link)
        number = 0
        for k in range(m[m[MEMBER_AT] + link], m[m[MEMBER_AT] + link + 1]):
            number += m[m[MARKING] + m[m[MEMBER] + k]]
            f[m[RATE] + m[m[MEMBER] + k]] = zero + 1
        m[m[OPEN] + link] = number
    while True:
        full, least = -1, zero + 1
        for link in range(m[LINKS]):
            if m[m[OPEN] + link] > 0:
                share = f[m[LEFT_ON] + link] / m[m[OPEN] + link]
                if share < least:
                    full, least = link, share
        if full < 0:
            return
        fill(m, f, full, max(least, zero))


def fill(m: Any, f: Any, full: int, rate: Any) -> None:
    """Give those members of a link a rate that have none yet, and take it off their other links."""
    for k in range(m[m[MEMBER_AT] + full], m[m[MEMBER_AT] + full + 1]):
        member = m[m[MEMBER] + k]
        number = m[m[MARKING] + member]
        if f[m[RATE] + member] < 1 or number == 0:
            continue
        f[m[RATE] + member] = rate
        for j in range(m[m[ON_AT] + member], m[m[ON_AT] + member + 1]):
            link = m[m[ON] + j]
            f[m[LEFT_ON] + link] -= number * rate
            m[m[OPEN] + link] -= number
