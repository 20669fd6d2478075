"""What outputs say beside the numbers that are estimated of them: against it, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.estimating.machine import Estimate
from parcast_machines_from.estimating.numbers import quantity, size_text
from parcast_machines_from.records import Reading, Series, only_of

if TYPE_CHECKING:
    from parcast import Registry

#: Of many processes, whose messages no number but their algorithms is estimated of.
_OF_MANY = ("sendrecv", "exchange", "allgather", "alltoall")

#: With more processes it takes minutes.
_PROCESSES = 150

#: A benchmark that takes so many times what is predicted, or so little, contradicts.
_FACTOR = 2.0


def contradicted(registry: Registry, result: Estimate, reading: Reading) -> Iterator[str]:
    """Yield where the longest messages of many processes take another time than is predicted.

    Of each benchmark it is the output of the fewest processes that fill more than one node, or
    else of the most.
    """
    if "startup" not in result.data.get("network", {}):
        return
    machine = registry.machine(result.data)
    for benchmark in _OF_MANY:
        series = [
            item
            for item in only_of(reading.series, benchmark)
            if item.quantity == "s" and 2 < (item.processes or 0) <= _PROCESSES
        ]
        room = machine.nodes.cores * (machine.nodes.number or _PROCESSES)
        series = [item for item in series if (item.processes or 0) <= room]
        if not series:
            continue
        item = min(series, key=lambda each: _preference(each, machine.nodes.cores))
        longest = attrs.evolve(item, values=(max(item.values, key=lambda value: value.size),))
        checked = check_machine(registry, machine, Reading((longest,)), limit=_PROCESSES, samples=0)
        for compared in checked.compared:
            factor = compared.measured / compared.predicted
            if max(factor, 1 / factor) >= _FACTOR:
                yield (
                    f"{benchmark} of {compared.processes} processes, {compared.where}: "
                    f"{size_text(compared.size)} take {quantity(compared.measured, 's')}, "
                    f"{factor:.2g} times the prediction"
                )


def _preference(item: Series, cores: int) -> tuple[bool, int]:
    processes = item.processes or 0
    beyond = processes > cores
    return not beyond, processes if beyond else -processes


def unused(result: Estimate, reading: Reading) -> Iterator[str]:
    """Yield which benchmarks no number of the machine is estimated of, and what they are for."""
    sources = " ".join(number.source for number in result.numbers)
    rates = dict.fromkeys(item.tool for item in reading.series if item.quantity == "1/s")
    if rates:
        yield f"not used, {', '.join(rates)}: a machine's file has no number of such operations"
    checked = dict.fromkeys(
        item.benchmark
        for item in reading.series
        if item.benchmark in (*_OF_MANY, "bidirectional") and item.benchmark not in sources
    )
    if checked:
        yield f"not used, {', '.join(checked)}: 'parcast machine check' predicts them"
