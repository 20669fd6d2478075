"""``spmd.bounds``: what no program of these demands can beat, and what none exceeds.

Asymptotic bounds hold for any law, and for a run as a whole as much as for steady state: a job
takes its own demands at least, a station all demands at it; and a passage waits for no more
than one of everybody else's. Balanced-job bounds (Zahorjan, Sevcik, Eager and Galler 1982, with
a delay as in Lazowska and others 1984, chapter 5) are tighter and hold for the means of a
product-form network with one class of jobs.
"""

from __future__ import annotations

from collections.abc import Sequence

from parcast import UnsupportedError
from parcast_spmd.cycles import Answer, answer
from parcast_spmd.demands import Demands
from parcast_spmd.extremes import mean_maximum
from parcast_spmd.kernels import harmonic


def solve(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's bounds; the time of the answer is the lower one."""
    return [_solve(phase) for phase in phases]


def _solve(phase: Demands) -> Answer:
    if phase.uneven is not None:
        raise UnsupportedError(
            "bounds are of equal processes with a processor each; use spmd.sim for these"
        )
    kind = phase.options.kind
    if kind == "balanced-job":
        lower, upper = balanced_job(phase)
    elif phase.model == "sio":
        lower, upper = synchronous(phase)
    else:
        lower, upper = asymptotic(phase)
    upper = max(lower, upper)
    queuing, io = phase.bursts * phase.shared, phase.io
    found = answer(
        phase,
        kind,
        queuing=queuing,
        io=io,
        waiting=max(0.0, lower - phase.bursts * phase.delay - queuing - io),
    )
    return found.between(found.time, max(found.time, phase.cycles * upper))


def synchronous(phase: Demands) -> tuple[float, float]:
    """Return bounds of a cycle of SIO.

    The last job leaves after its own delays and, at the most, all passages of all jobs; the
    longest sum of delays is no longer than the sum of the longest of each burst, nor, where
    bursts are exponential and geometric in number, than n_io z H_P.
    """
    n, jobs = phase.bursts, phase.groups
    lower = n * max(phase.delay + phase.shared, jobs * phase.shared)
    longest = phase.free + phase.compute * mean_maximum(phase.distribution, jobs * phase.members)
    if phase.distribution.law == "exp":
        longest = phase.delay * harmonic(jobs)
    return phase.io + lower, phase.io + n * (longest + jobs * phase.shared)


def asymptotic(phase: Demands) -> tuple[float, float]:
    """Return bounds of a cycle of asynchronous I/O at one disk or at one for each cluster."""
    delay, network = phase.bursts * phase.delay, phase.bursts * phase.shared
    alone = delay + network + phase.io
    at_network, at_disk = phase.groups * network, phase.sharing * phase.io
    return max(alone, at_network, at_disk), delay + at_network + at_disk


def balanced_job(phase: Demands) -> tuple[float, float]:
    """Return bounds of a cycle from networks whose queues are all alike.

    With N jobs, delay Z, demands D_k, their sum D and mean a: a cycle takes at least
    max(N D_max, D + Z + (N - 1) a / (1 + Z/D)), and at most
    D + Z + (N - 1) D_max / (1 + Z/(N D)).

    Raises
    ------
    UnsupportedError
        If the phase is no product-form network of one class.
    """
    delay, network = phase.bursts * phase.delay, phase.bursts * phase.shared
    if phase.model == "sio" or phase.constant:
        raise UnsupportedError(
            "balanced-job bounds are of asynchronous phases whose bursts vary; use "
            "spmd.bounds.kind=asymptotic"
        )
    if phase.model == "clu" and phase.disks > 1 and phase.shared and phase.io:
        raise UnsupportedError(
            "balanced-job bounds take one class of jobs, and clusters are one each; use "
            "spmd.bounds.kind=asymptotic"
        )
    jobs = phase.sharing if phase.io else phase.groups
    demands = [demand for demand in (network, phase.io) if demand]
    whole = sum(demands)
    if not whole:
        return delay, delay
    most, mean = max(demands), whole / len(demands)
    lower = whole + delay + (jobs - 1) * mean / (1 + delay / whole)
    upper = whole + delay + (jobs - 1) * most / (1 + delay / (jobs * whole))
    return max(jobs * most, lower), upper
