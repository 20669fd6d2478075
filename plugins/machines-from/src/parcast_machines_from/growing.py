"""Benchmarks of a reading at more nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from parcast.errors import ParcastError
from parcast_machines_from.estimating.growth import (
    COLLECTIVE_LAW,
    MESSAGE_LAW,
    PAIR_LAW,
    PAIRS,
    Ahead,
    Law,
    ahead,
)
from parcast_machines_from.estimating.messages import Counts, explained
from parcast_machines_from.estimating.numbers import quantity, size_text
from parcast_machines_from.records import Reading, Series

if TYPE_CHECKING:
    from parcast import Registry

#: What is said of values that no messages explain.
_BY_OTHERS = "growth of public clusters"


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
    by: str  #: what says how it grows


def grown(
    registry: Registry, reading: Reading, nodes: int
) -> tuple[tuple[Grown, ...], tuple[str, ...]]:
    """Return every benchmark of a reading at more nodes, and what is left out.

    Parameters
    ----------
    registry
        Counts the messages of collectives.
    reading
        All that was read.
    nodes
        More than any benchmark was measured on.

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
        raise ParcastError(
            "no output of messages says on how many nodes it ran; keep the line of its launch, "
            "such as mpirun -N 32 -np 64, above it, or give a table with a column nodes"
        )
    values: list[Grown] = []
    counts = Counts(registry)
    for (benchmark, memory), items in groups.items():
        unique = {item.nodes or 0: item for item in items}
        answers, by = continued(counts, list(unique.values()), nodes)
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
                by=by,
            )
            for answer in answers
        ]
    return tuple(values), tuple(dict.fromkeys(notes))


def continued(
    counts: Counts,
    series: Sequence[Series],
    nodes: int,
    *,
    usual: Law | None = None,
    by_messages: Law = MESSAGE_LAW,
) -> tuple[tuple[Ahead, ...], str]:
    """Return one benchmark's values at more nodes, and what says how they grow.

    Parameters
    ----------
    counts
        Of messages, kept from one benchmark to the next.
    series
        One benchmark at several numbers of nodes.
    nodes
        More than any of them.
    usual, by_messages
        How such benchmarks grow on other clusters, and how far messages are off there.
    """
    last = max(series, key=lambda item: item.nodes or 0)
    if usual is None:
        usual = PAIR_LAW if last.benchmark in PAIRS else COLLECTIVE_LAW
    cause = explained(counts, series) if last.benchmark == "allreduce" else None
    if cause is None:
        return ahead(series, nodes, usual), _BY_OTHERS
    sizes = [value.size for value in last.values]
    steps = cause.steps(sizes, last.nodes or 0, nodes)
    return ahead(series, nodes, by_messages, steps), f"messages, {cause.library}"


def table(values: Sequence[Grown]) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of benchmarks at more nodes."""
    head = ["benchmark", "size", "from nodes", "predicted", "90 % interval", "by"]
    rows = [
        [
            item.benchmark + (" (device)" if item.memory == "device" else ""),
            size_text(item.size),
            ", ".join(map(str, item.nodes)),
            quantity(item.value, item.quantity),
            f"{quantity(item.low, item.quantity)} .. {quantity(item.high, item.quantity)}",
            item.by,
        ]
        for item in values
    ]
    return head, rows
