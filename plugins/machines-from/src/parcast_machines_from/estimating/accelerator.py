"""The part ``accelerator``: rates by precision and shares of them, memory, links within a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parcast.model import Accelerator
from parcast_machines_from.estimating.numbers import Stated, quantity
from parcast_machines_from.estimating.products import (
    Products,
    carried,
    efficiency,
    fastest,
    products_of,
)
from parcast_machines_from.records import Fact, Reading, Series

#: Facts that stand in a machine's file as they are, with their units.
_FACTS = {"name": "", "per_node": "", "memory": "B"}


def accelerator_numbers(
    reading: Reading, known: Accelerator | None = None
) -> tuple[tuple[Stated, ...], tuple[str, ...]]:
    """Return what is known of a node's accelerators, and what is not and says it.

    A machine's file needs memory, its bandwidth and a rate together: where one of them is not
    known, all are left out. Those of ``known`` hold where no output says them; matrix products
    say peaks only where nothing else does.
    """
    device = [item for item in reading.series if item.memory == "device"]
    facts = {fact.key: fact for fact in reversed(reading.facts)}
    products = products_of(device)
    moving = _bandwidth(device, products if known is None else ())
    peaks = _peaks(device, products, known)
    numbers = [*_stated(facts), *(stated for _, stated in moving), *_rates(peaks)]
    numbers += _links(device, facts)
    rates = {**(known.rates if known else {}), **{name: rate for name, (rate, _) in peaks.items()}}
    bandwidth = next((rate for rate, _ in moving), known.memory_bandwidth if known else None)
    if bandwidth and (shares := efficiency(products, rates, bandwidth, known)):
        numbers.append(shares)
    if not numbers:
        return (), ()
    keys = {number.key for number in numbers}
    wanted = {
        "accelerator.rates": "mixbench, ERT with its precision, or matrix products",
        "accelerator.memory": "mixbench's head names it",
        "accelerator.memory_bandwidth": "BabelStream or mixbench on an accelerator",
    }
    missing = tuple(
        f"{key}: {how}, or --on a machine with the same accelerators"
        for key, how in wanted.items()
        if key not in keys and known is None
    )
    few: tuple[str, ...] = ()
    if products and "accelerator.efficiency" not in keys:
        few = ("accelerator.efficiency: three products or more of one size, bound by the rate",)
    return (() if missing else tuple(numbers)), (*missing, *few)


def _stated(facts: dict[str, Fact]) -> Iterator[Stated]:
    for name, unit in _FACTS.items():
        if fact := facts.get(f"accelerator.{name}"):
            value = quantity(float(fact.value), unit) if unit else fact.value
            yield Stated(fact.key, value, f"{fact.origin}: {fact.where}{fact.note}")


def _bandwidth(
    device: Sequence[Series], products: Sequence[Products]
) -> tuple[tuple[float, Stated], ...]:
    """Return the most that any benchmark of the memory reached, else that products did."""
    rates = [item for item in device if item.benchmark in {"triad", "memory"}]
    if rates:
        best = max(rates, key=_rate)
        rate, source = _rate(best), f"{best.tool}, {best.where}, the most of {len(rates)}"
    elif (reached := carried(products)) is not None:
        rate, source = reached, f"the most that large products move: {products[0].source}"
    else:
        return ()
    stated = Stated("accelerator.memory_bandwidth", quantity(rate, "B/s"), f"measured: {source}")
    return ((rate, stated),)


def _peaks(
    device: Sequence[Series], products: Sequence[Products], known: Accelerator | None
) -> Mapping[str, tuple[float, str]]:
    """Return the largest rate of each precision with its source."""
    peaks: dict[str, tuple[float, str]] = {}
    for item in device:
        if item.benchmark == "peak" and item.precision:
            text = f"{item.tool}, {item.where}, outside of matrix units"
            entry = _rate(item), text
            peaks[item.precision] = max(entry, peaks.get(item.precision, entry))
    sources = {item.precision: item.source for item in products}
    for name, rate in fastest(products).items():
        if known is None or name not in known.rates:
            entry = rate, f"{sources[name]}, the most of them and no peak"
            peaks[name] = max(entry, peaks.get(name, entry))
    return peaks


def _rates(peaks: Mapping[str, tuple[float, str]]) -> Iterator[Stated]:
    if peaks:
        value = {name: quantity(rate, "FLOP/s") for name, (rate, _) in peaks.items()}
        texts = "; ".join(f"{name} {source}" for name, (_, source) in peaks.items())
        yield Stated("accelerator.rates", value, f"measured: {texts}")


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
