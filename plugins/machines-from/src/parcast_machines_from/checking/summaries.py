"""A check as a table, and in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from parcast_machines_from.checking.intervals import Compared
from parcast_machines_from.checking.predicting import Checked
from parcast_machines_from.simultaneous import LEVEL


def table(checked: Checked) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of what was measured and predicted."""
    from parcast_machines_from.estimating.numbers import quantity, size_text

    head = ["benchmark", "p", "size", "measured", "predicted", "error", "95 % interval"]
    head += [f"all at once, {LEVEL:.0%}".replace("%", " %"), "source"]
    rows = []
    for item in checked.compared:
        unit = item.quantity

        def interval(low: float | None, high: float | None, inside: bool | None) -> str:
            if low is None or high is None:
                return ""
            ends = f"{quantity(low, unit)} .. {quantity(high, unit)}"  # noqa: B023  # used at once
            return ends if inside else f"{ends} (outside)"

        rows.append([
            f"{item.benchmark} {item.within}".strip(), str(item.processes), size_text(item.size),
            quantity(item.measured, unit), quantity(item.predicted, unit),
            f"{100 * item.error:+z.1f} %", interval(item.low, item.high, item.inside),
            interval(item.all_low, item.all_high, item.inside_with_all), item.where,
        ])  # fmt: skip
    if not any(item.all_low for item in checked.compared):
        head.pop(-2)
        for row in rows:
            row.pop(-2)
    return head, rows


def outside_by_chance(count: int) -> int:
    """Return how many of so many 95 % intervals leave out their value by chance.

    It is the least number that no more do with a probability of 95 %, where each is for itself
    (binomial).
    """
    probability = likely = 0.95**count
    most = 0
    while probability < 0.95:
        likely *= (count - most) / (most + 1) * 0.05 / 0.95
        most += 1
        probability += likely
    return most


def summaries(checked: Checked) -> Iterator[str]:
    """Yield a sentence for each benchmark, and one for all that have intervals.

    That of a benchmark has its median error, its worst, and how many are inside.
    """
    groups: dict[tuple[str, int, str], list[Compared]] = {}
    for item in checked.compared:
        groups.setdefault((item.benchmark, item.processes, item.within), []).append(item)
    for (benchmark, processes, within), items in groups.items():
        errors = [abs(item.error) for item in items]
        worst = max(items, key=lambda item: abs(math.log(item.predicted / item.measured)))
        text = f"{f'{benchmark} {within}'.strip()}, {_counted(processes)}: "
        if len(items) == 1:
            text += f"1 value, error {100 * worst.error:+z.1f} %"
        else:
            text += (
                f"{len(items)} values, median error {100 * float(np.median(errors)):.1f} %, "
                f"worst {100 * worst.error:+.0f} % at {worst.size:.0f} bytes"
            )
        inside = [item.inside for item in items if item.inside is not None]
        yield f"{text}; {sum(inside)} of {len(inside)} inside their interval" if inside else text
    yield from _verdict(checked)


def _counted(processes: int) -> str:
    return "1 process" if processes == 1 else f"{processes} processes"


def _verdict(checked: Checked) -> Iterator[str]:
    """Yield how many single intervals hold, and whether those that hold together do."""
    from parcast_machines_from.estimating.numbers import size_text

    uncertain = [item for item in checked.compared if item.inside is not None]
    if not uncertain:
        return
    count = len(uncertain)
    yield (
        f"one by one: {sum(bool(item.inside) for item in uncertain)} of {count} are inside their "
        f"95 % interval; by chance {0.05 * count:.0f} would be outside, and up to "
        f"{outside_by_chance(count)} are no sign of an error"
    )
    together = [item for item in uncertain if item.all_low and item.all_high]
    outside = [item for item in together if not item.inside_with_all]
    names = ", ".join(
        f"{f'{item.benchmark} {item.within}'.strip()} {size_text(item.size)}" for item in outside
    )
    intervals = f"the wider intervals that hold for all at once in {LEVEL:.0%} of such checks"
    intervals = intervals.replace("%", " %")
    if outside:
        yield f"all at once: {names} {'are' if len(outside) > 1 else 'is'} outside {intervals}"
    elif together:
        yield f"all at once: all {len(together)} are inside {intervals}"
