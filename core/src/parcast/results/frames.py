"""Rows as a data frame and as a grid.

pandas and xarray are imported only when called; the extra ``parcast[frames]`` brings them.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from parcast.errors import ParcastError
from parcast.model.query import Parts
from parcast.quantities.units import is_number
from parcast.results.columns import GRID, Flat, axes, distinct, flat, settings, short
from parcast.results.row import Row, plain

if TYPE_CHECKING:
    import pandas as pd
    import xarray

Array = np.ndarray[Any, Any]
#: What xarray makes a variable of: dimensions, values and attributes.
Variable = tuple[tuple[str, ...], Array, dict[str, str]]

SECONDS = ("time", "lower", "upper", "std", "measured")
RATIOS = ("speedup", "error")
_PARTS = tuple(field.name for field in attrs.fields(Parts))
_TEXTS = ("status", "binding", "message")
_OURS = {*GRID, *SECONDS, *RATIOS, *_PARTS, *_TEXTS, "quantiles", "quantile", "mapping", "seed"}


def to_frame(rows: Sequence[Row], provenance: Mapping[str, Any]) -> pd.DataFrame:
    """Return one row a point with the columns of .csv: numbers, text, and NaN where None is.

    ``frame.attrs["provenance"]`` says where the rows come from.

    Raises
    ------
    ParcastError
        If pandas is not installed.
    """
    pandas = need("pandas")
    names, cells = flat(rows)
    frame = pandas.DataFrame({name: [row.get(name) for row in cells] for name in names})
    numbers = {*SECONDS, *RATIOS, "solve_seconds"}.intersection(names)
    frame = frame.astype(dict.fromkeys(numbers, float))  # also where no row has one
    frame.attrs["provenance"] = plain(provenance)
    return frame


def to_dataset(rows: Sequence[Row], provenance: Mapping[str, Any]) -> xarray.Dataset:
    """Return the grid of workload, machine, solver, p, d and each setting that tells points apart.

    A setting that follows from these, as a formula of p does, is a coordinate over what it
    follows from. Quantiles have one more dimension, ``quantile``. Points that were not asked
    about are NaN or ``""``; ``units`` are in the attributes of each variable, and the provenance
    as JSON in those of the dataset.

    Raises
    ------
    ParcastError
        If xarray is not installed, or two rows fall on one place.
    """
    library = need("xarray")
    names, cells = flat(rows)
    grid = _Grid(cells, {name: _ticks(cells, name) for name in axes(names, cells)})
    levels = {float(name.partition(".")[2]): name for name in names if name[:10] == "quantiles."}
    variables = {name: grid.variable(name) for name in (*SECONDS, *RATIOS, *_PARTS, *_TEXTS)}
    coordinates = grid.coordinates(names)
    if levels:
        stacked = np.stack([grid.variable(levels[level])[1] for level in sorted(levels)], axis=-1)
        variables["quantiles"] = ((*map(_label, grid.ticks), "quantile"), stacked, {"units": "s"})
        coordinates["quantile"] = (("quantile",), np.array(sorted(levels)), {})
    attributes = {"provenance": json.dumps(plain(provenance))}
    dataset: xarray.Dataset = library.Dataset(variables, coordinates, attributes)
    return dataset


def need(name: str) -> Any:
    """Import a library, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ParcastError(
            f"{error.name or name} cannot be imported ({error}); "
            'install it by: pip install "parcast[frames]"'
        ) from None


@attrs.frozen
class _Grid:
    """Rows at their places; ``ticks`` are the values along each dimension, by column."""

    rows: Sequence[Flat]
    ticks: Mapping[str, Sequence[Any]]

    def coordinates(self, names: Sequence[str]) -> dict[str, Variable]:
        """Return the dimensions, and every other setting over what it follows from."""
        over: dict[str, tuple[str, ...]] = {name: (name,) for name in self.ticks}
        over |= {name: self.sources(name) for name in settings(names) if name not in over}
        return {
            _label(name): (tuple(map(_label, dims)), _array(self.cells(name, dims)), {})
            for name, dims in over.items()
        }

    def variable(self, name: str) -> Variable:
        """Return a column over all dimensions: text with ``""``, or numbers with NaN."""
        dims = tuple(map(_label, self.ticks))
        cells = self.cells(f"parts.{name}" if name in _PARTS else name, tuple(self.ticks))
        if name in _TEXTS:
            return dims, _text(cells), {}
        return dims, cells.astype(float), {"units": "1" if name in RATIOS else "s"}

    def cells(self, name: str, over: tuple[str, ...]) -> Array:
        """Return a column over some dimensions, with None where there is none."""
        indices = [{tick: index for index, tick in enumerate(self.ticks[dim])} for dim in over]
        cells = np.full(list(map(len, indices)), None, object)
        for row in self.rows:
            at = (index_of[row.get(dim)] for dim, index_of in zip(over, indices, strict=True))
            cells[tuple(at)] = row.get(name)
        return cells

    def sources(self, name: str) -> tuple[str, ...]:
        """Return the fewest dimensions that a column follows from, p and the workload first."""
        over = tuple(self.ticks)
        for axis in (*sorted({*over} - {"workload", "p"}), "workload", "p"):
            remaining = tuple(dimension for dimension in over if dimension != axis)
            if len(distinct(self.rows, remaining)) == len(distinct(self.rows, [*remaining, name])):
                over = remaining
        return over


def _ticks(rows: Sequence[Flat], name: str) -> list[Any]:
    ticks = list(dict.fromkeys(row.get(name) for row in rows))
    return sorted(ticks) if all(map(is_number, ticks)) else ticks


def _label(name: str) -> str:
    """Return a parameter's own name, unless something else has it."""
    label = short(name)
    return name if label in _OURS else label


def _array(cells: Array) -> Array:
    """Return numbers with NaN for None, or text with ``""`` for None."""
    values = [value for value in cells.flat if value is not None]
    if not values or not all(isinstance(value, int | float) for value in values):
        return _text(cells)
    numbers = np.array([math.nan if value is None else value for value in cells.flat])
    return _text(cells) if numbers.dtype == object else numbers.reshape(cells.shape)


def _text(cells: Array) -> Array:
    texts = np.array(["" if value is None else str(value) for value in cells.flat], object)
    return texts.reshape(cells.shape)
