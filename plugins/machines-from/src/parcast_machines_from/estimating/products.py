"""What matrix products reach of an accelerator's rate and memory, by their operations and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Accelerator
from parcast_machines_from.estimating.numbers import Stated
from parcast_machines_from.records import Series

Floats = NDArray[np.float64]

#: Pieces of a curve to a factor of ten in size.
_PIECES = 2

#: A piece has so many products at least, and a share that differs so much from the one before.
_FEWEST, _LEAST_STEP = 3, 0.03

#: Products that move fewer bytes may find them in a cache, and say nothing of the memory.
_UNCACHED = 2.0**28

#: A relative spread below this is not stated.
_LEAST_SPREAD = 0.002

#: From the median absolute deviation to the standard deviation of a normal law.
_DEVIATION = 1.4826


@attrs.frozen(eq=False)
class Products:
    """Products in one precision, of all files."""

    precision: str
    flops: Floats
    moved: Floats
    seconds: Floats
    source: str

    def bound_by_memory(self, rate: float, bandwidth: float) -> NDArray[np.bool_]:
        """Tell of each whether its bytes take longer than its operations at peaks."""
        return self.moved / bandwidth > self.flops / rate


def products_of(device: Sequence[Series]) -> tuple[Products, ...]:
    """Return all products by precision, the one with most of them first."""
    groups: dict[str, list[Series]] = {}
    for item in device:
        if item.benchmark == "products":
            groups.setdefault(item.precision, []).append(item)
    products = [_together(name, series) for name, series in groups.items()]
    return tuple(sorted(products, key=lambda item: -len(item.seconds)))


def _together(precision: str, series: Sequence[Series]) -> Products:
    values = [value for item in series for value in item.values]
    table = np.array([(value.size, value.moved, value.value) for value in values])
    places = ", ".join(dict.fromkeys(item.where for item in series))
    source = f"{series[0].tool}, {places}, {len(values):,} products"
    return Products(precision, table[:, 0], table[:, 1], table[:, 2], source)


def fastest(products: Sequence[Products]) -> dict[str, float]:
    """Return the most operations a second that products reach, by precision."""
    return {item.precision: float((item.flops / item.seconds).max()) for item in products}


def carried(products: Sequence[Products]) -> float | None:
    """Return the most bytes a second that large products move, if there are any."""
    rates = [
        float((item.moved / item.seconds)[item.moved >= _UNCACHED].max())
        for item in products
        if (item.moved >= _UNCACHED).any()
    ]
    return max(rates, default=None)


def efficiency(
    products: Sequence[Products],
    rates: Mapping[str, float],
    bandwidth: float,
    known: Accelerator | None = None,
) -> Stated | None:
    """Return the shares of rates and memory that products reach, by size; None without products.

    Of products whose operations take longer at the peaks, the share is of the rate, by operations;
    of the others it is of the bandwidth, by bytes. The shares of the precision with most products
    hold for those of which there are none.

    Parameters
    ----------
    products
        By precision.
    rates, bandwidth
        The peaks that shares are of.
    known
        Whose shares of other kernels stay as they are.
    """
    steps: list[dict[str, Any]] = []
    moving: list[tuple[Floats, Floats]] = []
    sources = []
    for item in products:
        if item.precision not in rates:
            continue
        rate = rates[item.precision]
        slow = item.bound_by_memory(rate, bandwidth)
        moving.append((item.moved[slow], (item.moved / bandwidth / item.seconds)[slow]))
        of = {"precision": item.precision} if steps else {}
        reached = (item.flops / rate / item.seconds)[~slow]
        steps += ({"kind": "gemm", **of, **step} for step in _steps(item.flops[~slow], reached))
        sources.append(f"{item.precision} {item.source}")
    if not steps:
        return None
    sizes, shares = (np.concatenate(column) for column in zip(*moving, strict=True))
    steps += ({"kind": "memory", **step} for step in _steps(sizes, shares))
    source = f"measured: the median of products of a size, +- as they differ: {'; '.join(sources)}"
    fitted = {step["kind"] for step in steps}
    others = [item for item in (known.efficiency if known else ()) if item.kind not in fitted]
    steps += (attrs.asdict(item, filter=lambda _, value: value is not None) for item in others)
    source += "; other kernels as they were" if others else ""
    return Stated("accelerator.efficiency", steps, source)


def _steps(sizes: Floats, shares: Floats) -> Iterator[dict[str, Any]]:
    """Yield the median share by size, and how much products of a size differ; the first from 0."""
    pieces = np.floor(np.log10(sizes) * _PIECES)
    before, waiting = 0.0, np.zeros(0)
    for piece in np.unique(pieces):
        waiting = np.concatenate([waiting, shares[pieces == piece]])
        if len(waiting) < _FEWEST:
            continue
        share = float(np.median(waiting))
        if abs(share - before) > _LEAST_STEP * share:
            least = float(f"{10 ** (piece / _PIECES):.3g}") if before else 0.0
            yield {**({"least": least} if least else {}), "share": _share(share, waiting)}
            before = share
        waiting = np.zeros(0)


def _share(share: float, shares: Floats) -> str | float:
    """Return a share of 1 at most with the spread of those that it is the median of."""
    spread = _DEVIATION * float(np.median(np.abs(shares - share))) / share
    text = f"{min(share, 1.0):.3g}"
    return f"{text} +- {spread * share:.2g}" if spread >= _LEAST_SPREAD else float(text)
