"""Sources that contradict each other by more than their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from parcast.errors import ParcastError
from parcast.quantities import parse_quantity
from parcast_machines_from.estimating.curves import contradictions
from parcast_machines_from.estimating.numbers import Stated
from parcast_machines_from.records import FIRST, Fact, Reading, Series

#: What an own measurement of the host has in front of a machine's key.
MEASURED = "machine."

#: Benchmarks between two processes, whatever the number of nodes beside them.
_PAIRS = frozenset({"latency", "bandwidth", "bidirectional"})

#: What depends on a problem's size or on settings that outputs of it do not all state.
_UNLIKE = frozenset({"hpl", "hpcg", "write", "read", "write-shared", "read-shared"})

#: Benchmarks of a node, or of an accelerator.
_NODES = frozenset({"triad", "triad-core", "memory", "gemm", "gemm-core", "peak"})

#: A number that states no spread is taken to be known so well.
_UNSTATED_SPREAD = 0.05

#: A port carries at most what it is published to, and so much more for rounding.
_PORT_EXCESS = 1.02


def disagreements(reading: Reading) -> Iterator[str]:
    """Yield where two outputs of one benchmark, or two facts, say different things."""
    groups: dict[tuple[Any, ...], list[Series]] = {}
    for item in reading.series:
        if _is_comparable(item):
            groups.setdefault(_alike(item), []).append(item)
    for group in groups.values():
        yield from contradictions(group)
    first: dict[str, Fact] = {}
    for fact in reading.facts:
        earlier = first.setdefault(fact.key, fact)
        if earlier.value != fact.value and not fact.key.startswith(MEASURED):
            yield (
                f"{fact.key}: {earlier.where} says {earlier.value} and {fact.where} says "
                f"{fact.value}; the first is taken"
            )


def _is_comparable(item: Series) -> bool:
    """Tell whether an output says all that its values depend on."""
    if item.benchmark in _UNLIKE or item.quantity == "1/s" or item.within == FIRST:
        return False
    return item.benchmark in _PAIRS | _NODES or item.processes is not None or bool(item.pairs)


def _alike(item: Series) -> tuple[Any, ...]:
    """Return what two series that measure the same thing share."""
    ran = (item.window,) if item.benchmark in _PAIRS else (item.processes, item.nodes, item.pairs)
    return item.benchmark, item.quantity, item.memory, item.within, item.precision, *ran


def against_host(numbers: Sequence[Stated], reading: Reading) -> Iterator[str]:
    """Yield where an estimate and the host's own measurement, or its ports, differ too much."""
    by_key = {number.key: number for number in numbers}
    for fact in reading.facts:
        number = by_key.get(fact.key.removeprefix(MEASURED))
        if fact.key.startswith(MEASURED) and number is not None:
            yield from _apart(number, fact)
    port = by_key.get("network.port_bandwidth")
    limit = next((fact for fact in reading.facts if fact.key == "ports.bandwidth"), None)
    if port and limit and (rate := _number(port.value)[0]) > _PORT_EXCESS * float(limit.value):
        yield (
            f"{port.key}: {port.value} of outputs is more than the {float(limit.value) / 1e9:.4g} "
            f"GB/s of {limit.where}{limit.note}: {rate / float(limit.value):.3g} times"
        )


def _apart(number: Stated, fact: Fact) -> Iterator[str]:
    try:
        (first, spread), (second, other) = _number(number.value), _number(fact.value)
    except ParcastError:  # no number, such as a list by size
        return
    if first <= 0 or second <= 0:
        return
    allowed = 2 * math.hypot(spread or _UNSTATED_SPREAD, other or _UNSTATED_SPREAD)
    if abs(math.log(first / second)) > allowed:
        yield (
            f"{number.key}: outputs say {number.value} and {fact.where} says {fact.value}, apart "
            "by more than their intervals; that of the outputs is taken"
        )


def _number(value: Any) -> tuple[float, float]:
    """Return a number in base units and its spread relative to it."""
    parsed = parse_quantity(value)
    return parsed.value, parsed.spread / parsed.value if parsed.value else 0.0
