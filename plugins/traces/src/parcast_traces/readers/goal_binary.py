"""GOAL schedules as ``txt2bin`` writes them, which is what LogGOPSim and ATLAHS simulate.

Format: LogGOPSim, ``src/LogGOPSim/Parser.hpp``, and LogGOPSim2, ``src/simulator/Parser.hpp``: a
magic number, how many ranks, where each begins and ends; of a rank the steps in records of one
size, then the steps that depend on each. LogGOPSim2 has longer records, of two lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path
from typing import Any

import numpy as np

from parcast.errors import FileError
from parcast_traces.readers.portals import Operation
from parcast_traces.readers.schedules import ANY, CALC, KINDS, RECV, SEND, Graph

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
    """A schedule in binary, read rank by rank: its file is mapped, and let go of by and by."""

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
            graph, operations = self._rank(layout, f"{self.path}: rank {rank}", span)
            if operations:
                self.operations[rank] = operations
            if (operations and not self.whole) or not self.take(size, rank, graph):
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

    def _rank(
        self, layout: np.dtype[Any], where: str, span: tuple[int, int]
    ) -> tuple[Graph, dict[int, Operation]]:
        """Return the steps of a rank, and which of them are operations of Portals."""
        records, at = self._parts(layout, span[0])
        columns = {name: records[name].astype(np.int64) for name, kind in _STEP}
        kind, peer, tag = columns["kind"], columns["peer"], columns["tag"]
        self._check(where, layout, kind, peer)
        peer[peer == _NONE], tag[tag == _NONE] = ANY, ANY
        computes = kind == _CALC
        peer[computes] = ANY
        if (beyond := np.flatnonzero(columns["size"] < 0)).size:
            raise FileError(f"{where}, step {beyond[0]}: its size is beyond 2**63")
        operations = dict[int, Operation]()
        numbers = np.choose(np.clip(kind, 0, 4), [CALC, SEND, RECV, CALC, CALC]).astype(np.int8)
        for number in np.flatnonzero(kind > _CALC).tolist():
            operation = _operation(records[number], f"{where}, step {number}", int(peer[number]),
                                   int(tag[number]))  # fmt: skip
            operations[number], step = operation, operation.step()
            numbers[number] = KINDS.index(step.kind)
            for name in ("size", "peer", "tag", "cpu", "nic"):
                columns[name][number] = getattr(step, name)
        edges = self._records(np.dtype("<u4"), at, (span[1] - at) // 4).astype(np.int64)
        later, earlier, ended = _requirements(columns, edges, where)
        plain = {name: columns[name] for name in ("size", "peer", "tag", "cpu", "nic")}
        graph = Graph(kind=numbers, later=later, earlier=earlier, ended=ended, **plain)
        return graph, operations

    def _check(self, where: str, layout: np.dtype[Any], kind: Any, peer: Any) -> None:
        """Refuse operations that there are not, and peers."""
        last = max(_VERBS) if "options" in (layout.names or ()) else _CALC
        wrong = (kind < 1) | (kind > last)
        unnamed = (peer == _NONE) & np.isin(kind, (1, 4, 8))
        beyond = (kind != _CALC) & (((peer != _NONE) & (peer >= self.size)) | unnamed)
        bad = np.flatnonzero(wrong | beyond)
        if len(bad) and beyond[bad[0]]:
            raise FileError(f"{where}, step {bad[0]}: there is no rank {peer[bad[0]]}, only 0 to "
                            f"{self.size - 1}")  # fmt: skip
        if len(bad):
            raise FileError(f"{where}, step {bad[0]}: there is no operation {kind[bad[0]]}")


def _requirements(columns: Mapping[str, Any], edges: Any, where: str) -> tuple[Any, Any, Any]:
    """Return what requires what; ``edges`` are the steps that depend on each, in order."""
    steps = len(columns["kind"])
    if len(edges) and int(edges.max()) >= steps:
        raise FileError(f"{where}: step {edges.max()} depends on another, and there are "
                        f"{steps:,} steps")  # fmt: skip
    later, earlier = [], []
    for name in ("later", "sooner"):
        count, first = columns[name], columns[f"{name}_at"]
        beyond = np.flatnonzero((count > 0) & (first + count > len(edges)))
        if len(beyond):
            raise FileError(f"{where}, step {beyond[0]}: it names steps that depend on it beyond "
                            f"the {len(edges):,} that there are")  # fmt: skip
        begins = np.cumsum(count) - count
        places = np.repeat(first - begins, count) + np.arange(count.sum())
        later.append(edges[places])
        earlier.append(np.repeat(np.arange(steps), count))
    ended = np.repeat([True, False], [len(part) for part in later])
    dependent, required = np.concatenate(later), np.concatenate(earlier)
    namings = np.bincount(dependent, minlength=steps)
    if (wrong := np.flatnonzero(namings != columns["needs"])).size:
        number = int(wrong[0])
        raise FileError(f"{where}, step {number}: it says that it depends on "
                        f"{columns['needs'][number]}, and is named by "
                        f"{namings[number]}")  # fmt: skip
    return dependent, required, ended


def _operation(record: Any, where: str, peer: int, tag: int) -> Operation:
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
