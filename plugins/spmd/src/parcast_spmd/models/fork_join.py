"""Synchronous I/O: bursts around a shared network, all joined before each I/O, in closed form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from parcast import UnsupportedError
from parcast.plugins import kernel
from parcast.quantities import Distribution
from parcast_spmd.models.ctmc import absorption
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.order_statistics import harmonic, mean_maximum
from parcast_spmd.models.phase_answer import Answer, Sampled, answer
from parcast_spmd.mva.closed_network import MOST_JOBS

#: The groups P that share a network, and their z and x of equation 16, in seconds.
Point = tuple[int, float, float]


@kernel("parcast-spmd")
def fork_join_kernel(populations: Any, delays: Any, demands: Any, sums: Any, means: Any) -> None:
    """Fill ``sums`` and ``means``; see `fork_join_sums`."""
    for point in range(len(populations)):
        size, z, x = populations[point], delays[point], demands[point]
        total = total_rest = responses = responses_rest = 0.0
        queue = 0.0
        idle = 1.0
        i = 0
        while i < size and z * idle >= 1e-17 * x:
            i += 1
            response = x * (1.0 + queue)
            cycle = z + response
            queue = i * (response / cycle)
            idle = z * idle / (i * x + z * idle)
            # Compensated sums: 1e5 terms would lose two digits
            term = cycle / i - total_rest
            new = total + term
            total_rest = (new - total) - term
            total = new
            term = response - responses_rest
            new = responses + term
            responses_rest = (new - responses) - term
            responses = new
        remaining = float(size - i)
        sums[point] = total + remaining * x
        responses += remaining * (x * (1.0 + queue)) + 0.5 * x * remaining * (remaining - 1.0)
        means[point] = responses / size


def eq16(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer by equations 16 and 18.

    Equation 16 is n_io times the sum over i = P..1 of (z + R_1(i)) / i: the mean time until
    the last of P groups has left, while ever fewer groups share the network. A group spends
    the mean of R_1(i) at the network, so the rest of the time it waits for the others.
    """
    for phase in phases:
        _check_steps(phase)
    points = [(phase.groups, phase.delay, phase.shared) for phase in phases]
    sums = fork_join_sums(dict.fromkeys(points))  # a surface has the same one at every d
    return [
        joined(phase, "eq16", phase.bursts * time, phase.bursts * response)
        for phase, (time, response) in zip(phases, map(sums.__getitem__, points), strict=True)
    ]


def fork_join_sums(points: Iterable[Point]) -> dict[Point, tuple[float, float]]:
    """Return of each point the makespan of eq. 16 and the mean response of its bursts; seconds.

    With R1(i) of eq. 17, the response time at a queue of demand x that i jobs visit after a
    delay z, these are the sum over i = 1..P of (z + R1(i)) / i, and the mean over i = 1..P of
    R1(i). Each (z + R1(i)) / i is 1/X(i) = x + z B(i - 1, z/x) / i, where B is Erlang's loss
    formula: once it has died out the rest of the sum is x a term.

    Parameters
    ----------
    points
        P, at least 1, with z and x in seconds, 0 or more.
    """
    sums, queued = {}, []
    for jobs, delay, demand in points:
        if jobs == 1:  # who waits for nobody
            sums[jobs, delay, demand] = delay + demand, demand
        elif demand == 0:
            sums[jobs, delay, demand] = delay * harmonic(jobs), 0.0
        else:
            queued.append((jobs, delay, demand))
    if not queued:
        return sums
    columns = [*map(list, zip(*queued, strict=True)), [0.0] * len(queued), [0.0] * len(queued)]
    if fork_join_kernel.worth_compiling(sum(jobs for jobs, _, _ in queued)):
        arrays = [np.array(column) for column in columns]
        fork_join_kernel.compiled(*arrays)
        columns = [array.tolist() for array in arrays]
    else:
        fork_join_kernel.plain(*columns)
    return sums | dict(zip(queued, zip(*columns[3:], strict=True), strict=True))


