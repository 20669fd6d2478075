"""SIO: computation bursts around a shared network, joined before each synchronous I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from parcast import UnsupportedError
from parcast.quantities import Distribution
from parcast_spmd.models.constant_bursts import rounds
from parcast_spmd.models.ctmc import absorption
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.order_statistics import mean_maximum
from parcast_spmd.models.phase_answer import Answer, Sampled, answer
from parcast_spmd.mva.closed_network import MOST_JOBS
from parcast_spmd.mva.mva_kernels import fork_join_sums

Method = Literal["eq16", "ctmc", "fixed-cycles"]


def solve(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer by the method that its options name."""
    methods = [method_of(phase) for phase in phases]
    by_eq16 = [phase for phase, method in zip(phases, methods, strict=True) if method == "eq16"]
    answers = iter(_eq16(by_eq16) if by_eq16 else [])
    solvers = {"ctmc": _ctmc, "fixed-cycles": _fixed_cycles}
    return [
        next(answers) if method == "eq16" else solvers[method](phase)
        for phase, method in zip(phases, methods, strict=True)
    ]


def method_of(phase: Demands) -> Method:
    """Return the method that a phase is solved by.

    Raises
    ------
    UnsupportedError
        If the method that is asked for cannot take the phase.
    """
    options = phase.options
    if options.sio == "auto":
        eq16 = phase.distribution.law in {"exp", "uniform"} and options.service is None
        fixed = phase.uneven is not None or phase.constant or not eq16
        return "fixed-cycles" if fixed or not (phase.delay or phase.shared) else "eq16"
    if options.sio != "fixed-cycles":
        if phase.uneven is not None:
            raise UnsupportedError(
                f"method {options.sio!r} takes equal processes with a processor each, and these "
                "are not; use 'fixed-cycles'"
            )
        if options.service is not None:
            raise UnsupportedError(
                f"method {options.sio!r} takes exponential passages of the network and no other "
                "law of service; use 'fixed-cycles'"
            )
    chosen: Method = options.sio
    return chosen


def _eq16(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer by equations 16 and 18.

    Equation 16 is n_io times the sum over i = P..1 of (z + R_1(i)) / i: the mean time until
    the last of P groups has left, while ever fewer groups share the network. A group spends
    the mean of R_1(i) at the network, so the rest of the time it waits for the others.
    """
    for phase in phases:
        _check_steps(phase)
    points = [(phase.groups, phase.delay, phase.shared) for phase in phases]
    distinct = list(dict.fromkeys(points))  # a surface has the same one at every d
    totals, responses = fork_join_sums(*zip(*distinct, strict=True))
    by_point = dict(
        zip(distinct, zip(totals.tolist(), responses.tolist(), strict=True), strict=True)
    )
    answers = []
    for phase, point in zip(phases, points, strict=True):
        total, response = by_point[point]
        answers.append(_joined(phase, "eq16", phase.bursts * total, phase.bursts * response))
    return answers


def _check_steps(phase: Demands) -> None:
    """Refuse a sum whose terms differ for minutes: queues of i jobs up to about z / x."""
    ratio = phase.delay / phase.shared if phase.shared else 0.0
    if phase.groups > MOST_JOBS and ratio > MOST_JOBS:
        raise UnsupportedError(
            f"equation 16 has a term for each of {phase.groups:,} synchronization groups, and "
            f"at most {MOST_JOBS:,} are summed; ask a smaller p, or spmd.bounds"
        )


def _ctmc(phase: Demands) -> Answer:
    """Return the exact answer of the model that equation 16 approximates."""
    means = absorption(phase.groups, phase.delay, phase.shared, phase.bursts)
    return _joined(phase, "ctmc", means.time, means.queuing)


def _fixed_cycles(phase: Demands) -> Answer:
    """Return the answer with exactly n_io bursts: in closed form where there is one, or played."""
    n, service = phase.bursts, phase.options.service
    steady = service is None or service.variance == 0 or not phase.shared
    if phase.constant and steady and phase.uneven is None:
        cycle = rounds(phase.groups, phase.delay, phase.shared, n)
        return _joined(phase, "constant", cycle.time, cycle.queuing)
    if phase.groups == 1 and phase.uneven is None:
        return _joined(phase, "fixed-cycles", n * (phase.delay + phase.shared), n * phase.shared)
    if (law := _law_of_sums(phase)) is not None:
        longest = n * phase.free + mean_maximum(law, phase.groups)
        return _joined(phase, "fixed-cycles", longest, 0.0)
    return played_once(phase, "fixed-cycles", geometric=False)


def _law_of_sums(phase: Demands) -> Distribution | None:
    """Return the law of n_io computations where nothing else varies and it is a gamma law."""
    law, parameters = phase.distribution.law, phase.distribution.parameters
    if phase.shared or phase.members > 1 or phase.uneven is not None:
        return None
    if law not in {"exp", "erlang", "gamma"}:
        return None
    shape = 1.0 if law == "exp" else parameters[0]
    return Distribution("gamma", (shape * phase.bursts, phase.bursts * phase.compute))


def played_once(phase: Demands, method: str, *, geometric: bool) -> Answer:
    """Return the answer by simulation, of `parcast_spmd.simulation.statistics.stations`."""
    from parcast_spmd.simulation.statistics import stations, to_the_end

    simulated = to_the_end(phase, stations(phase, geometric=geometric), 1)
    time, queuing = simulated.estimate.mean, simulated.network
    return _joined(phase, method, time, queuing, crowd=simulated.crowd, sampled=simulated.sampled)


def _joined(
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
