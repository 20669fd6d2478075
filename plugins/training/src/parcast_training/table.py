"""A long-form table of operations, a row each: Parquet or CSV.

Columns as StragglerAnalysis (arXiv 2505.05713) has them: ``dp_rank``, ``stage``, ``rank``,
``step``, ``optype``, ``start_ts`` and ``duration`` in seconds, ``seq_id`` (the order among those of
a type), ``mc`` (model chunk) and ``gmc`` (its number over all stages).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError, UnsupportedError, did_you_mean, shorten
from parcast_traces.trace.columns import Floats, Ints

#: A larger text is another thing given by mistake.
MOST_BYTES = 512 << 20

_WHOLE = ("dp_rank", "stage", "rank", "step", "seq_id", "mc", "gmc")
_TIMES = ("start_ts", "duration")

#: An operation of every step: its type, its order among these, and its stage.
Name = tuple[str, int, int]


@attrs.frozen(eq=False, kw_only=True)
class Operations:
    """The operations of a job; tables are [operation, step, data-parallel rank], in seconds."""

    where: str
    names: tuple[Name, ...]
    numbers: Mapping[Name, int]
    start: Floats = attrs.field(repr=False)
    duration: Floats = attrs.field(repr=False)
    chunk: Ints = attrs.field(repr=False)  #: of each operation in the first step
    position: Ints = attrs.field(repr=False)  #: of its chunk over all stages
    ranks: Ints = attrs.field(repr=False)  #: [stage, data-parallel rank]
    steps: Ints
    begin: Floats = attrs.field(repr=False)  #: when each step began, since the first did

    @property
    def end(self) -> Floats:
        """When operations ended."""
        return self.start + self.duration

    @property
    def stages(self) -> int:
        """How many stages the pipeline has."""
        return len(self.ranks)

    def of(self, stage: int, *types: str) -> list[int]:
        """Return the operations of a stage of some types, in the order of the first step."""
        operations = [
            number for number, (optype, _, where) in enumerate(self.names)
            if where == stage and optype in types
        ]  # fmt: skip
        start = self.start[:, 0, 0]
        return sorted(operations, key=lambda n: (start[n], self.names[n][1], self.names[n][0]))


def read(path: Path) -> Operations:
    """Return the operations in a table.

    Raises
    ------
    FileError
        If the file cannot be read, a column is missing, or steps differ in their operations.
    """
    columns = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    for name in (*_WHOLE, *_TIMES, "optype"):
        if name not in columns:
            raise FileError(f"{path}: there is no column {name}.{did_you_mean(name, columns)}")
    whole = {name: _numbers(columns[name], name, path).astype(np.int64) for name in _WHOLE}
    times = {name: _numbers(columns[name], name, path) for name in _TIMES}
    if not len(times["start_ts"]):
        raise FileError(f"{path} has no operations")
    wrong = np.flatnonzero(times["duration"] < 0)
    if len(wrong):
        raise FileError(f"{path}: row {int(wrong[0])} has a duration below 0")
    return _operations(path, columns["optype"], whole, times)


def _parquet(path: Path) -> Mapping[str, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UnsupportedError(
            f"{path}: Parquet needs a package: pip install 'parcast-training[table]'"
        ) from None
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} cannot be read as Parquet: {shorten(error)}") from None
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _csv(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FileError(
                f"{path} has {path.stat().st_size >> 20:,} MiB; a table in CSV has up to "
                f"{MOST_BYTES >> 20}. Give one this long in Parquet"
            )
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file, strict=True)
            columns: dict[str, list[str]] = {name: [] for name in rows.fieldnames or ()}
            for number, row in enumerate(rows, 2):
                if None in row or None in row.values():
                    raise FileError(
                        f"{path}:{number}: it has more or fewer columns than the first line"
                    )
                for name, value in row.items():
                    columns[name].append(value)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise FileError(f"{path} is no table in CSV: {shorten(error)}") from None
    return columns


def _numbers(values: Any, name: str, path: Path) -> Floats:
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        numbers = np.full(1, np.nan)
    if not np.isfinite(numbers).all():
        raise FileError(f"{path}: column {name} must have a number in every row")
    return numbers


def _operations(
    path: Path, types: Any, whole: Mapping[str, Ints], times: Mapping[str, Floats]
) -> Operations:
    steps, step = np.unique(whole["step"], return_inverse=True)
    parts = int(whole["dp_rank"].max()) + 1
    numbers: dict[Name, int] = {}
    keys = zip(types, whole["seq_id"].tolist(), whole["stage"].tolist(), strict=True)
    number = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    shape = (len(numbers), len(steps), parts)
    at = (number, step.reshape(-1), whole["dp_rank"])
    seen = np.zeros(shape, np.int64)
    np.add.at(seen, at, 1)
    if len(wrong := np.argwhere(seen != 1)):
        which, when, part = wrong[0].tolist()
        optype, order, stage = tuple(numbers)[which]
        raise FileError(
            f"{path}: step {steps[when]} of data-parallel rank {part} has "
            f"{seen[which, when, part]} operations {optype} {order} of stage {stage}, and each "
            "step must have one"
        )
    tables = {}
    for name, values in times.items():
        tables[name] = np.empty(shape)
        tables[name][at] = values
    ranks = np.zeros((int(whole["stage"].max()) + 1, parts), np.int64)
    ranks[whole["stage"], whole["dp_rank"]] = whole["rank"]
    labels = {}
    for name in ("mc", "gmc"):
        labels[name] = np.empty(shape, np.int64)
        labels[name][at] = whole[name]
    begin = tables["start_ts"].min(axis=(0, 2))
    start = tables["start_ts"] - begin[None, :, None]
    return Operations(
        where=str(path), names=tuple(numbers), numbers=numbers, start=start,
        duration=tables["duration"], chunk=labels["mc"][:, 0, 0], position=labels["gmc"][:, 0, 0],
        ranks=ranks, steps=steps, begin=begin - begin.min(),
    )  # fmt: skip
