"""The expected time of a job that saves its state and starts again from there after a failure."""

from __future__ import annotations

import math
from typing import Literal

import attrs
import numpy as np

from parcast import Assumption, InvalidPointError, Parts, Prediction, Query
from parcast.model import place
from parcast_daly.failures import Failures
from parcast_daly.intervals import daly, optimum, total, young
from parcast_daly.job import Job


@attrs.frozen(kw_only=True)
class Options:
    """How the solver chooses the interval that a workload does not state."""

    interval: Literal["optimum", "daly", "young"] = "optimum"


class Daly:
    """The work is cut into equal segments, and each of them ends with a checkpoint."""

    def supports(self, query: Query) -> str | None:
        if query.machine.part("failures", Failures) is None:
            return f"machine {query.machine.name!r} states no [failures]; add its node_mtbf"
        return None

    def solve(self, query: Query) -> Prediction:
        job: Job = query.workload.content
        work, checkpoint = job.compute(query), job.checkpoint(query)
        mtbf = query.machine.need("failures.node_mtbf", "a job with checkpoints") / _nodes(query)
        restart = query.machine.need("failures.restart", "a job with checkpoints")
        try:
            count = _segments(query, work, checkpoint, mtbf)
            time = total(count, work, checkpoint, restart, mtbf)
            failures = time / mtbf
            if math.isinf(failures):
                raise OverflowError  # noqa: TRY301
        except OverflowError:
            raise InvalidPointError(
                f"the job never ends: one of its nodes fails every {mtbf:g} s, a checkpoint takes "
                f"{checkpoint:g} s and a restart {restart:g} s; take fewer nodes"
            ) from None
        return Prediction(
            time=time,
            parts=_parts(time, work / count, checkpoint, restart, mtbf),
            details={
                "interval": work / count,
                "checkpoints": count,
                "failures": failures,
                "efficiency": work / time,
                "young": young(checkpoint, mtbf),
                "daly": daly(checkpoint, mtbf),
            },
        )

    def assumptions(self, query: Query) -> tuple[Assumption, ...]:
        return (
            Assumption("the times between failures are exponentially distributed"),
            Assumption("the work divides evenly, and stops during a checkpoint"),
        )

    def cost(self, query: Query) -> float:
        return 50e-6 + 20e-9 * query.p


def _nodes(query: Query) -> int:
    """Return how many nodes the job runs on."""
    return len(np.unique(place(query).node))


def _segments(query: Query, work: float, checkpoint: float, mtbf: float) -> int:
    """Return the number of segments: the best, or that of the nearest interval."""
    job: Job = query.workload.content
    if job.interval is not None:
        interval = query.number(job, "interval")
    elif query.options.interval == "optimum":  # time is convex over the number
        below = max(1, math.floor(work / optimum(checkpoint, mtbf)))
        return min(below, below + 1, key=lambda count: total(count, work, checkpoint, 0, mtbf))
    else:
        interval = (daly if query.options.interval == "daly" else young)(checkpoint, mtbf)
    return max(1, round(work / interval))


def _parts(time: float, work: float, checkpoint: float, restart: float, mtbf: float) -> Parts:
    """Return where the time goes, repetitions included; during a restart all processes wait."""
    running = time * math.exp(-restart / mtbf)
    share = math.expm1(-work / mtbf) / math.expm1(-(work + checkpoint) / mtbf)
    return Parts(compute=running * share, io=running * (1 - share), synchronization=time - running)
