"""What is added to an event: a number of its own, the same in whatever order events come.

Arguments without type are the named tuples of `parcast_perturb.propagation.state`.
"""

from __future__ import annotations

from typing import Any

from parcast_perturb.propagation.state import (
    ABSENT,
    CALL_ADDS,
    GAP,
    LATENCY,
    MESSAGE_ADDS,
    NOISE,
    PAPER,
    PER_BYTE,
)
from parcast_traces.compilation import step
from parcast_traces.trace.calls import ALL, EXPECT, LOCAL, NOTICE, RECV, SENDRECV
from parcast_traces.trace.columns import BYTES, END, KIND, NAME, START

_LOW = 0xFFFFFFFF


@step
def hash32(x: int) -> Any:
    """Return 32 bits that look random; the same in Python's and in machine arithmetic."""
    x = (x ^ (x >> 16)) & _LOW
    x = (x * 0x7FEB352D) & _LOW
    x = x ^ (x >> 15)
    x = (x * 0x31848BAB) & _LOW
    return x ^ (x >> 16)


@step
def sample(deltas: Any, target: int, rank: int, row: int, stage: int, r: int) -> Any:
    """Return what is added to a stage of an event in a replication, before any limit."""
    constant = deltas.constant
    delta = constant[
        target, rank if constant.shape[1] > 1 else 0, r if constant.shape[2] > 1 else 0
    ]
    law = deltas.law[target, rank]
    if law != ABSENT:
        key = hash32(hash32(deltas.seed + row) ^ (stage * 4 + target)) ^ r
        delta += deltas.pool[law, hash32(key) >> 16]
    return delta


@step
def is_signal(table: Any, rules: Any, row: int) -> Any:
    """Return whether a call is how switches tell a process that others have come: it is free."""
    return rules.modeled and table.times[row, BYTES] < 0.0


@step
def call_cost(table: Any, rules: Any, row: int) -> Any:
    """Return what a call costs its rank when it waits for nobody."""
    kind = table.whole[row, KIND]
    if is_signal(table, rules, row):
        return 0.0
    if kind == LOCAL or kind >= ALL:
        return rules.overhead
    if table.whole[row, NAME] >= NOTICE:  # a part of a call
        return 0.0
    if len(table.calls):
        return table.calls[row, 0]
    if kind < RECV or kind == SENDRECV:
        return rules.overhead + table.times[row, BYTES] * rules.overhead_per_byte
    return rules.overhead_receive


@step
def receipt_cost(table: Any, rules: Any, row: int) -> Any:
    """Return what a call costs its rank after what it waited for has arrived."""
    return table.calls[row, 1] if len(table.calls) else rules.overhead_receive


@step
def noise(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, r: int) -> Any:
    """Return what is added to a call; no call gets shorter than 0.

    In a modeled run what is local is a mark, such as the end of a program, and no call.
    """
    if table.whole[row, NAME] >= NOTICE or (rules.modeled and table.whole[row, KIND] == LOCAL):
        return 0.0
    if is_signal(table, rules, row):
        return 0.0
    delta = sample(deltas, NOISE, rank, row, 0, r)
    if delta < 0.0:
        largest_cut = min(
            call_cost(table, rules, row), table.times[row, END] - table.times[row, START]
        )
        if len(deltas.event):
            largest_cut += deltas.event[row, CALL_ADDS]
        if delta < -largest_cut:
            state.clipped[NOISE] += 1
            return -largest_cut
    return delta


@step
def gap(table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, r: int) -> Any:
    """Return what is added before an event; no gap gets shorter than 0.

    Noise is added to what is computed: to gaps that last, of a modeled run the first one too.
    """
    first = row == table.offsets[rank]
    before = 0.0 if first else table.times[row - 1, END]
    lasts = table.times[row, START] - before
    if first and not rules.modeled:
        lasts = 0.0
    inside = table.whole[row, NAME] == NOTICE or (
        not first and table.whole[row - 1, NAME] == EXPECT
    )
    delta = 0.0 if lasts <= 0.0 or inside else sample(deltas, GAP, rank, row, 0, r)
    if len(deltas.extra_row):
        at = _first(deltas.extra_row, row)
        while at < len(deltas.extra_row) and deltas.extra_row[at] == row:
            delta += deltas.extra[at, r if deltas.extra.shape[1] > 1 else 0]
            at += 1
    if delta < 0.0 and delta < -lasts:
        state.clipped[GAP] += 1
        return -lasts
    return delta


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
    delta = sample(deltas, LATENCY, rank, row, stage, r)
    least = -deltas.message_costs[row, 0] if len(deltas.message_costs) else deltas.least_latency
    if delta < least:
        state.clipped[LATENCY] += 1
        return least
    return delta


@step
def transfer_time(deltas: Any, rules: Any, row: int, length: float) -> Any:
    """Return how long a message of so many bytes was on its way when it was recorded."""
    if len(deltas.message_costs):
        return deltas.message_costs[row, 0] + length * deltas.message_costs[row, 1]
    return rules.latency + length * rules.per_byte


@step
def flight(deltas: Any, state: Any, rank: int, row: int, length: float, r: int) -> Any:
    """Return what is added to the way of a message of so many bytes that an event sends."""
    if length < 0.0:  # a signal of switches
        return 0.0
    byte_delta = sample(deltas, PER_BYTE, rank, row, 0, r)
    least = -deltas.message_costs[row, 1] if len(deltas.message_costs) else deltas.least_per_byte
    if byte_delta < least:
        state.clipped[PER_BYTE] += 1
        byte_delta = least
    delta = latency(deltas, state, rank, row, 0, r) + length * byte_delta
    return delta + deltas.event[row, MESSAGE_ADDS] if len(deltas.event) else delta


@step
def hop(deltas: Any, rules: Any, rank: int, row: int, stage: int, r: int) -> Any:
    """Return what is added to the call within a stage; it does not get shorter than 0."""
    return max(sample(deltas, NOISE, rank, row, stage, r), -rules.overhead)


@step
def stages(
    table: Any, deltas: Any, state: Any, rules: Any, rank: int, row: int, count: int, r: int
) -> Any:  # fmt: skip
    """Return what is added to a collective call of so many stages."""
    delta = 0.0
    for stage in range(count):
        delta += hop(deltas, rules, rank, row, stage, r)
        delta += latency(deltas, state, rank, row, stage, r)
    if rules.policy != PAPER:
        byte_delta = max(sample(deltas, PER_BYTE, rank, row, 0, r), deltas.least_per_byte)
        delta += table.times[row, BYTES] * byte_delta
    return delta
