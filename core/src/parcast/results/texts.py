"""Texts of rows: cells of tables, sentences on rows without a time, and notes alike as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from parcast.errors import shorten
from parcast.model.query import Parts, Status, is_lower_bound
from parcast.quantities.units import format_seconds
from parcast.results.row import Row

_NUMBER = re.compile(r"(?<![A-Za-z_\d.])\d+(?:\.\d+)?")  # none that is in a name


def spelled(value: Any) -> str:
    """Return a setting as tables show it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def mapping_text(mapping: str | tuple[int, ...]) -> str:
    """Return a mapping as tables show it: its word, or the nodes of the first processes."""
    return mapping if isinstance(mapping, str) else shorten(spelled(mapping), 30)


def ranges(numbers: Sequence[int]) -> str:
    """Return rising numbers as ``0..31,40`` or ``0..62+2``, the first few runs of them."""
    steps = {second - first for first, second in pairwise(numbers)}
    if len(numbers) > 2 and len(steps) == 1 and steps != {1}:
        return f"{numbers[0]}..{numbers[-1]}+{steps.pop()}"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]
    return ",".join(texts if len(texts) <= 4 else [*texts[:3], f"… {numbers[-1]}"])


def time_text(seconds: float | None) -> str:
    """Return a time as tables show it, or nothing."""
    return "" if seconds is None else format_seconds(seconds)


def charged(row: Row) -> Mapping[str, Any]:
    """Return what the run is charged, where its machine states that."""
    charge: Mapping[str, Any] = row.details.get("charge", {})
    return charge


def price_text(row: Row) -> str:
    """Return the price as tables show it, or nothing."""
    price = charged(row).get("price")
    return "" if price is None else f"{price:.4g} {charged(row)['currency']}".strip()


def energy_text(row: Row) -> str:
    """Return the energy as tables show it, or nothing."""
    energy = charged(row).get("energy")
    return "" if energy is None else f"{energy / 3.6e6:.4g} kWh"


#: The part of the time that a solver means by the name of what is busy then. Where nobody asked
#: which number of the machine decides, tables name the part: a processor may wait for its memory.
_PART_OF = {
    "processor": "compute",
    "accelerator": "compute",
    "network": "communication",
    "storage": "io",
}


def bottleneck_text(row: Row) -> str:
    """Return the number of the machine that decides, or the largest part of the time."""
    return _PART_OF.get(row.binding or "", row.binding or "")


def rate_text(row: Row, rate: float | None, digits: str) -> str:
    """Return what a time gives by division: at most that, where the time is a lower bound."""
    if not rate:
        return ""
    return f"{'<= ' if is_lower_bound(row) else ''}{rate:{digits}}"


def percent_text(part: float | None) -> str:
    """Return a part as tables show it, or nothing."""
    return "" if part is None else f"{100 * part:.3g} %"


def error_text(error: float | None) -> str:
    """Return an error as tables show it, with its sign, or nothing."""
    return "" if error is None else f"{100 * error:+z.1f} %"


def interval_text(row: Row) -> str:
    """Return what is proven of the time; or between what a solver, by its ``range``, puts it."""
    if row.lower is None and row.upper is None:
        return " .. ".join(map(time_text, row.details.get("range", ())))
    return f"{time_text(row.lower) or '0'} .. {time_text(row.upper) or '?'}"


def sampled_text(row: Row) -> str:
    """Return where 95 % of the samples of its uncertain numbers put a time, or nothing."""
    interval = row.details.get("uncertainty", {}).get("interval")
    return " .. ".join(map(time_text, interval)) if interval else ""


def widened_text(row: Row) -> str:
    """Return the interval that the record of the solver's errors is in, too."""
    interval = row.details.get("record", {}).get("interval")
    return " .. ".join(map(time_text, interval)) if interval else ""


def cause_text(row: Row) -> str:
    """Return which uncertain number explains most of the variance, and how much of it."""
    causes = row.details.get("uncertainty", {}).get("causes", {})
    return next((f"{name} ({100 * part:.0f} %)" for name, part in causes.items()), "")


def part_text(parts: Parts | None, name: str) -> str:
    """Return how much of the time a part is, or nothing."""
    if parts is None or not parts.total:
        return ""
    return f"{100 * getattr(parts, name) / parts.total:.1f} %"


def reason_text(row: Row) -> str:
    """Return why a row has no time, or nothing."""
    return "" if row.status is Status.OK else f"{row.status.value}: {row.message}"


def unanswered(rows: Sequence[Row]) -> list[str]:
    """Return who has no time, where and why: each reason once."""
    points: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        if row.status is not Status.OK:
            solvers = points.setdefault((row.status.value, row.message), {})
            solvers.setdefault(row.solver, []).append(row)
    sentences = []
    for (status, message), solvers in points.items():
        places: dict[str, list[str]] = {}
        for solver, without in solvers.items():
            places.setdefault(_places(without, rows), []).append(solver)
        sentences += [
            f"{', '.join(names)} {status}{where}: {message}" for where, names in places.items()
        ]
    return sentences


def _places(without: Sequence[Row], rows: Sequence[Row]) -> str:
    """Return where a solver has no answer, in words; nothing where it has none at all."""
    if len(set(map(_point, without))) == len(set(map(_point, rows))):
        return ""
    places = [
        f" {word} {', '.join(dict.fromkeys(getattr(row, axis) for row in without))}"
        for word, axis in (("for", "workload"), ("on", "machine"))
        if {getattr(row, axis) for row in without} != {getattr(row, axis) for row in rows}
    ]
    processes = dict.fromkeys(str(row.p) for row in without)
    if {*processes} != {str(row.p) for row in rows}:
        places.append(f" at p = {', '.join(processes)}")
    return "".join(places)


def _point(row: Row) -> tuple[object, ...]:
    return (row.workload, row.machine, row.p, row.d, row.mapping, row.seed, str(row.params))


def merge_similar(sentences: Iterable[str]) -> dict[str, list[str]]:
    """Return what is to be told, each with the sentences that it stands for.

    Parameters
    ----------
    sentences
        All different.
    """
    groups: dict[str, list[str]] = {}
    for sentence in sentences:
        groups.setdefault(_NUMBER.sub("#", sentence), []).append(sentence)
    merged: dict[str, list[str]] = {}
    for group in groups.values():
        ranged = _ranged(group)
        merged |= (
            {sentence: [sentence] for sentence in group} if ranged is None else {ranged: group}
        )
    return merged


def _ranged(group: Sequence[str]) -> str | None:
    """Return one sentence with a range where sentences differ in one of their numbers."""
    columns = list(zip(*map(_NUMBER.findall, group), strict=True))
    varying = [index for index, column in enumerate(columns) if len(set(column)) > 1]
    if len(varying) != 1:
        return None
    (index,) = varying
    number = list(_NUMBER.finditer(group[0]))[index]
    least, largest = (choose(columns[index], key=float) for choose in (min, max))
    return f"{group[0][: number.start()]}{least} to {largest}{group[0][number.end() :]}"
