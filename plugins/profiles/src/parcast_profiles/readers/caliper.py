"""Caliper's own format (.cali): records of nodes of a tree, and of contexts that refer to them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from parcast.errors import FileError, shorten
from parcast_profiles.profile import Profile, joined
from parcast_profiles.tree import exclusive, overlap_note, regions_of

#: Nodes that name attributes, and that state their properties.
_NAME, _PROPERTIES = 8, 10

#: Nodes of types and the like, which no file holds.
_LAST_BUILT_IN = 11

#: The property of attributes whose values stand inside one another.
_NESTED = 256

_CELL = re.compile(r"((?:[^,=\\]|\\.)*)=((?:[^,\\]|\\.)*)(?:,|\Z)")
_PARTS = re.compile(r"(?<!\\)=")
_ESCAPED = re.compile(r"\\(.)")

#: Columns of time, the best first: how they are named, whether they are summed over ranks, and
#: whether they hold what regions call.
_TIMES = (
    (r"sum#sum#time\.duration(\.ns)?", True, False),
    (r"sum#inclusive#sum#time\.duration(\.ns)?", True, True),
    (r"avg#inclusive#sum#time\.duration(\.ns)?", False, True),
    (r"sum#time\.duration(\.ns)?", True, False),
    (r"inclusive#sum#time\.duration(\.ns)?", True, True),
    (r"inclusive#scale#sum#cupti\.host\.duration", True, True),
    (r"scale#sum#cupti\.host\.duration", True, False),
    (r"time\.duration(\.ns)?", True, False),
)
_SIZES = ("mpi.world.size", "jobsize")
_MOST_RANKS = 1 << 24


@attrs.frozen
class _Node:
    attribute: int
    text: str
    parent: int | None


@attrs.frozen(kw_only=True)
class Table:
    """A profile's records: where each was and what was measured, by names."""

    paths: Sequence[tuple[str, ...]]
    values: Sequence[Mapping[str, str]]
    globals: Mapping[str, str]
    units: Mapping[str, str]


def read(path: Path) -> Profile:
    """Return the profile in a .cali file.

    Raises
    ------
    FileError
        If a record is damaged, or no time was measured.
    """
    with path.open(encoding="utf-8", errors="replace") as lines:
        table = _table(lines, str(path))
    return profile_of(table, str(path))


def profile_of(table: Table, where: str) -> Profile:
    """Return the profile that a table of Caliper holds."""
    column, summed, inclusive = _column(table, where)
    factor, notes = _unit(table, column, where)
    ranks = _ranks(table, notes)
    rows: list[tuple[tuple[str, ...], float]] = []
    by_rank: dict[str, float] = defaultdict(float)
    for path, values in zip(table.paths, table.values, strict=True):
        if column not in values:
            continue
        seconds = _number(values[column], where) * factor * (1 if summed else ranks)
        rows.append((path or ("outside all regions",), seconds))
        if "mpi.rank" in values and not inclusive:
            by_rank[values["mpi.rank"]] += seconds
    regions, below = regions_of(exclusive(rows) if inclusive else rows)
    longest = joined(regions, where)
    notes += overlap_note(below, sum(region.seconds for region in longest))
    of_gpus = sorted({name for values in table.values for name in values if "activity" in name
                      and name.endswith("duration")})  # fmt: skip
    if of_gpus:
        notes.append(
            f"times of GPUs ({', '.join(of_gpus)}) run beside the host's, and are left out"
        )
    version = table.globals.get("cali.caliper.version", "")
    about = {"measured as": column}
    if "cali.channel" in table.globals:
        about["channel"] = table.globals["cali.channel"]
    return Profile(
        where=where,
        tool=f"Caliper {version}".strip(),
        processes=ranks,
        regions=longest,
        by_rank=tuple(by_rank.values()),
        notes=tuple(notes),
        about=about,
    )


def _column(table: Table, where: str) -> tuple[str, bool, bool]:
    """Return the column of times, and whether it is of all ranks, and of all below."""
    names = {name for values in table.values for name in values}
    for pattern, summed, inclusive in _TIMES:
        for name in sorted(names):
            if re.fullmatch(pattern, name):
                return name, summed, inclusive
    raise FileError(
        f"{where}: no time of regions is in it, only {shorten(', '.join(sorted(names)) or 'none')};"
        " profile with CALI_CONFIG=runtime-profile or spot"
    )


def _unit(table: Table, column: str, where: str) -> tuple[float, list[str]]:
    """Return seconds of a unit of times, and what was assumed."""
    if column.endswith(".ns"):
        return 1e-9, []
    unit = table.units.get(column, "").lower()
    factors = {"sec": 1.0, "s": 1.0, "seconds": 1.0, "usec": 1e-6, "us": 1e-6, "msec": 1e-3,
             "ms": 1e-3, "nsec": 1e-9, "ns": 1e-9}  # fmt: skip
    if unit in factors:
        return factors[unit], []
    if unit:
        raise FileError(f"{where}: {column} is in {shorten(unit)!r}, which is no unit of time")
    whole = all(
        _number(values[column], where) % 1 == 0 for values in table.values if column in values
    )
    word, factor = ("microseconds", 1e-6) if whole else ("seconds", 1.0)
    note = (
        f"the file states no unit of {column}: taken as {word}, since Caliper counts whole "
        "microseconds where it does not convert them"
    )
    return factor, [note]


