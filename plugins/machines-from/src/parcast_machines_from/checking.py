"""Benchmarks predicted on a machine, beside what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from parcast.errors import UncertaintyError
from parcast_machines_from.estimating.curves import spread_of
from parcast_machines_from.records import BETWEEN_TWO, FIRST, Reading, Series, Value
from parcast_machines_from.simultaneous import LEVEL, Deviation, critical

if TYPE_CHECKING:
    from parcast import Machine, Registry, Row


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
    "gemm": Program("product", 1),
    "write": Program("write", 1),
    "write-shared": Program("write_shared", 1),
    **{name: Program(name, 2) for name in _COLLECTIVES},
}

#: What one process moves or computes where the output does not say how much.
_TRIAD, _WRITE, _ROWS = 240e6, float(1 << 30), 2048

SOLVER = "emulator.tc"

#: Half of a normal 95 % interval in standard deviations, and the median of its absolute values.
_Z, _MEDIAN = 1.96, 0.6745

#: The spread of a median of samples, over that of a sample and the root of their number.
_OF_MEDIAN = 1.2533

#: Other benchmarks that tell how far one may be off.
_FEWEST = 4


@attrs.frozen
class Compared:
    """One measured value and its prediction, in base units."""

    benchmark: str
    quantity: str
    processes: int
    nodes: int | None
    within: str
    size: float
    measured: float
    predicted: float
    low: float | None
    high: float | None
    where: str
    all_low: float | None = None  #: of the interval that holds together with those of all others
    all_high: float | None = None
    spread: float = 0.0  #: of the median of its repeats, relative to it
    rounds: tuple[float, ...] = ()

    @property
    def error(self) -> float:
        """How far the prediction is above what was measured, as a part of that."""
        return self.predicted / self.measured - 1

    @property
    def inside(self) -> bool | None:
        """Whether what was measured is in the interval; None where there is none."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high

    @property
    def inside_with_all(self) -> bool | None:
        """Whether what was measured is in the interval that holds together with all others."""
        if self.all_low is None or self.all_high is None:
            return None
        return self.all_low <= self.measured <= self.all_high

    @property
    def deviation(self) -> Deviation:
        """What it may be off by, as far as its repeats tell it."""
        assert self.low
        assert self.high
        half = math.log(self.high / self.low) / 2
        share = (_Z * self.spread / half) ** 2 if half else 0.0
        return Deviation(share, self.rounds, self.where.rpartition(":")[0])

    def with_all(self, deviations: float) -> Compared:
        """Return it with an interval of so many standard deviations to either side as well."""
        if not self.low or not self.high:
            return self
        low, high = (
            self.predicted * (end / self.predicted) ** (deviations / _Z)
            for end in (self.low, self.high)
        )
        return attrs.evolve(self, all_low=low, all_high=high)

    @property
    def is_message(self) -> bool:
        """Whether it is a benchmark of messages."""
        return not self.benchmark.startswith(("triad", "gemm", "write"))

    def widened(self, spread: float) -> Compared:
        """Return it with an interval that holds a further spread, relative to the prediction."""
        if self.low is None or self.high is None or not spread:
            return self
        low, high = (
            math.hypot(math.log(end / self.predicted), _Z * spread) for end in (self.low, self.high)
        )
        return attrs.evolve(
            self, low=self.predicted * math.exp(-low), high=self.predicted * math.exp(high)
        )


@attrs.frozen
class Checked:
    """All that was compared, and what could not be."""

    machine: str
    compared: tuple[Compared, ...]
    notes: tuple[str, ...]


def check_machine(
    registry: Registry, machine: Machine, reading: Reading, *, limit: int, samples: int
) -> Checked:
    """Return every benchmark of a reading predicted on a machine.

    Parameters
    ----------
    limit
        Benchmarks of more processes are left out and noted.
    samples
        How often uncertain numbers are drawn for intervals; 0 for none.
    """
    compared: list[Compared] = []
    notes: list[str] = list(reading.notes)
    for series in map(_without_empty_sums, reading.series):
        if not series.values:
            continue
        reason = _unfit(series, machine, limit)
        if reason:
            notes.append(f"{series.benchmark} of {series.where} is not predicted: {reason}")
            continue
        rows, note = _predict(registry, machine, series, samples)
        notes += [f"{series.benchmark} of {series.where}: {note}"] if note else []
        compared += [
            item
            for value, row in zip(series.values, rows, strict=False)
            if (item := _compared(series, value, row)) is not None
        ]
    return Checked(machine.name, _at_once(_with_record(compared)), tuple(dict.fromkeys(notes)))


def _without_empty_sums(series: Series) -> Series:
    """Return a series without collectives of no bytes, from which libraries return at once."""
    if series.benchmark not in _COLLECTIVES or series.benchmark == "barrier":
        return series
    return attrs.evolve(series, values=tuple(value for value in series.values if value.size > 0))


