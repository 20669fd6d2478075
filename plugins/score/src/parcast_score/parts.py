"""Measured parts of the time: which of them do not shrink as the work of a process does.

A dataset may have ``parts.csv`` with the columns series, size, part and seconds. Nothing of it is
in a question: it says afterwards where the time went that no prediction had.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from parcast.errors import FileError
from parcast.files import read_text
from parcast.model import Dataset, Point
from parcast_score.baselines import largest

_HEADS = ("series", "size", "part", "seconds")


def growing_parts(dataset: Dataset) -> list[str]:
    """Return a sentence on the parts of the time at blind points, where they were measured."""
    factors: dict[str, list[float]] = {}
    excess: dict[str, float] = {}
    points: set[str] = set()
    for name, start, end, ideal in _pairs(dataset):
        for part in start.keys() & end.keys():
            points.add(name)
            factors.setdefault(part, []).append(end[part] / (start[part] * ideal))
            excess[part] = excess.get(part, 0.0) + end[part] - start[part] * ideal
    total = sum(value for value in excess.values() if value > 0)
    if not total:
        return []
    parts = ", ".join(
        f"{part} {100 * max(0.0, excess[part]) / total:.0f} % ({median(factors[part]):.2f} times)"
        for part in sorted(excess, key=lambda part: -excess[part])
    )
    where = f"Measured parts at {len(points)} blind points: of the seconds beyond work over size"
    return [f"{where} (and in the median so many times its share of the work) {parts}."]


def _pairs(
    dataset: Dataset,
) -> Iterator[tuple[str, Mapping[str, float], Mapping[str, float], float]]:
    """Yield the parts at the largest calibrating size, at a blind one, and the ideal factor."""
    measured = _read(dataset)
    for item in dataset.blind:
        series = [other for other in dataset.calibrating if other.point.series == item.point.series]
        if series:
            start, end = largest(series).point, item.point
            ideal = end.work / end.size * start.size / start.work
            yield end.series, _at(measured, start), _at(measured, end), ideal


def _at(
    measured: Mapping[tuple[str, float], Mapping[str, float]], point: Point
) -> Mapping[str, float]:
    return measured.get((point.series, point.size), {})


def _read(dataset: Dataset) -> dict[tuple[str, float], dict[str, float]]:
    path = None if dataset.folder is None else dataset.folder / "parts.csv"
    if path is None or not path.is_file():
        return {}
    from csv import reader

    parts: dict[tuple[str, float], dict[str, float]] = {}
    lines = reader(read_text(path).splitlines())
    if tuple(next(lines)) != _HEADS:
        raise FileError(f"{path}: its columns must be {', '.join(_HEADS)}")
    for cells in lines:
        try:
            series, size, part, seconds = cells
            parts.setdefault((series, float(size)), {})[part] = float(seconds)
        except ValueError:
            raise FileError(f"{path}:{lines.line_num}: {cells} is no {', '.join(_HEADS)}") from None
    return parts