def _check_steps(phase: Demands) -> None:
    """Refuse a sum whose terms differ for minutes: queues of i jobs up to about z / x."""
    ratio = phase.delay / phase.shared if phase.shared else 0.0
    if phase.groups > MOST_JOBS and ratio > MOST_JOBS:
        raise UnsupportedError(
            f"equation 16 has a term for each of {phase.groups:,} synchronization groups, and "
            f"at most {MOST_JOBS:,} are summed; ask a smaller p, or spmd.bounds"
        )


def ctmc(phase: Demands) -> Answer:
    """Return the exact answer of the model that equation 16 approximates."""
    means = absorption(phase.groups, phase.delay, phase.shared, phase.bursts)
    return joined(phase, "ctmc", means.time, means.queuing)


@attrs.frozen
class Rounds:
    """Jobs that start together and go some rounds through a delay and one queue."""

    time: float  #: until the last job ends
    queuing: float  #: mean over jobs of the time at the queue, service included


def rounds(
    jobs: int, delay: float, service: float, count: float, *, shared: bool = False
) -> Rounds:
    """Return the exact makespan of ``jobs`` going ``count`` rounds.

    Where the queue is ``shared``, all who are there are served at once, each at its part of the
    pace: they come together and leave together, in every round. Else first come is first served.
    In the first round all arrive together and the last leaves at ``delay + jobs * service``.
    From then on they are staggered, so that a round takes ``max(delay + service,
    jobs * service)``: the order of the jobs never changes, and a job that comes back finds
    either nobody or all the others before it.
    """
    if shared:
        return Rounds(count * (delay + jobs * service), count * jobs * service)
    if count < 1:
        single = rounds(jobs, delay, service, 1)
        return Rounds(count * single.time, count * single.queuing)
    period = max(delay + service, jobs * service)
    return Rounds(
        delay + jobs * service + (count - 1) * period,
        service * (jobs + 1) / 2 + (count - 1) * (period - delay),
    )


def fixed_cycles(phase: Demands) -> Answer | None:
    """Return the answer with exactly n_io bursts; None where there is no closed form."""
    n, service = phase.bursts, phase.options.service
    steady = service is None or service.variance == 0 or not phase.shared
    if phase.constant and steady and phase.uneven is None:
        cycle = rounds(phase.groups, phase.delay, phase.shared, n, shared=phase.fair)
        return joined(phase, "constant", cycle.time, cycle.queuing)
    if phase.groups == 1 and phase.uneven is None:
        return joined(phase, "fixed-cycles", n * (phase.delay + phase.shared), n * phase.shared)
    if (law := _law_of_sums(phase)) is not None:
        longest = n * phase.free + mean_maximum(law, phase.groups)
        return joined(phase, "fixed-cycles", longest, 0.0)
    return None


def _law_of_sums(phase: Demands) -> Distribution | None:
    """Return the law of n_io computations where nothing else varies and it is a gamma law."""
    law, parameters = phase.distribution.law, phase.distribution.parameters
    if phase.shared or phase.members > 1 or phase.uneven is not None:
        return None
    if law not in {"exp", "erlang", "gamma"}:
        return None
    shape = 1.0 if law == "exp" else parameters[0]
    return Distribution("gamma", (shape * phase.bursts, phase.bursts * phase.compute))


def joined(
    phase: Demands,
    method: str,
    time: float,
    queuing: float,
    *,
    crowd: float = 0.0,
    sampled: Sampled | None = None,
) -> Answer:
    """Return the answer where all wait for the last before each I/O.

    Parameters
    ----------
    phase, method
        What was solved and how.
    time
        Until the last group has done its bursts; seconds, as all of these.
    queuing, crowd
        Of one group at the network, and waiting for a processor.
    sampled
        How sure ``time`` is, where it was sampled.
    """
    waiting = max(0.0, time - phase.bursts * phase.delay - queuing - crowd)
    return answer(
        phase,
        method,
        queuing=queuing,
        io=phase.io,
        waiting=waiting,
        crowd=crowd,
        sampled=None if sampled is None else sampled * phase.cycles,
    )
