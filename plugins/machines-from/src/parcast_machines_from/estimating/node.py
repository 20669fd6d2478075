"""A node's numbers: cores, memory bandwidth, the rate of a process, and the disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parcast_machines_from.estimating.curves import curve_of
from parcast_machines_from.estimating.numbers import Stated, quantity
from parcast_machines_from.records import Reading, Series, only_of

#: Facts that stand in a machine's file as they are.
_FACTS = ("nodes.count", "nodes.cores")


def node_numbers(
    reading: Reading, sizes: Mapping[str, int]
) -> tuple[tuple[Stated, ...], tuple[str, ...]]:
    """Return what is known of a node, and what is not and would be measured how."""
    numbers = [
        *_facts(reading, sizes),
        *_memory(reading.series),
        *_rate(reading.series, sizes.get("node")),
    ]
    numbers += _storage(reading.series)
    keys = {number.key for number in numbers}
    wanted = {
        "nodes.cores": (
            "scontrol show node, lstopo --of xml or --level node=N; without it each process has a "
            "node to itself"
        ),
        "processor.rate": "a matrix product on all cores, or HPL",
        "nodes.memory_bandwidth": "STREAM on all cores of a node",
    }
    missing = tuple(f"{key}: {how}" for key, how in wanted.items() if key not in keys)
    return tuple(numbers), missing


def _facts(reading: Reading, sizes: Mapping[str, int]) -> Iterator[Stated]:
    for key in _FACTS:
        fact = next((fact for fact in reading.facts if fact.key == key), None)
        if (
            key == "nodes.cores"
            and "node" in sizes
            and (fact is None or fact.value != sizes["node"])
        ):
            yield Stated(key, sizes["node"], "published: as --level node states it")
        elif fact is not None:
            yield Stated(key, fact.value, f"{fact.origin}: {fact.where}{fact.note}")


def _memory(series: Sequence[Series]) -> Iterator[Stated]:
    triads = only_of(series, "triad") or only_of(series, "memory")
    threads = max((item.processes or 0 for item in triads), default=0)
    whole = [item for item in triads if (item.processes or 0) == threads or item.processes is None]
    if curve := curve_of([item for item in whole if threads != 1]):
        point = curve.points[0]
        text = quantity(point.value, "B/s", point.spread if point.repeats > 1 else 0.0)
        counted = f" of {threads} threads" if threads else ""
        yield Stated("nodes.memory_bandwidth", text, f"measured: {curve.source}{counted}")
    single = [item for item in triads if item.processes == 1]
    single += only_of(series, "triad-core")
    if curve := curve_of(single):
        text = quantity(curve.points[0].value, "B/s")
        yield Stated("nodes.core_bandwidth", text, f"measured: {curve.source}, one process")


def _rate(series: Sequence[Series], cores: int | None) -> Iterator[Stated]:
    """Yield the rate of one process; mt-dgemm does not say its threads, so a node's cores count."""
    for benchmark in ("gemm", "hpl", "peak"):
        rates = [
            (item.values[0].value / count, item, count)
            for item in only_of(series, benchmark)
            if item.precision in {"", "fp64"}
            and (count := item.processes or (cores if item.nodes == 1 else None))
        ]
        if rates:
            middle = float(np.median([rate for rate, _, _ in rates]))
            _, item, count = rates[0]
            origin = "measured" if item.processes else "assumed"
            counted = "one process" if count == 1 else f"{count} processes"
            workers = counted if item.processes else f"all {count} cores"
            what = ", its messages included" if benchmark == "hpl" else ""
            source = f"{origin}: {item.tool}, {item.where}, of {workers}{what}"
            yield Stated("processor.rate", quantity(middle, "FLOP/s"), source)
            return


def _storage(series: Sequence[Series]) -> Iterator[Stated]:
    writes = only_of(series, "write")
    if curve := curve_of(writes):
        best = max(curve.points, key=lambda point: point.value)
        source = f"measured: {curve.source}; all disks together, as one"
        yield Stated("storage.bandwidth", quantity(best.value, "B/s"), source)
        yield Stated("storage.disks", 1, "assumed: the storage as one disk")
