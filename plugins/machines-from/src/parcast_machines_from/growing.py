"""Benchmarks of a reading at more nodes."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from parcast.errors import ParcastError
from parcast_machines_from.estimating.growth import COLLECTIVE_LAW, PAIR_LAW, PAIRS, ahead
from parcast_machines_from.estimating.numbers import quantity, size_text
from parcast_machines_from.records import Reading, Series


@attrs.frozen
class Grown:
    """A benchmark's value at more nodes, in base units, with its 90 % interval."""

    benchmark: str
    memory: str
    quantity: str
    size: float
    value: float
    low: float
    high: float
    nodes: tuple[int, ...]  #: those it was measured on


def grown(reading: Reading, nodes: int) -> tuple[tuple[Grown, ...], tuple[str, ...]]:
    """Return every benchmark of a reading at more nodes, and what is left out.

    Raises
    ------
    ParcastError
        If no output says on how many nodes it ran, or on no fewer.
    """
    groups: dict[tuple[str, str], list[Series]] = {}
    notes = list(reading.notes)
    for series in reading.series:
        if series.benchmark.startswith("triad"):
            continue
        if series.nodes is None:
            notes.append(f"{series.benchmark} of {series.where} does not say its nodes; left out")
            continue
        groups.setdefault((series.benchmark, series.memory), []).append(series)
    if not groups:
        raise ParcastError("no output of messages says on how many nodes it ran")
    values: list[Grown] = []
    for (benchmark, memory), items in groups.items():
        unique = {item.nodes or 0: item for item in items}
        law = PAIR_LAW if benchmark in PAIRS else COLLECTIVE_LAW
        values += [
            Grown(
                benchmark=benchmark,
                memory=memory,
                quantity=items[0].quantity,
                size=answer.size,
                value=answer.value,
                low=answer.low,
                high=answer.high,
                nodes=tuple(sorted(unique)),
            )
            for answer in ahead(list(unique.values()), nodes, law)
        ]
    return tuple(values), tuple(dict.fromkeys(notes))


def table(values: Sequence[Grown]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of benchmarks at more nodes."""
    head = ["benchmark", "size", "from nodes", "predicted", "90 % interval"]
    rows = [
        [
            item.benchmark + (" (device)" if item.memory == "device" else ""),
            size_text(item.size),
            ", ".join(map(str, item.nodes)),
            quantity(item.value, item.quantity),
            f"{quantity(item.low, item.quantity)} .. {quantity(item.high, item.quantity)}",
        ]
        for item in values
    ]
    return head, rows
