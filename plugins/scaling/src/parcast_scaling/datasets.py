"""Datasets of the scoreboard as measured times: what calibrates is used, what is blind held out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parcast.errors import FileError, did_you_mean, shorten
from parcast.files import read_dataset
from parcast.model import Measured, Point
from parcast_scaling.reading import AMOUNTS, Times
from parcast_scaling.times import Run

if TYPE_CHECKING:
    from parcast import Registry


def read_series(registry: Registry, name: str) -> Times | None:
    """Return the times of one series of a dataset; None where nothing is called so.

    ``clouds#minife`` is a series, or a group of series, of the dataset ``clouds``; a dataset of
    one needs no such word.

    Raises
    ------
    FileError
        If the folder is no dataset, or which of its series is meant is not clear.
    """
    spec, folder = "", None
    for spec in dict.fromkeys((name, name.partition("#")[0])):
        folder = _folder(registry, spec)
        if folder is not None:
            break
    if folder is None:
        return None
    dataset = read_dataset(folder)
    wanted = name[len(spec) + 1 :]
    every = (*dataset.calibrating, *dataset.blind)
    if not wanted:
        wanted = _only([_group(item.point) for item in every], spec)
    calibrating = [item for item in dataset.calibrating if wanted in _names(item.point)]
    blind = [item for item in dataset.blind if wanted in _names(item.point)]
    if not calibrating and not blind:
        names = list(dict.fromkeys(_group(item.point) for item in every))
        raise FileError(
            f"{name}: no series of {dataset.name} is {wanted!r}.{did_you_mean(wanted, names)} "
            f"There are {shorten(', '.join(names), 200)}"
        )
    unit = (calibrating or blind)[0].point.work
    amounts = _amounts(calibrating)
    remarks = list(dataset.remarks)
    if dataset.simulated and not any("simulated" in text.lower() for text in remarks):
        remarks.insert(0, f"times of {dataset.name} are simulated, not measured")
    return Times(
        where=name,
        runs=tuple(_run(item, unit) for item in calibrating),
        counts=dataset.counts,
        amounts=amounts,
        remarks=tuple(remarks),
        varies=len({item.point.work for item in (*calibrating, *blind)}) > 1,
        blind=tuple(_run(item, unit) for item in blind),
    )


def _folder(registry: Registry, name: str) -> Path | None:
    installed = registry.measurements
    if name in installed:
        return Path(str(installed[name].path))
    return Path(name) if (Path(name) / "dataset.toml").is_file() else None


def _group(point: Point) -> str:
    """Return the name of the series that are one code on one system."""
    return str(point.facts.get("group") or point.series)


def _names(point: Point) -> set[str]:
    return {point.series, _group(point)}


def _only(groups: Sequence[str], spec: str) -> str:
    names = list(dict.fromkeys(groups))
    if len(names) == 1:
        return names[0]
    raise FileError(
        f"{spec} has {len(names)} series ({shorten(', '.join(names), 200)}); name one, such as "
        f"'{spec}#{names[0]}'"
    )


def _run(item: Measured, unit: float) -> Run:
    return Run(item.point.size, item.seconds, item.point.work / unit, item.point.place)


def _amounts(items: Sequence[Measured]) -> tuple[dict[str, float], ...]:
    """Return the amounts that every point states."""
    names = [name for name in AMOUNTS if all(name in item.point.facts for item in items)]
    if not names:
        return ()
    return tuple({name: float(item.point.facts[name]) for name in names} for item in items)
