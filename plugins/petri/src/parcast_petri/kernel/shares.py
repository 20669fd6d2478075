"""Max-min fair shares of links: what one member cannot use of a link, the others may."""

from __future__ import annotations

from typing import Any

from parcast_petri.kernel import layout as k
from parcast_petri.kernel.delays import evaluate


def share(m: Any, f: Any) -> None:
    """Give the members of all links their rates, 1 at most, by progressive filling.

    The link that has least for each of its members gives them that, link after link (Bertsekas &
    Gallager, Data Networks, 1992, section 6.5.2).
    """
    zero = f[k.CLOCK] * 0
    for link in range(m[k.LINKS]):
        f[m[k.LEFT_ON] + link] = evaluate(m, f, m[k.TRANSITIONS] + m[k.POOLS] + link)
        number = 0
        for i in range(m[m[k.MEMBER_AT] + link], m[m[k.MEMBER_AT] + link + 1]):
            number += m[m[k.MARKING] + m[m[k.MEMBER] + i]]
            f[m[k.RATE] + m[m[k.MEMBER] + i]] = zero + 1
        m[m[k.OPEN] + link] = number
    while True:
        full, least = -1, zero + 1
        for link in range(m[k.LINKS]):
            if m[m[k.OPEN] + link] > 0:
                share = f[m[k.LEFT_ON] + link] / m[m[k.OPEN] + link]
                if share < least:
                    full, least = link, share
        if full < 0:
            return
        fill(m, f, full, max(least, zero))


def fill(m: Any, f: Any, full: int, rate: Any) -> None:
    """Give those members of a link a rate that have none yet, and take it off their other links."""
    for i in range(m[m[k.MEMBER_AT] + full], m[m[k.MEMBER_AT] + full + 1]):
        member = m[m[k.MEMBER] + i]
        number = m[m[k.MARKING] + member]
        if f[m[k.RATE] + member] < 1 or number == 0:
            continue
        f[m[k.RATE] + member] = rate
        for j in range(m[m[k.ON_AT] + member], m[m[k.ON_AT] + member + 1]):
            link = m[m[k.ON] + j]
            f[m[k.LEFT_ON] + link] -= number * rate
            m[m[k.OPEN] + link] -= number
