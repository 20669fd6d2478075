"""Measured and predicted benchmarks as results, which reports and plots show by size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast_machines_from.checking.intervals import Compared
from parcast_machines_from.checking.predicting import SOLVER, Checked

if TYPE_CHECKING:
    from parcast import Results

#: What a rate is shown for where an output states no size: bytes, or operations.
_AMOUNT = 1e9


def as_results(checked: Checked) -> Results:
    """Return a row for each benchmark and size: its time as predicted, beside the measured one.

    A rate becomes the time of one message, and one without a size that of 1e9 bytes or operations.
    """
    from parcast import Results, Row

    rows = []
    for item in checked.compared:
        predicted, measured = _seconds(item, item.predicted), _seconds(item, item.measured)
        ends = [_seconds(item, end) for end in (item.low, item.high) if end is not None]
        rows.append(
            Row(
                workload=_name(item),
                machine=checked.machine,
                solver=SOLVER,
                p=item.processes,
                d=1,
                params={"bytes": item.size} if item.size else {},
                time=predicted,
                ci=(min(ends), max(ends)) if ends else None,
                measured=measured,
                error=predicted / measured - 1,
            )
        )
    return Results(tuple(rows), {"command": "parcast machine check"})


def _name(item: Compared) -> str:
    name = f"{item.benchmark} {item.within}".strip()
    if item.quantity == "s" or item.size:
        return name
    return f"{name} of 1e9 {'FLOP' if item.quantity == 'FLOP/s' else 'B'}"


def _seconds(item: Compared, value: float) -> float:
    return value if item.quantity == "s" else (item.size or _AMOUNT) / value
