"""Which of a log's counters and accesses are those of the storage, each byte once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import attrs

from parcast_emulator.darshan.log import Log, Record, Segments

#: What stands on storage itself, with the names of its counters of reads and of writes; libraries
#: above, which count the same bytes again, are read where nothing below is there.
_LOWEST = ("POSIX", "STDIO", "DFS")
_ABOVE = (("DAOS",), ("MPI-IO", "MPIIO"))
_CALLS = {
    False: ("READS", "READXS", "INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
    True: ("WRITES", "WRITEXS", "INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
}
_BYTES = {False: "BYTES_READ", True: "BYTES_WRITTEN"}

#: Accesses with offsets, by what they are of.
_TRACED = (("POSIX", _LOWEST), ("MPIIO", ("MPI-IO", "MPIIO")))

_STREAMS = ("<STDIN>", "<STDOUT>", "<STDERR>")


@attrs.frozen
class Amount:
    """What ranks did to a file in one direction, as counters say."""

    file: str
    rank: int  #: -1: all of them
    write: bool
    calls: int
    bytes: int


@attrs.frozen
class Layers:
    """The accesses of a log at storage."""

    records: tuple[Record, ...]  #: those that count
    segments: Segments | None  #: with offsets, where they were traced
    terminal: tuple[Record, ...]  #: of streams, which are no files


def layers(log: Log) -> Layers:
    """Return what of a log is storage's."""
    by_module: dict[str, list[Record]] = defaultdict(list)
    terminal = []
    for record in log.records:
        if record.name in _STREAMS:
            terminal.append(record)
        else:
            by_module[record.module].append(record)
    records = [record for module in _LOWEST for record in by_module[module]]
    for above in _ABOVE:
        if not any(True for record in records if record.module != "STDIO" and _moves(record)):
            records += [record for module in above for record in by_module[module]]
    modules = {record.module for record in records}
    segments = next(
        (log.segments[word] for word, of in _TRACED
         if word in log.segments and (not records or modules & set(of))),
        None,
    )  # fmt: skip
    return Layers(tuple(records), segments, tuple(terminal))


def _moves(record: Record) -> bool:
    return any(record.total(name) for name in _BYTES.values())


def amounts(records: tuple[Record, ...], *, bytes_too: bool = True) -> Iterator[Amount]:
    """Yield what counters say, where there is any; calls that move nothing where asked."""
    for record in records:
        for write in (False, True):
            calls = int(record.total(*_CALLS[write]))
            moved = int(record.total(_BYTES[write]))
            if moved or (calls and not bytes_too):
                yield Amount(record.file, record.rank, write, calls, moved)


def untraced(records: tuple[Record, ...], segments: Segments) -> list[Amount]:
    """Return what counters say beyond what was traced, file by file and rank by rank."""
    traced: dict[tuple[str, bool], dict[int, list[int]]] = defaultdict(dict)
    for rank, file, write, length in zip(
        segments.rank, segments.file, segments.write, segments.length, strict=True
    ):
        sums = traced[file, write].setdefault(rank, [0, 0])
        sums[0], sums[1] = sums[0] + 1, sums[1] + length
    left = []
    for amount in amounts(records):
        by_rank = traced.get((amount.file, amount.write), {})
        ranks = by_rank if amount.rank < 0 else {amount.rank} & by_rank.keys()
        calls = sum(by_rank[rank][0] for rank in ranks)
        moved = sum(by_rank[rank][1] for rank in ranks)
        if amount.bytes > moved:
            left.append(attrs.evolve(
                amount, calls=max(amount.calls - calls, 1), bytes=amount.bytes - moved
            ))  # fmt: skip
    return left


def dealt(amount: Amount, processes: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield rank, offset, size and count of series that have the calls and bytes of an amount.

    Sizes are whole, differ by a byte at most, and follow each other in the file; what all ranks
    did together is dealt to them in blocks.
    """
    calls = max(min(amount.calls, amount.bytes), 1)
    size, longer = divmod(amount.bytes, calls)
    blocks = [(amount.rank, 0, calls)] if amount.rank >= 0 else _blocks(calls, processes)
    for rank, first, last in blocks:
        for low, high, each in ((0, longer, size + 1), (longer, calls, size)):
            begin, end = max(first, low), min(last, high)
            if begin < end:
                yield rank, begin * size + min(begin, longer), each, end - begin


def _blocks(calls: int, processes: int) -> Iterator[tuple[int, int, int]]:
    """Yield the ranks that have calls, with the first of theirs and the one after the last."""
    if calls >= processes:
        for rank in range(processes):
            yield rank, rank * calls // processes, (rank + 1) * calls // processes
    else:
        for call in range(calls):
            yield call * processes // calls, call, call + 1
