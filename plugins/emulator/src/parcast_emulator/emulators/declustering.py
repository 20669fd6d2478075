"""Which disk or node gets which cell of a plane: the replaceable part of every layout."""

from __future__ import annotations

import heapq
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parcast import InvalidPointError

#: How cells are dealt to disks.
Declustering: TypeAlias = Literal["round-robin", "hilbert", "minimax"]

#: How cells are dealt to nodes, which may look at the load of each.
Partitioning: TypeAlias = Literal["round-robin", "hilbert", "minimax", "load-balanced"]

_Numbers = NDArray[np.int64]

#: Minimax looks at every pair of cells.
MOST_MINIMAX = 4096


def deal(how: Partitioning, rows: int, columns: int, parts: int, loads: Any = None) -> _Numbers:
    """Return for each cell of a plane, row by row, which of ``parts`` gets it.

    Parameters
    ----------
    how
        ``round-robin`` along the rows; ``hilbert`` round-robin along a Hilbert curve; ``minimax``
        by trees that grow in turn by the cell that is least alike their own (Moon, Acharya &
        Saltz 1996); ``load-balanced``: the heaviest cell first, to the part with least.
    loads
        Of each cell, where these matter; equal if not given.

    Raises
    ------
    InvalidPointError
        If minimax is asked for more cells than it can look at pair by pair.
    """
    cells = rows * columns
    if how == "round-robin":
        return np.arange(cells) % parts
    if how == "hilbert":
        parts_of_cells = np.empty(cells, np.int64)
        parts_of_cells[np.argsort(hilbert(rows, columns))] = np.arange(cells) % parts
        return parts_of_cells
    if how == "minimax":
        return _minimax(rows, columns, min(parts, cells))
    return _balanced(np.ones(cells) if loads is None else np.asarray(loads, float), parts)


def hilbert(rows: int, columns: int) -> _Numbers:
    """Return for each cell its position on the Hilbert curve of the smallest square around."""
    y, x = (axis.ravel() for axis in np.indices((rows, columns)))
    position = np.zeros(rows * columns, np.int64)
    side = 1 << max(max(rows, columns) - 1, 0).bit_length()
    while side := side >> 1:
        right, down = (x & side) > 0, (y & side) > 0
        position += side * side * ((3 * right) ^ down)
        flipped = right & ~down
        x, y = (
            np.where(flipped, side - 1 - (x & side - 1), x),
            np.where(flipped, side - 1 - (y & side - 1), y),
        )
        x, y = np.where(down, x, y), np.where(down, y, x)
    return position


def _minimax(rows: int, columns: int, parts: int) -> _Numbers:
    """Return cells by growing trees; two cells are alike that one range often has both of."""
    cells = rows * columns
    if cells > MOST_MINIMAX:
        raise InvalidPointError(
            f"minimax declustering compares all pairs of cells, and there are {cells}; take "
            f"hilbert, or at most {MOST_MINIMAX} cells"
        )
    y, x = (axis.ravel() for axis in np.indices((rows, columns)))
    tree_of = np.full(cells, -1)
    likeness = np.zeros((parts, cells))  # how alike a cell is to the most alike one of a tree
    seeds = np.linspace(0, cells - 1, parts).astype(np.int64)
    for turn in range(cells):
        tree = turn % parts
        free = np.where(tree_of < 0, likeness[tree], np.inf)
        cell = int(seeds[tree]) if turn < parts else int(np.argmin(free))
        tree_of[cell] = tree
        similarity = (1 - np.abs(y - y[cell]) / rows) * (1 - np.abs(x - x[cell]) / columns)
        np.maximum(likeness[tree], similarity, out=likeness[tree])
    return tree_of


def _balanced(loads: NDArray[np.float64], parts: int) -> _Numbers:
    part_of = np.empty(len(loads), np.int64)
    least = [(0.0, part) for part in range(parts)]
    for cell in np.argsort(-loads, kind="stable").tolist():
        load, part = least[0]
        part_of[cell] = part
        heapq.heapreplace(least, (load + float(loads[cell]), part))
    return part_of
