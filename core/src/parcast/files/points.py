"""The points of a folder of measured data: each row once, every number in base units."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, UnitError, did_you_mean
from parcast.files.series import read_csv
from parcast.files.tables import read_text
from parcast.model.dataset import Measured, Point
from parcast.quantities.units import unit_factor

BOTTLENECKS = ("processor", "network", "storage", "synchronization")

#: Columns with a meaning; all others are facts, whose units are stated.
_NEEDED = ("series", "size", "value")
_OPTIONAL = ("work", "low", "high", "bottleneck")

#: The unit of a column that holds no numbers.
TEXT = "text"


def factor_of(unit: Any, where: str) -> float:
    """Return how many base units a unit has, or say at what place it is none."""
    if unit == "1":
        return 1.0
    try:
        factor: float = unit_factor(str(unit))[1]
    except UnitError as error:
        raise FileError(f"{where}: {error} Text is {TEXT!r}, a plain number '1'.") from None
    return factor


def seconds_in(unit: str, where: str) -> tuple[float, bool]:
    """Return the seconds of one unit and whether it is a rate, such as ``samples/s``."""
    of, slash, per = unit.partition("/")
    try:
        dimension, factor = unit_factor(per if slash else of)
    except UnitError as error:
        raise FileError(f"{where}: unit: {error}") from None
    if dimension != "s":
        raise FileError(
            f"{where}: unit = {unit!r} must be a time, such as 's', or a rate of things, such as "
            "'samples/s'"
        )
    return factor, bool(slash)


def read_points(path: Path, columns: Mapping[str, str], unit: str) -> list[Measured]:
    """Return what was measured at each point, in seconds, each point once."""
    rows = list(read_csv(read_text(path), str(path)))
    if not rows:
        raise FileError(f"{path}: there are no points in it")
    heads = [str(name) for name in rows[0][1]]
    for name in _NEEDED:
        if name not in heads:
            raise FileError(f"{path}: there is no column {name!r}, only {', '.join(heads)}")
    facts = [name for name in heads if name not in {*_NEEDED, *_OPTIONAL}]
    for name in facts:
        if name not in columns:
            raise FileError(
                f"{path}: column {name!r} has no unit; state it in [columns] of dataset.toml, "
                f"{TEXT!r} where it is text, '1' where it has none"
            )
    for name in columns:
        if name not in facts:
            hint = did_you_mean(str(name), facts)
            raise FileError(f"{path}: there is no column {name!r}, which [columns] names.{hint}")
    scale = seconds_in(unit, str(path))
    seen: dict[Any, str] = {}
    points = []
    for place, row in rows:
        measured = _measured(place, row, columns, scale)
        point = measured.point
        key = (point.series, point.size, point.work, tuple(map(str, point.facts.values())))
        if key in seen:
            raise FileError(
                f"{place}: {point.series} at size {point.size:g} stands in {seen[key]} too; give "
                "one value for each point, such as the median of its runs, or a column that "
                "tells them apart"
            )
        seen[key] = place
        points.append(measured)
    return points


def _measured(
    place: str, row: Mapping[str, Any], units: Mapping[str, str], scale: tuple[float, bool]
) -> Measured:
    facts = {
        name: row[name] if unit == TEXT else _number(place, name, row[name], empty=True)
        for name, unit in units.items()
    }
    for name, unit in units.items():
        if unit not in (TEXT, "1") and facts[name] is not None:
            facts[name] *= factor_of(unit, place)
    if not row["series"]:
        raise FileError(f"{place}: series is empty; name the curve that the point belongs to")
    work = _number(place, "work", row.get("work", "1"))
    point = Point(
        series=row["series"],
        size=_positive(place, "size", row["size"]),
        work=_positive(place, "work", work),
        facts=facts,
        place=place,
    )
    spread = [
        _seconds(place, name, row[name], scale) if row.get(name) else None
        for name in ("low", "high")
    ]
    low, high = spread[::-1] if scale[1] else spread
    bottleneck = row.get("bottleneck", "")
    if bottleneck and bottleneck not in BOTTLENECKS:
        raise FileError(
            f"{place}: bottleneck = {bottleneck!r} must be {', '.join(BOTTLENECKS)} or empty"
        )
    seconds = _seconds(place, "value", row["value"], scale)
    if (low is not None and low > seconds) or (high is not None and high < seconds):
        raise FileError(f"{place}: value = {row['value']} must lie between low and high")
    return Measured(point=point, seconds=seconds, low=low, high=high, bottleneck=bottleneck)


def _seconds(place: str, name: str, text: str, scale: tuple[float, bool]) -> float:
    value = _positive(place, name, text)
    factor, rate = scale
    return factor / value if rate else factor * value


def _positive(place: str, name: str, text: Any) -> float:
    value: float | None = _number(place, name, text)
    if value is None or not value > 0:
        raise FileError(f"{place}: {name} = {text!r} must be above 0")
    return value


def _number(place: str, name: str, text: Any, *, empty: bool = False) -> Any:
    """Return a number, whole ones as such; None where it is empty and may be."""
    if empty and text == "":
        return None
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise FileError(f"{place}: {name} = {text!r} must be a number")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
