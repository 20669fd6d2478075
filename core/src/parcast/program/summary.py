"""What a program does at one size, counted by rank and by line: for people to look at."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.source.operations import COLLECTIVES, SENDS
from parcast.program.unroll.blocks import Unrolled


@attrs.frozen
class Tally:
    """What each rank does; arrays have one entry a rank."""

    operations: NDArray[np.float64]
    flops: NDArray[np.float64]
    seconds: NDArray[np.float64]  #: of elapse()
    messages: NDArray[np.float64]  #: sent, collectives not counted
    sent: NDArray[np.float64]  #: bytes in these messages
    collectives: NDArray[np.float64]
    shared: NDArray[np.float64]  #: bytes that the rank contributes to collectives
    accessed: NDArray[np.float64]  #: bytes read and written


@attrs.frozen
class SiteTally:
    """What one operation of the text does."""

    site: int
    ranks: NDArray[np.int64]  #: those that reach it
    times: tuple[int, int]  #: least and most that one of them does
    amount: tuple[float, float] | None  #: least and most in one of them, all times together


def tally(unrolled: Unrolled) -> Tally:
    """Return what every rank does, collectives not expanded."""
    totals = Tally(*(np.zeros(unrolled.size) for _ in attrs.fields(Tally)))
    for block in unrolled.blocks:
        at = slice(None) if block.ranks is None else block.ranks
        amount = _amount(block.arguments)
        totals.operations[at] += 1
        if block.op == "compute":
            totals.flops[at] += amount
        elif block.op == "elapse":
            totals.seconds[at] += amount
        elif block.op in SENDS:
            totals.messages[at] += 1
            totals.sent[at] += amount
        elif block.op in COLLECTIVES:
            totals.collectives[at] += 1
            totals.shared[at] += amount
        elif block.op in {"read", "write"}:
            totals.accessed[at] += amount
    return totals


def tally_sites(unrolled: Unrolled) -> list[SiteTally]:
    """Return what every operation does that is reached at all, in the order of the text."""
    times = np.zeros((len(unrolled.sites), unrolled.size), dtype=np.int64)
    amounts = np.zeros(times.shape)
    counted = set()
    for block in unrolled.blocks:
        at = slice(None) if block.ranks is None else block.ranks
        times[block.site, at] += 1
        if block.arguments.keys() & _AMOUNTS:
            amounts[block.site, at] += _amount(block.arguments)
            counted.add(block.site)
    tallies = []
    for site in np.flatnonzero(times.any(axis=1)).tolist():
        ranks = np.flatnonzero(times[site])
        counts, amount = times[site, ranks], amounts[site, ranks]
        ends = (float(amount.min()), float(amount.max())) if site in counted else None
        tallies.append(SiteTally(site, ranks, (int(counts.min()), int(counts.max())), ends))
    return tallies


_AMOUNTS = frozenset({"flops", "seconds", "bytes"})


def _amount(arguments: Any) -> Any:
    """Return the amount of an operation: what it computes, waits, or moves."""
    for name in ("flops", "seconds", "bytes"):
        if name in arguments:
            return arguments[name]
    return 0