def _ranks(table: Table, notes: list[str]) -> int:
    """Return the number of processes: stated, or those that are told apart."""
    for name in _SIZES:
        text = table.globals.get(name, "")
        if text.isdigit() and 1 <= int(text) <= _MOST_RANKS:
            return int(text)
    ranks = {values["mpi.rank"] for values in table.values if "mpi.rank" in values}
    if ranks:
        return len(ranks)
    counts = [
        float(values[name])
        for values in table.values
        for name in values
        if name.startswith("avg.count#") and values[name].replace(".", "").isdigit()
    ]
    if counts and 1 <= max(counts) <= _MOST_RANKS:
        return int(max(counts))
    notes.append("the file states no number of processes: taken as one")
    return 1


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FileError(f"{where}: {shorten(text)!r} is no number") from None


def _table(lines: Iterable[str], where: str) -> Table:
    nodes: dict[int, _Node] = {}
    contexts: list[dict[str, list[str]]] = []
    of_run: list[dict[str, list[str]]] = []
    for number, line in enumerate(lines, 1):
        if not line.startswith("__rec="):
            if line.strip() and not line.startswith("#"):
                raise FileError(f"{where}:{number}: {shorten(line.strip())!r} is no record of "
                                "Caliper")  # fmt: skip
            continue
        cells = _cells(line.rstrip("\r\n"))
        try:
            kind = cells["__rec"][0]
            if kind == "node":
                nodes[int(cells["id"][0])] = _Node(
                    int(cells["attr"][0]), "=".join(cells["data"]),
                    int(cells["parent"][0]) if "parent" in cells else None,
                )  # fmt: skip
            elif kind == "ctx":
                contexts.append(cells)
            elif kind == "globals":
                of_run.append(cells)
        except (KeyError, ValueError, IndexError):
            text = shorten(line.strip())
            raise FileError(f"{where}:{number}: {text!r} is no record of Caliper") from None
    return _resolved(nodes, contexts, of_run, where)


def _cells(line: str) -> dict[str, list[str]]:
    """Return the cells of a record, and the parts of each."""
    if "\\" not in line:
        cells = (cell.partition("=") for cell in line.split(","))
        return {name: text.split("=") for name, _, text in cells}
    return {
        match[1]: [_ESCAPED.sub(r"\1", part) for part in _PARTS.split(match[2])]
        for match in _CELL.finditer(line)
    }


class _Names:
    """What attributes are called, and whether their values are regions."""

    def __init__(self, nodes: Mapping[int, _Node], where: str) -> None:
        self.nodes, self.where = nodes, where
        self.name: dict[int, str] = {}
        self.nested: set[int] = set()
        self.unit: dict[str, str] = {}
        for number, node in nodes.items():
            if node.attribute == _NAME:
                self.name[number] = node.text
                properties = [
                    above.text for above in self.above(number) if above.attribute == _PROPERTIES
                ]
                if any(text.isdigit() and int(text) & _NESTED for text in properties):
                    self.nested.add(number)
        for number, name in self.name.items():
            for above in self.above(number):
                if self.name.get(above.attribute) == "attribute.unit":
                    self.unit[name] = above.text

    def above(self, number: int | None) -> Iterator[_Node]:
        """Yield a node and those above it."""
        seen = 0
        while number is not None:
            node = self.nodes.get(number)
            seen += 1
            if node is None and number <= _LAST_BUILT_IN:
                return
            if node is None or seen > len(self.nodes):
                raise FileError(f"{self.where}: a record refers to node {number}, which is none")
            yield node
            number = node.parent


def _resolved(
    nodes: Mapping[int, _Node], contexts: list[Any], of_run: list[Any], where: str
) -> Table:
    names = _Names(nodes, where)
    paths, values = [], []
    try:
        for cells in contexts:
            path, by_name = _context(cells, names)
            paths.append(path)
            values.append(by_name)
        about: dict[str, str] = {}
        for cells in of_run:
            about |= _context(cells, names)[1]
    except (ValueError, KeyError):
        raise FileError(f"{where}: a record refers to no node or attribute") from None
    return Table(paths=paths, values=values, globals=about, units=names.unit)


def _context(
    cells: Mapping[str, list[str]], names: _Names
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the path of regions that a record stands in, and its values by name."""
    path: list[str] = []
    by_name: dict[str, str] = {}
    for reference in cells.get("ref", ()):
        inner = []
        for node in names.above(int(reference)):
            if node.attribute in names.nested:
                inner.append(node.text)
            else:
                by_name.setdefault(names.name.get(node.attribute, ""), node.text)
        path += inner[::-1]
    attributes = [names.name[int(number)] for number in cells.get("attr", ())]
    by_name |= dict(zip(attributes, cells.get("data", ()), strict=True))
    return tuple(path), by_name
