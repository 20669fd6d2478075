"""Every benchmark of a reading predicted on a machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

import attrs

from parcast.errors import UncertaintyError
from parcast_machines_from.checking.intervals import Compared, at_once, with_record
from parcast_machines_from.checking.programs import (
    PROGRAMS,
    amount_of,
    is_mean,
    mapping_of,
    measured_as,
    processes_of,
    without_empty_sums,
)
from parcast_machines_from.estimating.curves import spread_of
from parcast_machines_from.naming import called
from parcast_machines_from.records import BETWEEN_TWO, FIRST, Reading, Series, Value, shortened

if TYPE_CHECKING:
    from parcast import Machine, Registry, Row

SOLVER = "emulator.tc"

#: Of many messages at once, which pass no port within a node.
_WINDOWS = BETWEEN_TWO - {"latency"}

#: The spread of a median of samples, over that of a sample and the root of their number.
_OF_MEDIAN = 1.2533


@attrs.frozen
class Checked:
    """All that was compared, and what could not be."""

    machine: str
    compared: tuple[Compared, ...]
    notes: tuple[str, ...]


def check_machine(
    registry: Registry,
    machine: Machine,
    reading: Reading,
    *,
    limit: int,
    samples: int,
    tell: Callable[[str, int, int], object] = lambda _benchmark, _index, _total: None,
) -> Checked:
    """Return every benchmark of a reading predicted on a machine.

    Parameters
    ----------
    limit
        Benchmarks of more processes are left out and noted.
    samples
        How often uncertain numbers are drawn for intervals; 0 for none.
    tell
        Hears which benchmark is predicted, how many are done, and how many there are.
    """
    compared: list[Compared] = []
    notes: list[str] = list(reading.notes)
    unfit: dict[str, list[Series]] = {}
    for index, series in enumerate(map(without_empty_sums, reading.series)):
        if not series.values:
            continue
        tell(f"{series.benchmark} of {series.where}", index, len(reading.series))
        reason = _unfit(series, machine, limit)
        if reason:
            unfit.setdefault(reason, []).append(series)
            continue
        rows, note = _predict(registry, machine, series, samples)
        notes += [f"{series.benchmark} of {series.where}: {note}"] if note else []
        compared += [
            item
            for value, row in zip(series.values, rows, strict=False)
            if (item := _compared(series, value, row)) is not None
        ]
    files = {item.file for item in reading.series}
    for reason, left_out in unfit.items():
        benchmarks = shortened(list(dict.fromkeys(item.benchmark for item in left_out)))
        where = called([item.file for item in left_out], files)
        notes.append(f"not predicted, {benchmarks} of {where}: {reason}")
    return Checked(machine.name, at_once(with_record(compared)), tuple(dict.fromkeys(notes)))


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
    network = machine.network
    states_near = network.levels or network.local or machine.nodes.count == 1
    if series.within and series.benchmark in _WINDOWS and not states_near:
        return f"the machine states nothing of messages within a {series.within}"
    rate = machine.sources.get("processor.rate", "")
    if series.benchmark.startswith("gemm") and rate.startswith("measured: POLY1"):
        return "the file's rate is that of a polynomial; measure it with --kernel dgemm"
    processes = processes_of(series, machine)
    if processes is None:
        return "the output does not say how many processes it had"
    room = machine.nodes.number and machine.nodes.number * machine.nodes.cores
    if room and processes > room and not machine.nodes.oversubscribe:
        return f"it has more processes than {machine.name} has cores, {room}"
    if processes > limit:
        return f"it has {processes:,} processes; --limit {processes} takes it"
    nodes = series.nodes
    if series.benchmark in BETWEEN_TWO:
        nodes = 1 if series.within in {"node", "socket"} else 2
    per_node = math.ceil(processes / nodes) if nodes else 1
    if per_node > machine.nodes.cores and not machine.nodes.oversubscribe:
        return (
            f"it had {per_node} processes on a node, and {machine.name} has nodes.cores = "
            f"{machine.nodes.cores}; state them, as 'machine from --level node={per_node}' does"
        )
    return ""


def _predict(
    registry: Registry, machine: Machine, series: Series, samples: int
) -> tuple[Sequence[Row], str]:
    """Return a row for each value of a series, and what to say of them."""
    processes = processes_of(series, machine)
    program = PROGRAMS[series.benchmark]
    settings: dict[str, Any] = {"steps": 1} if is_mean(series) else {}
    if series.window is not None and "window" in program.name:
        settings["window"] = series.window
    sizes = [amount_of(series, value, processes or 1) for value in series.values]
    source = files("parcast_machines_from") / "programs" / f"{program.name}.py"
    with as_file(source) as path:

        def ask(draws: int) -> Sequence[Row]:
            return registry.compare(
                str(path), machine, p=processes, solvers=SOLVER, settings=settings,
                mapping=mapping_of(series, machine, processes or 1), over={"n": sizes},
                uncertainty=draws, elasticities=False,
            ).rows  # fmt: skip

        try:
            rows = ask(samples)
        except UncertaintyError:
            rows = ask(0)
    wrong = next((row.message for row in rows if row.time is None), "")
    return rows, wrong


def _compared(series: Series, value: Value, row: Row) -> Compared | None:
    if row.time is None or row.time <= 0:
        return None
    program = PROGRAMS[series.benchmark]
    ends = row.details.get("uncertainty", {}).get("interval") or (None, None)
    turn = measured_as(series, value, row, program)
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
