"""The bandwidth of a node's memory, and of one core of it, from the triad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parcast_machines_from.estimating.curves import curve_of
from parcast_machines_from.estimating.numbers import Stated, quantity
from parcast_machines_from.records import Series, only_of

#: Processes that each draw so much of what one alone does share no node.
_ALONE = 0.9


def memory_numbers(series: Sequence[Series], cores: int | None) -> Iterator[Stated]:
    """Yield the bandwidth of a node's memory and of one core, as far as outputs tell them.

    Parameters
    ----------
    series
        All that was read.
    cores
        Of a node; None where nothing says it.
    """
    triads = only_of(series, "triad") or only_of(series, "memory")
    threads = max((item.processes or 0 for item in triads), default=0)
    whole = [item for item in triads if (item.processes or 0) == threads or item.processes is None]
    if curve := curve_of([item for item in whole if threads != 1]):
        point = curve.points[0]
        text = quantity(point.value, "B/s", point.spread if point.repeats > 1 else 0.0)
        counted = f" of {threads} threads" if threads else ""
        yield Stated("nodes.memory_bandwidth", text, f"measured: {curve.source}{counted}")
    else:
        yield from _of_full_nodes(series, cores)
    single = [item for item in triads if item.processes == 1]
    single += only_of(series, "triad-core")
    if curve := curve_of(single):
        text = quantity(curve.points[0].value, "B/s")
        yield Stated("nodes.core_bandwidth", text, f"measured: {curve.source}, one process")


def _of_full_nodes(series: Sequence[Series], cores: int | None) -> Iterator[Stated]:
    """Yield the bandwidth of a node, of triads of all processes at once on nodes that they fill."""
    full = [item for item in only_of(series, "triad-all") if is_of_full_nodes(item, series, cores)]
    if full and cores:
        item = max(full, key=_each)
        source = f"measured: {item.tool}, {item.where}, {cores} processes a node"
        yield Stated("nodes.memory_bandwidth", quantity(_each(item) * cores, "B/s"), source)


def is_of_full_nodes(item: Series, series: Sequence[Series], cores: int | None) -> bool:
    """Tell whether a benchmark's processes fill nodes of so many cores, one on each core.

    Processes of several nodes that each draw as much memory as one alone had a node each.
    """
    if not cores or not item.processes or item.processes % cores:
        return False
    same = [series_item for series_item in series if series_item.path == item.path]
    together, alone = only_of(same, "triad-all"), only_of(same, "triad-core")
    if item.processes == cores or not together or not alone:
        return True
    return _each(together[0]) < _ALONE * alone[0].values[0].value


def _each(item: Series) -> float:
    return item.values[0].value / (item.processes or 1)
