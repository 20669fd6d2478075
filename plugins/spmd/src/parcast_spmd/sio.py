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
    random = [phase for phase in phases if _is_random(phase)]
    answers = iter(_eq16(random) if random else [])
    return [next(answers) if _is_random(phase) else _constant(phase) for phase in phases]


def _is_random(phase: Demands) -> bool:
    return phase.distribution != "constant" and bool(phase.delay or phase.shared)


def _eq16(phases: Sequence[Demands]) -> list[Answer]:
    totals, responses = fork_join_sums(
        [phase.groups for phase in phases],
        [phase.delay for phase in phases],
        [phase.shared for phase in phases],
    )
    answers = []
    for phase, total, response in zip(phases, totals.tolist(), responses.tolist(), strict=True):
        n = phase.bursts
        waiting = n * max(0.0, total - phase.delay - response)
        answers.append(answer(phase, "eq16", queuing=n * response, io=phase.io, waiting=waiting))
    return answers


def _constant(phase: Demands) -> Answer:
    cycle = rounds(phase.groups, phase.delay, phase.shared, phase.bursts)
    waiting = max(0.0, cycle.time - phase.bursts * phase.delay - cycle.queuing)
    return answer(phase, "constant", queuing=cycle.queuing, io=phase.io, waiting=waiting)