def _with_record(compared: Sequence[Compared]) -> tuple[Compared, ...]:
    """Return all with intervals that hold how far the other benchmarks of messages are off.

    A file's numbers are of some benchmarks, and others are not made of messages as these are; how
    far they usually are off is known where there are several. Each benchmark's own errors do not
    count for it.
    """
    errors: dict[str, list[float]] = {}
    for item in compared:
        if item.is_message:
            errors.setdefault(item.benchmark, []).append(math.log(item.predicted / item.measured))
    middles = {name: float(np.median(np.abs(values))) for name, values in errors.items()}
    spreads = {
        name: math.sqrt(sum(value**2 for value in others) / len(others)) / _MEDIAN
        for name in middles
        if len(others := [value for key, value in middles.items() if key != name]) >= _FEWEST
    }
    return tuple(item.widened(spreads.get(item.benchmark, 0.0)) for item in compared)


def _at_once(compared: Sequence[Compared]) -> tuple[Compared, ...]:
    """Return all with intervals that hold together."""
    uncertain = [item for item in compared if item.low and item.high]
    if not uncertain:
        return tuple(compared)
    deviations = critical([item.deviation for item in uncertain])
    return tuple(item.with_all(deviations) for item in compared)


def _unfit(series: Series, machine: Machine, limit: int) -> str:
    if series.benchmark not in PROGRAMS:
        return "no program does what it does"
    if series.memory == "device":
        return "its buffers are in an accelerator's memory"
    if series.within == FIRST:
        return (
            "which processes were on one node the output does not say; --within node=FILE or "
            "--within network=FILE says it"
        )
    rate = machine.sources.get("processor.rate", "")
    if series.benchmark == "gemm" and rate.startswith("measured: POLY1"):
        return "the file's rate is that of a polynomial; measure it with --kernel dgemm"
    processes = _processes(series, machine)
    if processes is None:
        return "the output does not say how many processes it had"
    if processes > limit:
        return f"it has {processes:,} processes; --limit {processes} takes it"
    nodes = series.nodes
    if series.benchmark in BETWEEN_TWO and not series.within:
        nodes = 2
    each = math.ceil(processes / nodes) if nodes else 1
    if each > machine.nodes.cores and not machine.nodes.oversubscribe:
        return (
            f"it had {each} processes on a node, and {machine.name} has nodes.cores = "
            f"{machine.nodes.cores}; state them, as 'machine from --level node={each}' does"
        )
    return ""


def _processes(series: Series, machine: Machine) -> int | None:
    if series.benchmark == "triad":
        return machine.nodes.cores
    if series.benchmark == "triad-core":
        return 1
    if series.benchmark == "pairs" and series.pairs:
        return 2 * series.pairs
    return series.processes


def _predict(
    registry: Registry, machine: Machine, series: Series, samples: int
) -> tuple[Sequence[Row], str]:
    """Return a row for each value of a series, and what to say of them."""
    processes = _processes(series, machine)
    program = PROGRAMS[series.benchmark]
    settings: dict[str, Any] = {"steps": 1} if _is_mean(series) else {}
    if series.window is not None and "window" in program.name:
        settings["window"] = series.window
    sizes = [_amount(series, value, processes or 1) for value in series.values]
    source = files("parcast_machines_from") / "programs" / f"{program.name}.py"
    with as_file(source) as path:

        def ask(draws: int) -> Sequence[Row]:
            return registry.compare(
                str(path), machine, p=processes, solvers=SOLVER, settings=settings,
                mapping=_mapping(series, machine, processes or 1), over={"n": sizes},
                uncertainty=draws, elasticities=False,
            ).rows  # fmt: skip

        try:
            rows = ask(samples)
        except UncertaintyError:
            rows = ask(0)
    wrong = next((row.message for row in rows if row.time is None), "")
    return rows, wrong


def _amount(series: Series, value: Value, processes: int) -> float:
    """Return what a benchmark's program takes as n for a size as outputs state it."""
    if series.benchmark.startswith("triad"):
        return _TRIAD
    if series.benchmark.startswith("write"):
        return _WRITE
    if series.benchmark == "gemm":
        return _ROWS
    if series.benchmark == "reduce_scatter":  # outputs state the bytes of all parts
        return value.size / processes
    return value.size


