"""SIO: computation bursts around a shared network, joined before each synchronous I/O."""

from __future__ import annotations

from collections.abc import Sequence

from parcast_spmd.constant import rounds
from parcast_spmd.cycles import Answer, answer
from parcast_spmd.demands import Demands
from parcast_spmd.kernels import fork_join_sums


def solve(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer: equations 16 and 18, or exactly where bursts are constant.

    Equation 16 is n_io times the sum over i = P..1 of (z + R_1(i)) / i: the mean time until
    the last of P groups has left, while ever fewer groups share the network. A group spends
    the mean of R_1(i) at the network, so the rest of the time it waits for the others.
    """
    random = [phase for phase in phases if phase.distribution != "constant" and phase.delay]
    sums, means = [], []
    if random:
        groups = [phase.groups for phase in random]
        found = fork_join_sums(groups, [p.delay for p in random], [p.shared for p in random])
        sums, means = found[0].tolist(), found[1].tolist()
    by_phase = iter(zip(sums, means, strict=True))
    return [
        _constant(phase)
        if phase.distribution == "constant" or not phase.delay
        else _eq16(phase, *next(by_phase))
        for phase in phases
    ]


def _eq16(phase: Demands, total: float, response: float) -> Answer:
    n = phase.bursts
    waiting = n * max(0.0, total - phase.delay - response)
    return answer(phase, "eq16", queuing=n * response, io=phase.io, waiting=waiting)


def _constant(phase: Demands) -> Answer:
    cycle = rounds(phase.groups, phase.delay, phase.shared, phase.bursts)
    waiting = max(0.0, cycle.time - phase.bursts * phase.delay - cycle.queuing)
    return answer(phase, "constant", queuing=cycle.queuing, io=phase.io, waiting=waiting)
