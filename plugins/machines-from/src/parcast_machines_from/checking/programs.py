"""Benchmarks as programs: which one does what each does, where its processes ran, what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from parcast_machines_from.records import BETWEEN_TWO, Series, Value

if TYPE_CHECKING:
    from parcast import Machine, Row


@attrs.frozen
class Program:
    """A benchmark as a program, and what its time says."""

    name: str
    divisor: float  #: of its time, for that of one step
    bytes: float = 0.0  #: for each byte of a message: what a rate counts in a step
    pairs: bool = False  #: a rate counts each pair's bytes


_COLLECTIVES = (
    "allreduce", "alltoall", "allgather", "reduce_scatter", "bcast", "reduce", "gather", "scatter",
    "barrier",
)  # fmt: skip

#: By benchmark; 64 messages are in a window unless an output says another number.
PROGRAMS: Mapping[str, Program] = {
    "latency": Program("ping_pong", 2),
    "bandwidth": Program("window", 2, bytes=1),
    "pairs": Program("window", 2, bytes=1, pairs=True),
    "bidirectional": Program("both_ways", 2, bytes=2),
    "sendrecv": Program("shift", 4),
    "exchange": Program("halo", 4),
    "triad": Program("triad", 1),
    "triad-core": Program("triad", 1),
    "triad-all": Program("triad", 1),
    "gemm": Program("product", 1),
    "gemm-core": Program("product", 1),
    "write": Program("write", 1),
    "write-shared": Program("write_shared", 1),
    **{name: Program(name, 2) for name in _COLLECTIVES},
}

#: What one process moves or computes where the output does not say how much.
_TRIAD, _WRITE, _ROWS = 240e6, float(1 << 30), 2048


def without_empty_sums(series: Series) -> Series:
    """Return a series without collectives of no bytes, from which libraries return at once."""
    if series.benchmark not in _COLLECTIVES or series.benchmark == "barrier":
        return series
    return attrs.evolve(series, values=tuple(value for value in series.values if value.size > 0))


def processes_of(series: Series, machine: Machine) -> int | None:
    """Return how many processes a benchmark had; None where nothing says."""
    if series.benchmark == "triad":
        return machine.nodes.cores
    if series.benchmark == "triad-core":
        return 1
    if series.benchmark == "pairs" and series.pairs:
        return 2 * series.pairs
    return series.processes


def amount_of(series: Series, value: Value, processes: int) -> float:
    """Return what a benchmark's program takes as n for a size as outputs state it."""
    if series.benchmark.startswith("triad"):
        return _TRIAD
    if series.benchmark.startswith("write"):
        return _WRITE
    if series.benchmark.startswith("gemm"):
        return _ROWS
    if series.benchmark == "reduce_scatter":  # outputs state the bytes of all parts
        return value.size / processes
    return value.size


def mapping_of(series: Series, machine: Machine, processes: int) -> Any:
    """Return where the processes of a benchmark ran, as far as its output says."""
    if series.benchmark in BETWEEN_TWO and (apart := _nodes_apart(series.within, machine)):
        return tuple(0 if 2 * rank < processes else apart for rank in range(processes))
    if series.within or series.benchmark.startswith(("triad", "gemm", "write")):
        return "block"
    if series.nodes is None or -(-processes // series.nodes) == machine.nodes.cores:
        return "block"
    return tuple(rank * series.nodes // processes for rank in range(processes))


def _nodes_apart(within: str, machine: Machine) -> int:
    """Return how many nodes processes are apart that share this level and none below it.

    0 on one node. Without a level they are beyond all that the machine has, as far as it has nodes.
    """
    cores = machine.nodes.cores
    sizes = {level.name: level.size for level in machine.network.levels}
    if within and sizes.get(within, 0) <= cores:
        return 0
    below = [size for size in sizes.values() if not within or size < sizes[within]]
    apart = max([1, *(size // cores for size in below)])
    return apart if machine.nodes.count is None or apart < machine.nodes.count else 1


def is_mean(series: Series) -> bool:
    """Tell whether times are the mean of all processes, each call after a barrier, as OSU does."""
    timed = series.benchmark in _COLLECTIVES and series.benchmark != "barrier"
    return timed and series.tool.startswith("OSU")


def measured_as(series: Series, value: Value, row: Row, program: Program) -> Any:
    """Return what makes a value as measured of the program's time."""
    if is_mean(series):
        part = row.details["mean_end"] / row.time
        return lambda time: time * part
    if series.quantity == "s":
        return lambda time: time / program.divisor
    if series.benchmark.startswith("triad"):
        return lambda time: row.p * _TRIAD / time
    if series.benchmark.startswith("write"):
        return lambda time: row.p * _WRITE / time
    if series.benchmark.startswith("gemm"):
        return lambda time: row.p * 2 * _ROWS**3 / time
    count = (series.window or 64) * (row.p // 2 if program.pairs else 1)
    return lambda time: program.bytes * count * value.size * program.divisor / time