def _mapping(series: Series, machine: Machine, processes: int) -> Any:
    """Return where the processes of a benchmark ran, as far as its output says."""
    if series.within or series.benchmark.startswith(("triad", "gemm", "write")):
        return "block"
    if series.benchmark in BETWEEN_TWO:
        return tuple(0 if 2 * rank < processes else 1 for rank in range(processes))
    if series.nodes is None or -(-processes // series.nodes) == machine.nodes.cores:
        return "block"
    return tuple(rank * series.nodes // processes for rank in range(processes))


def _compared(series: Series, value: Value, row: Row) -> Compared | None:
    if row.time is None or row.time <= 0:
        return None
    program = PROGRAMS[series.benchmark]
    ends = row.details.get("uncertainty", {}).get("interval") or (None, None)
    turn = _turn(series, value, row, program)
    predicted = turn(row.time)
    low, high = (None if end is None else turn(end) for end in ends)
    if low is not None and high is not None:
        low, high = min(low, high), max(low, high)
    where = f"{series.where.rpartition(':')[0]}:{value.line}"
    item = Compared(
        series.benchmark, series.quantity, row.p, series.nodes, series.within, value.size,
        value.value, predicted, low, high, where,
        spread=_OF_MEDIAN * spread_of(value) / math.sqrt(value.repeats), rounds=value.rounds,
    )  # fmt: skip
    return item.widened(item.spread)


def _is_mean(series: Series) -> bool:
    """Tell whether times are the mean of all processes, each call after a barrier, as OSU does."""
    timed = series.benchmark in _COLLECTIVES and series.benchmark != "barrier"
    return timed and series.tool.startswith("OSU")


def _turn(series: Series, value: Value, row: Row, program: Program) -> Any:
    """Return what makes a value as measured of the program's time."""
    if _is_mean(series):
        part = row.details["mean_end"] / row.time
        return lambda time: time * part
    if series.quantity == "s":
        return lambda time: time / program.divisor
    if series.benchmark.startswith("triad"):
        return lambda time: row.p * _TRIAD / time
    if series.benchmark.startswith("write"):
        return lambda time: row.p * _WRITE / time
    if series.benchmark == "gemm":
        return lambda time: row.p * 2 * _ROWS**3 / time
    count = (series.window or 64) * (row.p // 2 if program.pairs else 1)
    return lambda time: program.bytes * count * value.size * program.divisor / time


def table(checked: Checked) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of what was measured and predicted."""
    from parcast_machines_from.estimating.numbers import quantity, size_text

    head = ["benchmark", "p", "size", "measured", "predicted", "error", "95 % interval"]
    head += [f"all at once, {LEVEL:.0%}".replace("%", " %"), "source"]
    rows = []
    for item in checked.compared:
        unit = item.quantity

        def interval(low: float | None, high: float | None, inside: bool | None) -> str:
            if low is None or high is None:
                return ""
            ends = f"{quantity(low, unit)} .. {quantity(high, unit)}"  # noqa: B023  # used at once
            return ends if inside else f"{ends} (outside)"

        rows.append([
            f"{item.benchmark} {item.within}".strip(), str(item.processes), size_text(item.size),
            quantity(item.measured, unit), quantity(item.predicted, unit),
            f"{100 * item.error:+z.1f} %", interval(item.low, item.high, item.inside),
            interval(item.all_low, item.all_high, item.inside_with_all), item.where,
        ])  # fmt: skip
    if not any(item.all_low for item in checked.compared):
        head.pop(-2)
        for row in rows:
            row.pop(-2)
    return head, rows


def outside_by_chance(count: int) -> int:
    """Return how many of so many 95 % intervals leave out their value by chance.

    It is the least number that no more do with a probability of 95 %, where each is for itself
    (binomial).
    """
    probability = likely = 0.95**count
    most = 0
    while probability < 0.95:
        likely *= (count - most) / (most + 1) * 0.05 / 0.95
        most += 1
        probability += likely
    return most


def summaries(checked: Checked) -> Iterator[str]:
    """Yield a sentence for each benchmark, and one for all that have intervals.

    That of a benchmark has its median error, its worst, and how many are inside.
    """
    groups: dict[tuple[str, int, str], list[Compared]] = {}
    for item in checked.compared:
        groups.setdefault((item.benchmark, item.processes, item.within), []).append(item)
    for (benchmark, processes, within), items in groups.items():
        errors = [abs(item.error) for item in items]
        worst = max(items, key=lambda item: abs(math.log(item.predicted / item.measured)))
        text = (
            f"{f'{benchmark} {within}'.strip()}, {processes} processes: {len(items)} values, "
            f"median error {100 * float(np.median(errors)):.1f} %, "
            f"worst {100 * worst.error:+.0f} % at {worst.size:.0f} bytes"
        )
        inside = [item.inside for item in items if item.inside is not None]
        yield f"{text}; {sum(inside)} of {len(inside)} inside their interval" if inside else text
    yield from _verdict(checked)


def _verdict(checked: Checked) -> Iterator[str]:
    """Yield how many single intervals hold, and whether those that hold together do."""
    from parcast_machines_from.estimating.numbers import size_text

    uncertain = [item for item in checked.compared if item.inside is not None]
    if not uncertain:
        return
    count = len(uncertain)
    yield (
        f"one by one: {sum(bool(item.inside) for item in uncertain)} of {count} are inside their "
        f"95 % interval; by chance {0.05 * count:.0f} would be outside, and up to "
        f"{outside_by_chance(count)} are no sign of an error"
    )
    together = [item for item in uncertain if item.all_low and item.all_high]
    outside = [item for item in together if not item.inside_with_all]
    names = ", ".join(
        f"{f'{item.benchmark} {item.within}'.strip()} {size_text(item.size)}" for item in outside
    )
    intervals = f"the wider intervals that hold for all at once in {LEVEL:.0%} of such checks"
    intervals = intervals.replace("%", " %")
    if outside:
        yield f"all at once: {names} {'are' if len(outside) > 1 else 'is'} outside {intervals}"
    elif together:
        yield f"all at once: all {len(together)} are inside {intervals}"
