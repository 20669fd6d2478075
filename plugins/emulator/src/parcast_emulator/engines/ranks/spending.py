"""What the ranks of programs spend their time on, compiled."""

from __future__ import annotations

from typing import Any

from parcast_emulator.compilation import step

# Arguments are untyped: they are the named tuples of `parcast_emulator.engines.ranks.arrays`.

#: Columns of ``State.spent``.
COMPUTE, COMMUNICATION, IO, SYNCHRONIZATION = range(4)


@step
def spend(rank: int, part: int, until: float, charges: Any, state: Any) -> None:
    """A rank is busy, or waits, until then."""
    start = charges.start
    state.spent[rank, part] += max(until, start) - max(state.rank.clock[rank], start)
    state.rank.clock[rank] = until


@step
def charge_wait(rank: int, left: float, until: float, charges: Any, state: Any) -> None:
    """Charge a wait to the message that ended it: before and after it began its transfer."""
    since = state.rank.clock[rank]
    end = max(since, until)
    spend(rank, SYNCHRONIZATION, min(max(since, left), end), charges, state)
    spend(rank, COMMUNICATION, end, charges, state)
