"""The formats of results that need libraries: .parquet and .nc."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from parcast.results.columns import Kind, kinds
from parcast.results.frames import RATIOS, SECONDS, need, to_dataset
from parcast.results.packing import Column, packs
from parcast.results.results import Results
from parcast.results.row import plain


def write_parquet(results: Results, path: Path) -> None:
    """Write the columns of the data frame, some thousand rows at a time.

    A column is numbers where it holds numbers alone, else text. Text too is a column with an
    integer of more than 64 bits, such as a large seed: as a float it would be another number.
    The provenance is in the metadata, where pandas finds it as ``frame.attrs``.
    """
    arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
    column_kinds = kinds(results.rows)
    origin = json.dumps({"provenance": plain(results.provenance)})
    fields = [(name, _arrow_type(arrow, name, kind)) for name, kind in column_kinds.items()]
    schema = arrow.schema(fields, metadata={"PANDAS_ATTRS": origin})
    path.write_bytes(b"")  # what cannot be written is told as for any other format
    with parquet.ParquetWriter(path, schema) as writer:
        for pack in packs(results.rows):
            columns = pack.flat()
            arrays = [
                _arrow_array(arrow, field.type, columns.get(field.name), pack.count)
                for field in schema
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))


def _arrow_type(arrow: Any, name: str, kind: Kind) -> Any:
    if name in {*SECONDS, *RATIOS, "solve_seconds"}:
        return arrow.float64()
    if kind.wide:
        return arrow.string()
    if kind.types in ({float}, {int, float}):
        return arrow.float64()
    if kind.types == {int}:
        return arrow.int64()
    return arrow.bool_() if kind.types == {bool} else arrow.string()


def _arrow_array(arrow: Any, kind: Any, column: Column | None, count: int) -> Any:
    if column is None:
        return arrow.nulls(count, kind)
    make = {arrow.string(): str, arrow.float64(): float}.get(kind)
    if "same" in column:
        (value,) = _made(make, [column["same"]])
        return arrow.repeat(arrow.scalar(value, kind), count)
    return arrow.array(_made(make, column["each"]), kind)


def _made(make: type | None, values: list[Any]) -> list[Any]:
    """Return the values in one type, as they are where they have it."""
    if make is None or set(map(type, values)) <= {make, type(None)}:
        return values
    return [None if value is None else make(value) for value in values]


def write_netcdf(results: Results, path: Path) -> None:
    """Write the grid as netCDF4, made in memory: HDF5 does not survive a full disk."""
    need("h5py")
    need("h5netcdf")
    file = io.BytesIO()
    to_dataset(results.rows, results.provenance).to_netcdf(file, engine="h5netcdf")
    path.write_bytes(file.getbuffer())
