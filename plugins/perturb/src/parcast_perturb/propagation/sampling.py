"""What is added to an event: a number of its own, the same in whatever order events come.

Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation.state import (
    GAP,
    LATENCY,
    NO,
    NOISE,
    PAPER,
    PER_BYTE,
    WAY_ADDS,
)
from parcast_traces.compilation import step
from parcast_traces.trace.calls import ALL, EXPECT, LOCAL, NOTICE, RECV, SENDRECV
from parcast_traces.trace.columns import BYTES, END, KIND, NAME, START

_LOW = 0xFFFFFFFF


@step
def mixed(x: int) -> Any:
    """Return 32 bits that look random; the same in Python's and in machine arithmetic."""
    x = (x ^ (x >> 16)) & _LOW
    x = (x * 0x7FEB352D) & _LOW
    x = x ^ (x >> 15)
    x = (x * 0x31848BAB) & _LOW
    return x ^ (x >> 16)


@step
def drawn(deltas: Any, what: int, rank: int, row: int, stage: int, r: int) -> Any:
    """Return what is added to a stage of an event in a replication, before any limit."""
    constant = deltas.constant
    found = constant[what, rank if constant.shape[1] > 1 else 0, r if constant.shape[2] > 1 else 0]
    law = deltas.law[what, rank]
    if law != NO:
        key = mixed(mixed(deltas.seed + row) ^ (stage * 4 + what)) ^ r
        found += deltas.pool[law, mixed(key) >> 16]
    return found


@step
def own(table: Any, rules: Any, row: int) -> Any:
    """Return what a call costs its rank when it waits for nobody."""
    kind = table.whole[row, KIND]
    if kind == LOCAL or kind >= ALL:
        return rules.overhead
    if table.whole[row, NAME] >= NOTICE:  # a part of a call
        return 0.0
    if kind < RECV or kind == SENDRECV:
        return rules.overhead + table.times[row, BYTES] * rules.overhead_per_byte
    return rules.overhead_receive


@step
def noise(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, r: int) -> Any:
    """Return what is added to a call; no call gets shorter than 0."""
    if table.whole[row, NAME] >= NOTICE:
        return 0.0
    found = drawn(deltas, NOISE, rank, row, 0, r)
    if found < 0.0:
        most = min(own(table, rules, row), table.times[row, END] - table.times[row, START])
        if found < -most:
            state.clipped[NOISE] += 1
            return -most
    return found


@step
def gap(table: Any, deltas: Any, state: Any, rank: int, row: int, r: int) -> Any:
    """Return what is added before an event; no gap gets shorter than 0."""
    first = row == table.offsets[rank]
    inside = table.whole[row, NAME] == NOTICE or (
        not first and table.whole[row - 1, NAME] == EXPECT
    )
    found = 0.0 if first or inside else drawn(deltas, GAP, rank, row, 0, r)
    if len(deltas.extra_row):
        at = _first(deltas.extra_row, row)
        while at < len(deltas.extra_row) and deltas.extra_row[at] == row:
            found += deltas.extra[at, r if deltas.extra.shape[1] > 1 else 0]
            at += 1
    if found < 0.0:
        most = 0.0 if first else table.times[row, START] - table.times[row - 1, END]
        if found < -most:
            state.clipped[GAP] += 1
            return -most
    return found


@step
def _first(rising: Any, value: int) -> Any:
    """Return the first place of a value, or where it would stand."""
    low, high = 0, len(rising)
    while low < high:
        middle = (low + high) // 2
        if rising[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@step
def latency(deltas: Any, state: Any, rank: int, row: int, stage: int, r: int) -> Any:
    """Return what is added to a message's latency; it does not get shorter than 0."""
    found = drawn(deltas, LATENCY, rank, row, stage, r)
    if found < deltas.least_latency:
        state.clipped[LATENCY] += 1
        return deltas.least_latency
    return found


@step
def flight(deltas: Any, state: Any, rank: int, row: int, length: float, r: int) -> Any:
    """Return what is added to the way of a message of so many bytes that an event sends."""
    each = drawn(deltas, PER_BYTE, rank, row, 0, r)
    if each < deltas.least_per_byte:
        state.clipped[PER_BYTE] += 1
        each = deltas.least_per_byte
    found = latency(deltas, state, rank, row, 0, r) + length * each
    return found + deltas.event[row, WAY_ADDS] if len(deltas.event) else found


@step
def hop(deltas: Any, rules: Any, rank: int, row: int, stage: int, r: int) -> Any:
    """Return what is added to the call within a stage; it does not get shorter than 0."""
    return max(drawn(deltas, NOISE, rank, row, stage, r), -rules.overhead)


@step
def stages(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, count: int, r: int
) -> Any:  # fmt: skip
    """Return what is added to a collective call of so many stages."""
    found = 0.0
    for stage in range(count):
        found += hop(deltas, rules, rank, row, stage, r)
        found += latency(deltas, state, rank, row, stage, r)
    if rules.policy != PAPER:
        each = max(drawn(deltas, PER_BYTE, rank, row, 0, r), deltas.least_per_byte)
        found += table.times[row, BYTES] * each
    return found
