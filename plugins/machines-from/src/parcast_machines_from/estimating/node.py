"""A node's numbers: cores, memory bandwidth, the rate of a process, and the disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from parcast_machines_from.estimating.curves import curve_of
from parcast_machines_from.estimating.memory import is_of_full_nodes, memory_numbers
from parcast_machines_from.estimating.numbers import Stated, quantity
from parcast_machines_from.records import Reading, Series, only_of

#: Facts that stand in a machine's file as they are.
_FACTS = ("nodes.count", "nodes.cores")

#: Whose product runs in all processes at once, but not always on all cores.
_AT_ONCE = "HPC Challenge"


def node_numbers(
    reading: Reading, sizes: Mapping[str, int]
) -> tuple[tuple[Stated, ...], tuple[str, ...]]:
    """Return what is known of a node, and what is not and would be measured how."""
    numbers = [
        *_facts(reading, sizes),
        *memory_numbers(reading.series, sizes.get("node")),
        *_rate(reading.series, sizes.get("node")),
        *_boost(reading.series, sizes.get("node")),
    ]
    numbers += _storage(reading.series)
    keys = {number.key for number in numbers}
    unfilled = _unfilled(reading.series, sizes.get("node"))
    wanted = {
        "nodes.cores": (
            "scontrol show node, lstopo --of xml or --level node=N; without it each process has a "
            "node to itself"
        ),
        "processor.rate": f"a matrix product on all cores, or HPL{unfilled}",
        "nodes.memory_bandwidth": f"STREAM on all cores of a node{unfilled}",
    }
    missing = tuple(f"{key}: {how}" for key, how in wanted.items() if key not in keys)
    return tuple(numbers), missing


def _unfilled(series: Sequence[Series], cores: int | None) -> str:
    """Return why outputs of all processes at once tell nothing of a node; empty without any."""
    for item in series:
        if not item.tool.startswith(_AT_ONCE) or item.benchmark not in {"triad-all", "gemm"}:
            continue
        nodes = f"do not fill nodes of {cores} cores" if cores else "tell it with --level node=N"
        return f"; {item.where}: {item.processes} processes {nodes}"
    return ""


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


def _rate(series: Sequence[Series], cores: int | None) -> Iterator[Stated]:
    """Yield the rate of one process; mt-dgemm does not say its threads, so a node's cores count."""
    for benchmark in ("gemm", "hpl", "peak"):
        rates = [
            (item.values[0].value / count, item, count)
            for item in only_of(series, benchmark)
            if item.precision in {"", "fp64"}
            and _is_busy(item, series, cores)
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


def _is_busy(item: Series, series: Sequence[Series], cores: int | None) -> bool:
    """Tell whether all cores of its nodes computed; of HPC Challenge only the cores tell it."""
    return not item.tool.startswith(_AT_ONCE) or is_of_full_nodes(item, series, cores)


def _boost(series: Sequence[Series], cores: int | None) -> Iterator[Stated]:
    """Yield how much faster one process is on an idle node than on a full one."""
    for single in only_of(series, "gemm-core"):
        for item in only_of(series, "gemm"):
            if item.path != single.path or not is_of_full_nodes(item, series, cores):
                continue
            boost = single.values[0].value * (item.processes or 1) / item.values[0].value
            if boost > 1:
                source = f"measured: {item.tool}, {single.where}, one process alone"
                yield Stated("processor.boost", round(boost, 3), source)
                return


def _storage(series: Sequence[Series]) -> Iterator[Stated]:
    writes = only_of(series, "write")
    if curve := curve_of(writes):
        best = max(curve.points, key=lambda point: point.value)
        source = f"measured: {curve.source}; all disks together, as one"
        yield Stated("storage.bandwidth", quantity(best.value, "B/s"), source)
        yield Stated("storage.disks", 1, "assumed: the storage as one disk")
