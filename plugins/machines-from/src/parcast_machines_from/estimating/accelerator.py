"""The part ``accelerator``: rates by precision, memory, and links within a node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parcast_machines_from.estimating.numbers import Stated, quantity
from parcast_machines_from.records import Fact, Reading, Series

#: Facts that stand in a machine's file as they are, with their units.
_FACTS = {"name": "", "per_node": "", "memory": "B"}


def accelerator_numbers(reading: Reading) -> tuple[tuple[Stated, ...], tuple[str, ...]]:
    """Return what is known of a node's accelerators, and what is not and says it.

    A machine's file needs memory, its bandwidth and a rate together: where one of them is not
    known, all are left out.
    """
    device = [item for item in reading.series if item.memory == "device"]
    facts = {fact.key: fact for fact in reversed(reading.facts)}
    numbers = [*_stated(facts), *_bandwidth(device), *_rates(device), *_links(device, facts)]
    if not numbers:
        return (), ()
    keys = {number.key for number in numbers}
    wanted = {
        "accelerator.rates": "mixbench, or ERT with its precision",
        "accelerator.memory": "mixbench's head names it",
        "accelerator.memory_bandwidth": "BabelStream or mixbench on an accelerator",
    }
    missing = tuple(f"{key}: {how}" for key, how in wanted.items() if key not in keys)
    return (() if missing else tuple(numbers)), missing


def _stated(facts: dict[str, Fact]) -> Iterator[Stated]:
    for name, unit in _FACTS.items():
        if fact := facts.get(f"accelerator.{name}"):
            value = quantity(float(fact.value), unit) if unit else fact.value
            yield Stated(fact.key, value, f"{fact.origin}: {fact.where}{fact.note}")


def _bandwidth(device: Sequence[Series]) -> Iterator[Stated]:
    """Yield the most that any benchmark of the memory reached."""
    rates = [item for item in device if item.benchmark in {"triad", "memory"}]
    if rates:
        best = max(rates, key=_rate)
        source = f"measured: {best.tool}, {best.where}, the most of {len(rates)}"
        yield Stated("accelerator.memory_bandwidth", quantity(_rate(best), "B/s"), source)


def _rates(device: Sequence[Series]) -> Iterator[Stated]:
    best: dict[str, Series] = {}
    for item in device:
        if item.benchmark == "peak" and item.precision:
            best[item.precision] = max(item, best.get(item.precision, item), key=_rate)
    if best:
        value = {name: quantity(_rate(item), "FLOP/s") for name, item in best.items()}
        texts = [f"{name} {item.tool}, {item.where}" for name, item in best.items()]
        source = f"measured: the most of operations outside of matrix units: {'; '.join(texts)}"
        yield Stated("accelerator.rates", value, source)


def _rate(series: Series) -> float:
    return series.values[0].value


def _links(device: Sequence[Series], facts: dict[str, Fact]) -> Iterator[Stated]:
    """Yield what one accelerator sends to others of its node: by a sum of all, or as published.

    A ring moves 2 (n - 1) / n of the bytes over each link.
    """
    sums = [
        (2 * (item.processes - 1) / item.processes * value.size / value.value, item, value.line)
        for item in device
        if item.benchmark == "allreduce" and item.nodes == 1 and (item.processes or 0) > 1
        for value in item.values
        if item.processes
    ]
    if sums:
        rate, item, line = max(sums, key=lambda entry: entry[0])
        source = (
            f"measured: {item.tool}, {item.where.rpartition(':')[0]}:{line}, the bus bandwidth of "
            f"{item.processes} accelerators"
        )
    elif fact := facts.get("accelerator.links.bandwidth"):
        rate, source = float(fact.value), f"{fact.origin}: {fact.where}{fact.note}"
    else:
        return
    yield Stated("accelerator.links", {"bandwidth": quantity(rate, "B/s")}, source)
