"""Folders of measured data, ``dataset.toml`` and ``points.csv``, checked before any use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from parcast.errors import FileError, did_you_mean, shorten
from parcast.files.points import TEXT, factor_of, read_points, seconds_in
from parcast.files.structuring import structure
from parcast.files.tables import read_data
from parcast.model.dataset import Dataset, Measured, Modeling

#: Licences by their SPDX names that let figures be passed on; ``facts`` are published numbers
#: alone, which nobody owns, with their source cited.
LICENCES = (
    "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-4.0",
    "CC0-1.0", "CDLA-Permissive-2.0", "EPL-2.0", "GPL-2.0-only", "GPL-2.0-or-later",
    "GPL-3.0-only", "GPL-3.0-or-later", "ISC", "LGPL-2.1-or-later", "LGPL-3.0-or-later", "MIT",
    "MPL-2.0", "ODC-By-1.0", "PDDL-1.0", "Unlicense", "facts",
)  # fmt: skip


#: Of fewer blind points a column may have the times by chance.
_FEWEST_COPIES = 2

#: Keys that are texts and must not be empty, but for the commit.
_TEXTS = ("name", "summary", "source", "licence", "commit", "method", "unit", "counts")


@attrs.frozen(kw_only=True)
class _Split:
    blind: Any  #: "largest", "none", "all", or a list of sizes
    calibrate: Any = None  #: a list of sizes, beside one of ``blind``


@attrs.frozen(kw_only=True)
class _Modeling:
    workload: str
    machine: str
    p: str = "size"
    d: str = ""
    settings: Any = attrs.field(factory=list)
    fixed: Any = attrs.field(factory=dict)
    fit: str = ""
    solvers: Any = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class _Table:
    name: str
    summary: str
    source: str
    licence: str
    method: str
    unit: str
    counts: str
    split: _Split
    commit: str = ""
    simulated: bool = False
    seen: Any = attrs.field(factory=dict)
    unrecorded: str = ""
    remarks: Any = attrs.field(factory=list)
    columns: Any = attrs.field(factory=dict)
    modeling: _Modeling | None = None


def read_dataset(folder: Path) -> Dataset:
    """Return the dataset that stands in a folder.

    Raises
    ------
    FileError
        If a file is missing or wrong: the file, the key or the line, the value and what belongs
        there. So are refused a missing source or unit, an unknown licence, a point that stands
        twice, and a size that both calibrates and is predicted.
    """
    if not folder.is_dir():
        raise FileError(f"{folder} is no folder; name one with dataset.toml and points.csv")
    where = str(folder / "dataset.toml")
    table = structure(read_data(folder / "dataset.toml"), _Table, where, "")
    _check(table, where)
    points = read_points(folder / "points.csv", table.columns, table.unit)
    calibrating, blind = _divide(points, table.split, where)
    _check_unseen(blind)
    return Dataset(
        **{field: getattr(table, field) for field in (*_TEXTS, "simulated", "unrecorded")},
        split=_spelled(table.split),
        calibrating=calibrating,
        blind=blind,
        units=dict(table.columns),
        modeling=_modeling(table, where),
        seen=dict(table.seen),
        remarks=tuple(table.remarks),
        folder=folder,
    )


def _check(table: _Table, where: str) -> None:
    for key in _TEXTS:
        if not getattr(table, key).strip() and key not in ("commit", "licence"):
            raise FileError(f"{where}: {key} is empty; say it in words")
    if table.licence not in LICENCES:
        hint = did_you_mean(table.licence, LICENCES) or f" Known: {', '.join(LICENCES)}."
        raise FileError(f"{where}: licence = {table.licence!r} is not known.{hint}")
    seconds_in(table.unit, where)
    if not isinstance(table.remarks, list) or not all(isinstance(s, str) for s in table.remarks):
        raise FileError(f"{where}: remarks = {shorten(table.remarks)} must be a list of sentences")
    if not isinstance(table.seen, Mapping) or not all(
        isinstance(s, str) for s in table.seen.values()
    ):
        raise FileError(f"{where}: seen must be a table from a predictor's name to a sentence")
    if not isinstance(table.columns, Mapping):
        raise FileError(f"{where}: columns must be a table from a column's name to its unit")
    for name, unit in table.columns.items():
        if unit != TEXT:
            factor_of(unit, f"{where}: columns.{name}")


def _divide(
    points: Sequence[Measured], split: _Split, where: str
) -> tuple[tuple[Measured, ...], tuple[Measured, ...]]:
    """Return the points that calibrate and those that are predicted, by the rule as stated."""
    if isinstance(split.blind, list):
        sizes = _sizes(points, split, where)
        is_blind = [item.point.size in sizes for item in points]
    elif split.calibrate is not None:
        raise FileError(
            f"{where}: split.calibrate stands beside blind = {split.blind!r}; it belongs to a list"
        )
    elif split.blind == "largest":
        least, most = _ends(points)
        is_blind = [
            item.point.size == most[item.point.series] > least[item.point.series] for item in points
        ]
    elif split.blind in {"none", "all"}:
        is_blind = [split.blind == "all"] * len(points)
    else:
        raise FileError(
            f"{where}: split.blind = {split.blind!r} must be 'largest' (of each series with "
            "several sizes), 'all', 'none' or a list of sizes"
        )
    calibrating = [item for item, out in zip(points, is_blind, strict=True) if not out]
    blind = [item for item, out in zip(points, is_blind, strict=True) if out]
    return tuple(calibrating), tuple(blind)


def _check_unseen(blind: Sequence[Measured]) -> None:
    """Refuse a column that has what was measured at the blind points, since predictors get it."""
    if len(blind) < _FEWEST_COPIES:
        return
    known = [{"work": item.point.work, **item.point.facts} for item in blind]
    for name in known[0]:
        if all(_is_copy(of[name], item.seconds) for of, item in zip(known, blind, strict=True)):
            raise FileError(
                f"{blind[0].point.place}: column {name!r} has what was measured at the blind "
                "points, and predictors get it; leave the column out"
            )


def _is_copy(fact: Any, seconds: float) -> bool:
    """Tell whether a fact is a time, or the rate that it is of."""
    is_number = isinstance(fact, int | float)
    return is_number and (math.isclose(fact, seconds) or math.isclose(fact * seconds, 1.0))


def _ends(points: Iterable[Measured]) -> tuple[dict[str, float], dict[str, float]]:
    least: dict[str, float] = {}
    most: dict[str, float] = {}
    for item in points:
        name, size = item.point.series, item.point.size
        least[name], most[name] = min(size, least.get(name, size)), max(size, most.get(name, size))
    return least, most


def _sizes(points: Iterable[Measured], split: _Split, where: str) -> set[float]:
    if not isinstance(split.calibrate, list):
        raise FileError(f"{where}: split.calibrate must list the sizes that calibrate")
    for key in ("blind", "calibrate"):
        for size in getattr(split, key):
            if isinstance(size, bool) or not isinstance(size, int | float):
                raise FileError(f"{where}: split.{key}: {size!r} must be a size")
    both = sorted({*split.blind} & {*split.calibrate})
    if both:
        raise FileError(
            f"{where}: split: size {both[0]:g} both calibrates and is predicted; keep it in one "
            "of the two lists"
        )
    for item in points:
        if item.point.size not in {*split.blind, *split.calibrate}:
            raise FileError(
                f"{item.point.place}: size {item.point.size:g} is in neither list of split in "
                f"{where}"
            )
    return {float(size) for size in split.blind}


def _spelled(split: _Split) -> str:
    if not isinstance(split.blind, list):
        return str(split.blind)
    sizes = [", ".join(f"{size:g}" for size in part) for part in (split.blind, split.calibrate)]
    return f"sizes {sizes[0]} blind, {sizes[1]} calibrate"


def _modeling(table: _Table, where: str) -> Modeling | None:
    modeling = table.modeling
    if modeling is None:
        return None
    columns = {"size", "work", "series", *table.columns}
    for key, kind, word in (
        ("settings", list, "list"),
        ("solvers", list, "list"),
        ("fixed", Mapping, "table"),
    ):
        if not isinstance(getattr(modeling, key), kind):
            raise FileError(f"{where}: modeling.{key} must be a {word}")
    named = [("p", modeling.p), ("d", modeling.d), *(("settings", s) for s in modeling.settings)]
    for key, column in named:
        if column and column not in columns:
            hint = did_you_mean(str(column), columns)
            raise FileError(f"{where}: modeling.{key}: there is no column {column!r}.{hint}")
    return Modeling(
        workload=modeling.workload,
        machine=modeling.machine,
        p=modeling.p,
        d=modeling.d or None,
        settings=tuple(modeling.settings),
        fixed=dict(modeling.fixed),
        fit=modeling.fit or None,
        solvers=tuple(map(str, modeling.solvers)),
    )
