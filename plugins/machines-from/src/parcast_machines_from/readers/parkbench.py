"""Tables of Parkbench's kernels: POLY1, COMMS1 (ping-pong), COMMS3 (all at once), as CSV.

A line such as ``# COMMS1`` names the kernel, since other tables have bytes and seconds as well.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from parcast.errors import UnitError
from parcast.quantities import to_base
from parcast_machines_from.records import Lines, Reading, Series, Value

_UNITS = {
    "bytes": "B", "seconds": "s", "round_trip": "s", "bandwidth": "B/s", "p": "1",
    "operations": "FLOP",
}  # fmt: skip

_TOOL = "Parkbench"

#: Heads of a table, and the kernel that it is of.
_KERNELS: Mapping[frozenset[str], str] = {
    frozenset({"operations", "seconds"}): "POLY1",
    frozenset({"bytes", "seconds"}): "COMMS1",
    frozenset({"bytes", "round_trip"}): "COMMS1",
    frozenset({"p", "bandwidth"}): "COMMS3",
    frozenset({"p", "bytes", "seconds"}): "COMMS3",
}


def read(lines: Lines) -> Reading:
    """Return what a kernel measured; nothing where the heads are of none.

    Raises
    ------
    FileError
        Naming the line, if a row has another number of cells than the head, or no number.
    """
    rows = [
        (line, [cell.strip() for cell in cells])
        for line, cells in enumerate(csv.reader(lines.lines), 1)
        if cells and not cells[0].lstrip().startswith("#")
    ]
    head = rows[0][1] if rows else []
    kernel = _KERNELS.get(frozenset(head))
    if kernel is None or len(head) != len(set(head)):
        return Reading()
    if not any(text.lstrip().startswith("#") and kernel in text for text in lines.lines):
        note = f"{lines.path}: no line '# {kernel}' says that this is a table of it; left out"
        return Reading(notes=(note,))
    table = [(line, _row(lines, line, head, cells)) for line, cells in rows[1:]]
    if not table:
        return Reading(notes=(f"{lines.path}: {kernel} has no rows; left out",))
    if kernel == "COMMS1":
        times = sorted((_ping_pong(line, row) for line, row in table), key=lambda v: v.size)
        return Reading((Series("latency", "s", tuple(times), lines.path, _TOOL, processes=2),))
    if kernel == "POLY1":
        rates = sorted(
            (Value(0.0, row["operations"] / row["seconds"], line) for line, row in table),
            key=lambda value: value.value,
        )
        middle = (rates[len(rates) // 2],)
        return Reading((Series("peak", "FLOP/s", middle, lines.path, _TOOL, processes=1),))
    return Reading(
        tuple(
            Series("saturation", "B/s", (_total(line, row),), lines.path, _TOOL, int(row["p"]))
            for line, row in table
            if row["p"] > 1
        )
    )


def _row(lines: Lines, line: int, head: list[str], cells: list[str]) -> dict[str, float]:
    if len(cells) != len(head):
        raise lines.wrong(line, f"{len(cells)} cells stand below {len(head)} heads")
    row = {}
    for name, cell in zip(head, cells, strict=True):
        try:
            row[name] = to_base(cell, _UNITS[name])
        except UnitError as error:
            raise lines.wrong(line, f"{name}: {error}") from None
        if not 0 < row[name] < float("inf") and not (name == "bytes" and row[name] == 0):
            raise lines.wrong(line, f"{name} is {cell}, and must be above 0")
    return row


def _ping_pong(line: int, row: Mapping[str, float]) -> Value:
    time = row["seconds"] if "seconds" in row else row["round_trip"] / 2
    return Value(row["bytes"], time, line)


def _total(line: int, row: Mapping[str, float]) -> Value:
    """Return what all carry together; in an exchange each sends its bytes to all others."""
    if "bandwidth" in row:
        return Value(0.0, row["bandwidth"], line)
    return Value(0.0, row["p"] * (row["p"] - 1) * row["bytes"] / row["seconds"], line)
