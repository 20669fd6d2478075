"""Runs of one code at several p as amounts: what a process computes and sends, counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from parcast import Registry
from parcast.comparison import lower
from parcast.errors import FileError, UnsupportedError
from parcast.model import Costs, Query
from parcast.program import Block
from parcast.program.lowerings import Counts, count, in_collective
from parcast.program.matching import expand, matched_program
from parcast.program.source import COLLECTIVES

#: What ``parcast scaling`` takes.
_WANTED = "give a table with columns p and time (.csv), or traces of one code, each at another p"


def amounts_of(registry: Registry, runs: Sequence[Any], machine: Any) -> list[dict[str, float]]:
    """Return the amounts of each run, a row for each.

    A row has ``p``; ``flops`` of the busiest process, ``messages`` and ``bytes`` that a mean
    process sends by itself, and such of each collective as of its messages
    (``messages of allreduce``), all in the whole run after its warm-up.

    Parameters
    ----------
    registry
        Whose plugins read the runs and bring them to phases.
    runs
        Workloads with a number of processes of their own, such as traces: names, files or values.
    machine
        What they ran on: seconds of computation are operations at its rate.

    Raises
    ------
    FileError
        If a run has no number of processes, or a p comes twice.
    UnsupportedError, InvalidPointError
        If a run cannot be brought to phases.
    """
    on = registry.machine(machine)
    rows: dict[int, dict[str, float]] = {}
    for run in runs:
        workload = registry.workload(run)
        if workload.kind == "profile":
            raise UnsupportedError(
                f"{run} is a profile, which has times and no amounts; leave out --on"
            )
        p = workload.processes
        if p is None:
            raise FileError(
                f"{run} is no recorded run: it has no number of processes of its own; give traces "
                "of one code, each at another p"
            )
        if p in rows:
            raise FileError(f"{run} has {p} processes, as a run before it has; give one for each p")
        rows[p] = _of_run(registry, Query(workload=workload, machine=on, p=p))
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    return [{"p": p, **{name: row.get(name, 0.0) for name in names}} for p, row in rows.items()]


def check_recorded(registry: Registry, runs: Sequence[str]) -> None:
    """Refuse files that are empty, or neither a table nor a recorded run.

    Raises
    ------
    FileError
        With what is wrong with the first of them.
    """
    for run in runs:
        try:
            recorded = registry.workload(run).processes is not None
        except FileError as error:
            raise FileError(f"{str(error).rstrip('.')}; {_WANTED}") from None
        if not recorded:
            raise FileError(f"{run} has neither measured times nor a recorded run; {_WANTED}")


def _of_run(registry: Registry, query: Query) -> dict[str, float]:
    """Return the amounts of one run."""
    lower(registry.lowerings, query, "phases")  # which refuses processes that are not alike
    program = lower(registry.lowerings, query, "program")[0]
    matching = matched_program(program, pools=True)
    costs = Costs.of(program, matching.unrolled.needs())
    rate = program.machine.need("processor.rate", "seconds that become operations")

    def counted(blocks: Sequence[Block]) -> Counts:
        return count(attrs.evolve(matching.unrolled, blocks=blocks), costs)

    native, unrolled = (_timed(form.blocks) for form in (matching.native, matching.unrolled))
    point_to_point = counted([block for block in unrolled if not in_collective(block)])
    if point_to_point.accesses.any():
        raise UnsupportedError(
            f"{query.workload.name} accesses files, which are not counted here; write its phases "
            "by hand"
        )
    row = {"flops": rate * float(point_to_point.seconds.max()), **_sent(point_to_point)}
    for op in sorted({block.op for block in native if block.op in COLLECTIVES}):
        alone = attrs.evolve(matching.native, blocks=[block for block in native if block.op == op])
        row |= _sent(counted(expand(alone, matching.algorithms).blocks), f" of {op}")
    return row


def _sent(counts: Counts, word: str = "") -> dict[str, float]:
    means = float(counts.messages.mean()), float(counts.bytes.mean())
    return {f"messages{word}": means[0], f"bytes{word}": means[1]}


def _timed(blocks: Sequence[Block]) -> Sequence[Block]:
    """Return what comes after the last ``start()`` of all processes at once, to be counted."""
    starts = (i for i, block in enumerate(blocks) if block.op == "start" and block.ranks is None)
    return blocks[max(starts, default=-1) + 1 :]
