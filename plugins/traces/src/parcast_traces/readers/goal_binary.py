"""GOAL schedules as ``txt2bin`` writes them, which is what LogGOPSim and ATLAHS simulate.

Format: LogGOPSim, ``src/LogGOPSim/Parser.hpp``, and LogGOPSim2, ``src/simulator/Parser.hpp``: a
magic number, how many ranks, where each begins and ends; of a rank the steps in records of one
size, then the steps that depend on each. LogGOPSim2 has longer records, of two lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parcast.errors import FileError
from parcast_traces.readers.portals import Operation, add_messages
from parcast_traces.readers.schedules import ANY, Schedule, Step

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
_KINDS = {1: "send", 2: "recv", _CALC: "calc"}
_VERBS = {4: "put", 5: "get", 6: "append", 7: "test", 8: "tput", 9: "tget", 10: "tappend",
          11: "calcgem5"}  # fmt: skip
_ONCE, _OVERFLOW = 1, 2
_NONE = 0xFFFFFFFF


def schedule(path: Path) -> Schedule:
    """Return the schedule in a file.

    Raises
    ------
    FileError
        If it is cut off, or is none of ``txt2bin``.
    UnsupportedError
        If an operation of LogGOPSim2 is none that sends and receives can tell.
    """
    ranks, operations = _Ranks(path, path.read_bytes()).read()
    notes = tuple(add_messages(ranks, operations))
    return Schedule(str(path), tuple(ranks), notes=notes)


class _Ranks:
    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data

    def read(self) -> tuple[list[list[Step]], dict[int, dict[int, Operation]]]:
        """Return the steps of every rank, and the operations of Portals."""
        (head,) = self._records(_HEAD, 0, 1)
        size = int(head["ranks"])
        if not 0 < size <= _MOST_RANKS:
            raise FileError(f"{self.path}: {size:,} ranks, and a schedule has 1 to {_MOST_RANKS:,}")
        spans = self._spans(size)
        layout = next((kind for kind in _LAYOUTS if self._fits(kind, spans)), None)
        if layout is None:
            raise FileError(f"{self.path}: the lengths of its ranks fit no version of txt2bin; is "
                            "it cut off?")  # fmt: skip
        ranks, operations = list[list[Step]](), dict[int, dict[int, Operation]]()
        for rank, (begin, end) in enumerate(spans):
            steps, own = self._rank(layout, f"{self.path}: rank {rank}", (begin, end), size)
            ranks.append(steps)
            if own:
                operations[rank] = own
        return ranks, operations

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
        except FileError:
            return False
        return True

    def _rank(
        self, layout: np.dtype[Any], where: str, span: tuple[int, int], size: int
    ) -> tuple[list[Step], dict[int, Operation]]:
        """Return the steps of a rank, and which of them are operations of Portals."""
        records, at = self._parts(layout, span[0])
        columns = {name: records[name].tolist() for name, _ in _STEP}
        steps, operations = list[Step](), dict[int, Operation]()
        plain = ("kind", "peer", "size", "tag", "cpu", "nic")
        for kind, peer, amount, tag, cpu, nic in zip(*map(columns.get, plain), strict=True):
            source, label = _any(peer), _any(tag)
            number = len(steps)
            if kind != _CALC and not (source < size if source != ANY else kind not in (1, 4, 8)):
                raise FileError(f"{where}, step {number}: there is no rank {peer}, only 0 to "
                                f"{size - 1}")  # fmt: skip
            if kind in _KINDS:
                source = ANY if kind == _CALC else source
                steps.append(Step(_KINDS[kind], amount, source, label, cpu, nic))
            elif kind in _VERBS and "options" in layout.names:  # type: ignore[operator]
                operation = _operation(records[number], f"{where}, step {number}", source, label)
                operations[number] = operation
                steps.append(operation.step())
            else:
                raise FileError(f"{where}, step {number}: there is no operation {kind}")
        edges = self._records(np.dtype("<u4"), at, (span[1] - at) // 4)
        _require(steps, columns, edges, where)
        return steps, operations


def _require(
    steps: Sequence[Step], columns: Mapping[str, list[int]], edges: Any, where: str
) -> None:
    """Let steps require each other; ``edges`` are the steps that depend on each, in order."""
    if len(edges) and int(edges.max()) >= len(steps):
        raise FileError(f"{where}: step {edges.max()} depends on another, and there are "
                        f"{len(steps):,} steps")  # fmt: skip
    later = edges.tolist()
    for count, at, name in (("later", "later_at", "ended"), ("sooner", "sooner_at", "begun")):
        for number, (many, first) in enumerate(zip(columns[count], columns[at], strict=True)):
            for follower in later[first : first + many] if many else ():
                getattr(steps[follower], name).append(number)
    for number, (step, needs) in enumerate(zip(steps, columns["needs"], strict=True)):
        if len(step.ended) + len(step.begun) != needs:
            raise FileError(f"{where}, step {number}: it says that it depends on {needs}, and is "
                            f"named by {len(step.ended) + len(step.begun)}")  # fmt: skip


def _any(value: int) -> int:
    return ANY if value == _NONE else value


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
