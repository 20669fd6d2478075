"""GOAL schedules as ``txt2bin`` writes them, which is what LogGOPSim and ATLAHS simulate.

Format: LogGOPSim, ``src/LogGOPSim/Parser.hpp``, and LogGOPSim2, ``src/simulator/Parser.hpp``: a
magic number, how many ranks, where each begins and ends; of a rank the steps in records of one
size, then the steps that depend on each. LogGOPSim2 has longer records, of two lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path
from typing import Any

import numpy as np

from parcast.errors import FileError
from parcast_traces.readers.portals import Operation
from parcast_traces.readers.schedules import (
    ANY,
    CALC,
    KINDS,
    MOST_STEPS,
    RECV,
    REQUIREMENTS,
    SEND,
    STEPS,
    Graph,
)
from parcast_traces.trace.limits import current_limit
from parcast_traces.trace.roomy import PART, Roomy, roomy_columns

#: What a file begins with: 4223, as 64 bits.
MAGIC = b"\x7f\x10\0\0\0\0\0\0"

_MOST_RANKS = 1 << 24
_HEAD = np.dtype([("magic", "<u8"), ("ranks", "<u4"), ("cpus", "u1"), ("nics", "u1")])
_STEP = [
    ("needs", "<u4"), ("kind", "u1"), ("peer", "<u4"), ("size", "<u8"), ("tag", "<u4"),
    ("cpu", "u1"), ("nic", "u1"), ("later", "<u4"), ("later_at", "<u4"), ("sooner", "<u4"),
    ("sooner_at", "<u4"),
]  # fmt: skip
_PORTALS = [*_STEP, ("options", "u1"), ("trigger", "<u4"), ("threshold", "<u8"), ("counter", "<u4")]
_HANDLED = [*_PORTALS, ("hh", "<u4"), ("ph", "<u4"), ("ch", "<u4"), ("mem", "<u4"),
            ("arguments", "<u8", 4)]  # fmt: skip
#: The records of LogGOPSim and of two versions of LogGOPSim2.
_LAYOUTS = tuple(np.dtype(fields) for fields in (_STEP, _PORTALS, _HANDLED))
_CALC = 3
_VERBS = {4: "put", 5: "get", 6: "append", 7: "test", 8: "tput", 9: "tget", 10: "tappend",
          11: "calcgem5"}  # fmt: skip
_ONCE, _OVERFLOW = 1, 2
_NONE = 0xFFFFFFFF


#: Takes how many ranks there are, a rank and its operations; whether it wants the next.
Take = Callable[[int, int, Graph], bool]


class Binary:
    """A schedule in binary, read rank by rank: its file is mapped, and let go of by and by.

    A rank is read a part at a time into columns, which are in files where they are long.
    """

    def __init__(self, path: Path, take: Take, *, whole: bool = False) -> None:
        self.path, self.take = path, take
        self.whole = whole  #: ranks may depend on each other, so that all of them are wanted
        self.size = 0
        self.operations: dict[int, dict[int, Operation]] = {}  #: of Portals, by rank and step
        with path.open("rb") as file:
            self.data = mmap(file.fileno(), 0, access=ACCESS_READ)

    def notes(self) -> tuple[str, ...]:
        """Return what is to be said of it: nothing."""
        return ()

    def read(self) -> bool:
        """Take all ranks; return whether that could be done without the others.

        Raises
        ------
        FileError
            If it is cut off, or is none of ``txt2bin``.
        """
        (head,) = self._records(_HEAD, 0, 1)
        size = int(head["ranks"])
        if not 0 < size <= _MOST_RANKS:
            raise FileError(f"{self.path}: {size:,} ranks, and a schedule has 1 to {_MOST_RANKS:,}")
        spans = self._spans(size)
        layout = next((kind for kind in _LAYOUTS if self._fits(kind, spans)), None)
        if layout is None:
            raise FileError(f"{self.path}: the lengths of its ranks fit no version of txt2bin; is "
                            "it cut off?")  # fmt: skip
        self.size = size
        for rank, span in enumerate(spans):
            graph = self._rank(layout, rank, span)
            if graph is None or not self.take(size, rank, graph):
                return False
            self.data.madvise(MADV_DONTNEED)
        return True

    def _spans(self, size: int) -> list[tuple[int, int]]:
        """Return where each rank begins and ends: one behind the other."""
        table = self._records(np.dtype("<u8"), _HEAD.itemsize, 2 * size) + np.uint64(8)
        first = _HEAD.itemsize + 16 * size
        if np.any(table[::2] != np.concatenate([[np.uint64(first)], table[1:-1:2]])):
            raise FileError(f"{self.path}: its ranks do not stand one behind the other")
        return [(begin, end) for begin, end in table.reshape(-1, 2).tolist()]

    def _records(self, kind: np.dtype[Any], at: int, count: int) -> Any:
        """Return records, if the file has them."""
        if at + kind.itemsize * count > len(self.data):
            raise FileError(f"{self.path}: it ends at byte {len(self.data):,}, inside what it says "
                            "that it has; is it cut off?")  # fmt: skip
        return np.frombuffer(self.data, kind, count, at)

    def _parts(self, layout: np.dtype[Any], begin: int) -> tuple[Any, int]:
        """Return the records of a rank, and where what depends on them begins."""
        count, roots = self._records(np.dtype("<u4"), begin, 2).tolist()
        at = begin + 8 + 4 * roots
        return self._records(layout, at, count), at + layout.itemsize * count

    def _fits(self, layout: np.dtype[Any], spans: list[tuple[int, int]]) -> bool:
        """Return whether the ranks have the lengths that records of one size make."""
        try:
            for begin, end in spans:
                steps, at = self._parts(layout, begin)
                edges = sum(int(steps[name].sum(dtype=np.int64)) for name in ("later", "sooner"))
                if at + 4 * edges != end or end > len(self.data):
                    return False
                self.data.madvise(MADV_DONTNEED)
        except FileError:
            return False
        return True

    def _rank(self, layout: np.dtype[Any], rank: int, span: tuple[int, int]) -> Graph | None:
        """Return the steps of a rank; None where they are of Portals, and not all are wanted.

        Raises
        ------
        FileError
            If they are none of a schedule's, or there is no room for them.
        UnsupportedError
            If there are more than are wanted.
        """
        where = f"{self.path}: rank {rank}"
        records, at = self._parts(layout, span[0])
        if (steps := len(records)) > MOST_STEPS:
            raise FileError(f"{where} has {steps:,} steps; give ranks of fewer")
        columns = roomy_columns(steps, STEPS)
        operations, messages, limit = dict[int, Operation](), 0, current_limit()
        for low in range(0, steps, PART):
            part = records[low : low + PART]
            self._fill(columns, part, low, where)
            unplain = np.flatnonzero(part["kind"] > _CALC)
            if len(unplain) and not self.whole:
                return None
            for number in unplain.tolist():
                operations[low + number] = _operation(columns, part[number], low + number, where)
            messages += int(np.count_nonzero(columns["kind"][low : low + PART] != CALC))
            if limit is not None:
                limit.check(str(self.path), messages)
        if operations:
            self.operations[rank] = operations
        edges = self._records(np.dtype("<u4"), at, (span[1] - at) // 4)
        return Graph(**columns, **_requirements(records, edges, where))

    def _fill(self, columns: Mapping[str, Any], records: Any, low: int, where: str) -> None:
        """Fill some rows of the columns of a graph; operations of Portals compute as yet."""
        kind, peer, tag = records["kind"], records["peer"].astype(np.int64), records["tag"]
        self._check(where, low, records, peer)
        if (beyond := np.flatnonzero(records["size"] >> 63)).size:
            raise FileError(f"{where}, step {low + beyond[0]}: its size is beyond 2**63")
        rows = slice(low, low + len(records))
        columns["kind"][rows] = np.choose(np.clip(kind, 0, 4), [CALC, SEND, RECV, CALC, CALC])
        columns["peer"][rows] = np.where((peer == _NONE) | (kind == _CALC), ANY, peer)
        columns["tag"][rows] = np.where(tag == _NONE, ANY, tag.astype(np.int64))
        for name in ("size", "cpu", "nic"):
            columns[name][rows] = records[name]

    def _check(self, where: str, low: int, records: Any, peer: Any) -> None:
        """Refuse operations that there are not, and peers."""
        kind = records["kind"]
        last = max(_VERBS) if "options" in records.dtype.names else _CALC
        wrong = (kind < 1) | (kind > last)
        unnamed = (peer == _NONE) & np.isin(kind, (1, 4, 8))
        beyond = (kind != _CALC) & (((peer != _NONE) & (peer >= self.size)) | unnamed)
        bad = np.flatnonzero(wrong | beyond)
        if len(bad) and beyond[bad[0]]:
            raise FileError(f"{where}, step {low + bad[0]}: there is no rank {peer[bad[0]]}, only "
                            f"0 to {self.size - 1}")  # fmt: skip
        if len(bad):
            raise FileError(f"{where}, step {low + bad[0]}: there is no operation {kind[bad[0]]}")


def _requirements(records: Any, edges: Any, where: str) -> dict[str, Any]:
    """Return what requires what; ``edges`` are the steps that depend on each, in order."""
    steps, at = len(records), 0
    columns = roomy_columns(len(edges), REQUIREMENTS)
    namings = Roomy(steps, np.int64).values
    for number, dependent, ended in _dependents(records, edges, where):
        if int(dependent.max()) >= steps:
            raise FileError(f"{where}: step {dependent.max()} depends on another, and there are "
                            f"{steps:,} steps")  # fmt: skip
        rows = slice(at, at := at + len(dependent))
        columns["later"][rows], columns["earlier"][rows] = dependent, number
        columns["ended"][rows] = ended
        np.add.at(namings, dependent, 1)
    for low in range(0, steps, PART):
        needs, named = records["needs"][low : low + PART], namings[low : low + PART]
        if (wrong := np.flatnonzero(named != needs)).size:
            number = int(wrong[0])
            raise FileError(f"{where}, step {low + number}: it says that it depends on "
                            f"{needs[number]}, and is named by {named[number]}")  # fmt: skip
    return columns


def _dependents(records: Any, edges: Any, where: str) -> Iterator[tuple[Any, Any, bool]]:
    """Yield steps, those that depend on each, and whether on its end, some at a time."""
    for name, ended in (("later", True), ("sooner", False)):
        for low in range(0, len(records), PART):
            part = records[low : low + PART]
            count, first = (part[column].astype(np.int64) for column in (name, f"{name}_at"))
            beyond = np.flatnonzero((count > 0) & (first + count > len(edges)))
            if len(beyond):
                raise FileError(f"{where}, step {low + beyond[0]}: it names steps that depend on "
                                f"it beyond the {len(edges):,} that there are")  # fmt: skip
            begins = np.cumsum(count) - count
            for start in range(0, int(count.sum()), PART):
                naming = np.arange(start, min(start + PART, int(count.sum())))
                number = np.searchsorted(begins, naming, side="right") - 1
                yield low + number, edges[first[number] + naming - begins[number]], ended


def _operation(columns: Mapping[str, Any], record: Any, number: int, where: str) -> Operation:
    """Return an operation of Portals, and fill the row of its step."""
    peer, tag = (int(columns[name][number]) for name in ("peer", "tag"))
    operation = _of_portals(record, f"{where}, step {number}", peer, tag)
    step = operation.step()
    for name, column in columns.items():
        column[number] = KINDS.index(step.kind) if name == "kind" else getattr(step, name)
    return operation


def _of_portals(record: Any, where: str, peer: int, tag: int) -> Operation:
    verb, counter = _VERBS[int(record["kind"])], int(record["counter"])
    triggered = verb in ("test", "tput", "tget", "tappend")
    options = int(record["options"])
    handlers = [int(record[name]) for name in ("hh", "ph", "ch") if name in record.dtype.names]
    return Operation(
        verb=verb, where=where, size=0 if verb == "test" else int(record["size"]), peer=peer,
        tag=tag, cpu=int(record["cpu"]), nic=int(record["nic"]),
        counter=None if counter == _NONE else counter,
        trigger=int(record["trigger"]) if triggered else None,
        threshold=int(record["threshold"]) if triggered else 0,
        once=bool(options & _ONCE), overflow=bool(options & _OVERFLOW),
        handled=verb.endswith("append") and any(handler != _NONE for handler in handlers),
    )  # fmt: skip
