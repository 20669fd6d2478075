"""``emulator.tc``: tightly coupled simulation, every process issuing its calls one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import attrs

from parcast import Assumption, Parts, Prediction, Query, UnsupportedError
from parcast.model import Count
from parcast.program import job_times
from parcast_emulator.blocks import Blocks
from parcast_emulator.coupling import Coupling
from parcast_emulator.emulators.of_program import Processes
from parcast_emulator.hardware import cluster_of
from parcast_emulator.progress import simulation_progress
from parcast_emulator.results import NO_CACHE, application_assumptions, prediction
from parcast_emulator.simulation import simulate
from parcast_emulator.solvers import costs

#: Operations that are simulated by default: one by one by processes, or by compiled kernels.
_INTERPRETED, _COMPILED = 100_000, 50_000_000


@attrs.frozen(kw_only=True)
class Options(Coupling):
    """What a user may choose."""

    epochs: Literal["common", "own"] = "common"  #: when a node begins the next epoch
    #: more are refused; None: as many as take some seconds one by one, or fit in memory compiled
    most_operations: Count | None = None


class TightlyCoupled:
    """Predicts emulated applications, and any program, by running their processes."""

    def supports(self, query: Query) -> str | None:
        """Return None, or which part of the machine is missing or contradicts another."""
        content = query.workload.content
        try:
            if isinstance(content, Processes):
                from parcast_emulator.program_run import costs_of

                costs_of(content.as_program(query))
            else:
                cluster_of(query)
                if content.writing(query) is not False and (query.options or Options()).lossy:
                    return (
                        "writes are simulated in reverse time, where no process can wait for a "
                        "call; leave emulator.tc's calls non-blocking and polling at 0"
                    )
        except UnsupportedError as error:
            return str(error)
        return None

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what servers in line take for granted, beside what an answer says itself."""
        if not isinstance(query.workload.content, Processes):
            yield from application_assumptions(query)
            return
        yield Assumption("every server takes first what came first")
        yield NO_CACHE

    def cost(self, query: Query) -> float | None:
        """Return the seconds that simulating all calls takes; None where they are very many."""
        content = query.workload.content
        if not isinstance(content, Processes):
            count = costs.count_operations(query)
            return None if count is None else costs.ANSWER + costs.CALLS * count
        from parcast_emulator.program_run import simulated, why_not_compiled

        program_query = content.as_program(query)
        unrolled = simulated(program_query).unrolled
        fair = query.machine.network.contention == "fair"
        seconds = costs.FLOWS * (1 + unrolled.size / costs.BESIDE) if fair else costs.RANKS
        if why_not_compiled(program_query) is not None:
            seconds = costs.PROCESSES
        return costs.ANSWER + seconds * unrolled.count() + costs.TASK * unrolled.tasks()

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        options: Options = query.options or Options()
        content = query.workload.content
        if isinstance(content, Processes):
            return _program(content.as_program(query), options)
        cluster = cluster_of(query)
        with simulation_progress() as progress:
            outcome = simulate(
                cluster,
                _some(content.epochs(query, cluster), options.most_operations or _INTERPRETED),
                engine="tc",
                coupling=options,
                own_epochs=options.epochs == "own",
                progress=progress,
            )
        return prediction(query, cluster, outcome, (_coupling_text(options),))


def _coupling_text(coupling: Coupling) -> str:
    """Return how the processes call, in words."""
    names = ("reads", "sends", "computation")
    waits = [name for name in names if getattr(coupling, name) == "blocking"]
    return (
        f"processes wait in {' and '.join(waits) or 'no call'}; a check for completion takes "
        f"{coupling.polling:g} s"
    )


def _some(epochs: Iterator[Blocks], limit: int) -> Iterator[Blocks]:
    """Yield the epochs, or say that they are too many operations for plain Python."""
    total = 0
    for blocks in epochs:
        total += blocks.operations()
        if total > limit:
            raise UnsupportedError(_too_many(f"over {limit:,}"))
        yield blocks


def _too_many(count: str, why: str = "") -> str:
    return (
        f"{count} operations, simulated one by one{why}, are more than the default limit; use a "
        "smaller p, or --set emulator.tc.most_operations to more"
    )


def _program(query: Query, options: Options) -> Prediction:
    from parcast.program.matching import matched_program
    from parcast_emulator.program_run import (
        costs_of,
        run,
        simulated,
        utilization,
        why_not_compiled,
    )

    operations = matched_program(query, pools=True).unrolled.count()
    part = simulated(query).unrolled
    count = part.count()
    slow = why_not_compiled(query)
    limit = options.most_operations or (_COMPILED if slow is None else _INTERPRETED)
    if count > limit:
        why = "" if slow is None else f" as {slow}"
        raise UnsupportedError(_too_many(f"{count:,}", why))
    with simulation_progress() as progress:
        finished = run(query, options.polling, progress)
    parts = sum(finished.parts, Parts()) * (1 / part.size)
    notes: list[str] = []
    details: dict[str, Any] = {
        "operations": operations,
        "mean_end": float(sum(finished.ends) / len(finished.ends)),
    }
    if part.copies > 1:
        details["simulated"] = {"ranks": part.size, "each for": part.copies}
    if used := utilization(query, max(finished.ends)):
        details["utilization"] = used
    if jobs := job_times(query, finished.ends, finished.starts):
        details["jobs"] = jobs
    if costs_of(query)[1]:
        notes.append("files lie on the disks of each process's own node, one after another")
    return Prediction(
        time=finished.time,
        parts=parts,
        binding=parts.largest,
        notes=tuple(notes),
        details=details,
    )
