"""``spmd.bus`` and ``spmd.clu``: asynchronous I/O at one I/O node, or a disk for each cluster.

Equal processes have exact mean values, or an approximation that is asked for by its name;
processes that differ a network for each set of those who are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from parcast import Assumption, Query, UnsupportedError
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.fork_join import rounds
from parcast_spmd.models.heterogeneous_aio import solve_uneven
from parcast_spmd.models.phase_answer import Answer, answer
from parcast_spmd.mva.aql import solve_aql
from parcast_spmd.mva.closed_network import MOST_JOBS
from parcast_spmd.mva.exact_integral import symmetric_clusters
from parcast_spmd.mva.mva_kernels import delay_two_queues
from parcast_spmd.mva.schweitzer_linearizer import solve_bard_schweitzer, solve_linearizer
from parcast_spmd.mva.structure import Component, Group, GroupResult
from parcast_spmd.options import AioOptions
from parcast_spmd.solvers.phases import (
    STEADY,
    PhaseModel,
    PhaseSolver,
    bursts_vary,
    network_assumption,
)

#: Approximations by name, as `parcast_spmd.mva.choice` has them for any network
APPROXIMATIONS: Mapping[str, Callable[[Component], tuple[tuple[GroupResult, ...], str | None]]] = {
    "bard-schweitzer": lambda component: (solve_bard_schweitzer(component), None),
    "aql": solve_aql,
    "linearizer": solve_linearizer,
}

#: Groups at one disk of several, of which more would take minutes
MOST_SHARING = 1_000_000

#: Fewer cycles than this are no steady state.
_FEW = 10

_PRODUCT_FORM = (
    "constant bursts queue as exponential ones at network and disk (product form), which is "
    "good over many cycles; the lower bound is certain"
)
_APPROXIMATE = "an approximation was asked for; method=exact costs little more"
_OUTSIDE = (
    "the approximation left the bounds that are proven for the exact answer, so Bard and "
    "Schweitzer's is given"
)
_NOT_EXACT = "classes of processes share too much for an exact answer: an approximation is given"
_UNEQUAL = (
    "processes that differ end at different times: each set of those left is in steady state "
    "until the next ends, its passages and accesses queuing as exponential ones"
)


def bus() -> PhaseSolver:
    """Return the solver of asynchronous phases at one I/O node; it costs what formulas do."""
    return PhaseSolver({"bus": BUS}, AioOptions)


def clu() -> PhaseSolver:
    """Return the solver of asynchronous phases with a disk for each cluster."""
    return PhaseSolver({"clu": CLU}, AioOptions)


def assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what mean values of product form take for granted."""
    yield from network_assumption(query)
    phases = query.workload.content.at(query)
    short = [phase for phase in phases if phase.cycles < _FEW]
    yield Assumption(
        "phases have many cycles, and nobody waits for the last process at the end",
        f"{short[0].name} has only {short[0].cycles:g}" if short and query.p > 1 else "",
    )
    yield Assumption(
        "passages of network and disk are exponential (product form)",
        "" if bursts_vary(query) else "bursts are constant",
    )


def solve_bus(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer by exact mean value analysis (equations 20 to 22)."""
    simple = [_simple(phase) for phase in phases]
    queued = [phase for phase, direct in zip(phases, simple, strict=True) if direct is None]
    answers = iter(_mva(queued) if queued else [])
    return [direct or next(answers) for direct in simple]


def solve_clu(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer by the exact integral over the shared queue (section 4.3)."""
    return [_simple(phase) or _integral(phase) for phase in phases]


def _simple(phase: Demands) -> Answer | None:
    """Return the answer of a phase that the models of equal jobs and exact means are not for."""
    if phase.uneven is not None:
        return solve_uneven(phase)
    if (direct := _without_network(phase)) is not None:
        return direct
    return None if phase.options.method == "exact" else _approximate(phase, phase.options.method)


def _approximate(phase: Demands, method: str) -> Answer:
    """Return the answer of an approximation, each cluster a class of its own."""
    n, bus = phase.bursts, phase.model == "bus"
    clusters = 1 if bus else phase.disks
    both = clusters == 1 and phase.shared
    group = Group(
        members=tuple(range(clusters)),
        population=phase.sharing,
        delay=n * phase.delay,
        shared=() if clusters == 1 else (n * phase.shared,),
        private=(n * phase.shared, phase.io) if both else (phase.io,),
        stations=(),
    )
    component = Component(shared=(0,) if clusters > 1 else (), groups=(group,))
    (result,), wrong = APPROXIMATIONS[method](component)
    times = [*result.shared, *result.private]
    network, disk = (
        float(time) / result.throughput for time in (times if len(times) > 1 else [0.0, *times])
    )
    return _answer(phase, "bard-schweitzer" if wrong else method, network, disk)


def _check_steps(phase: Demands, limit: int) -> None:
    """Refuse what the exact methods, a step for each group at a disk, would take minutes for."""
    if phase.sharing > limit:
        raise UnsupportedError(
            f"the exact answer takes a step for each of {phase.sharing:,} synchronization groups "
            f"at a disk, and at most {limit:,} are taken; ask a smaller p, or an approximation by "
            "its name (method=bard-schweitzer)"
        )


def _mva(phases: Sequence[Demands]) -> list[Answer]:
    for phase in phases:
        _check_steps(phase, MOST_JOBS)
    _, network, disk = delay_two_queues(
        [phase.groups for phase in phases],
        [phase.bursts * phase.delay for phase in phases],
        [phase.bursts * phase.shared for phase in phases],
        [phase.io for phase in phases],
    )
    times = zip(phases, network.tolist(), disk.tolist(), strict=True)
    return [_answer(phase, "mva", *residence) for phase, *residence in times]


def _integral(phase: Demands) -> Answer:
    n, alone = phase.bursts, phase.disks == 1 or not phase.shared
    _check_steps(phase, MOST_JOBS if alone else MOST_SHARING)
    _, network, disk = symmetric_clusters(
        phase.disks, phase.groups // phase.disks, n * phase.delay, n * phase.shared, phase.io
    )
    return _answer(phase, "integral", network, disk)


def _without_network(phase: Demands) -> Answer | None:
    """Return the answer of a phase that needs no queuing network, or None."""
    if not (phase.shared or phase.io):
        return answer(phase, "delay", queuing=0.0, io=0.0)
    if phase.constant and not (phase.shared and phase.io):
        return _one_constant_queue(phase)
    return None


def _answer(phase: Demands, method: str, network: float, disk: float) -> Answer:
    """Return the product-form answer, never below what constant bursts certainly take.

    Each of the two queues alone, the other one's service being part of the delay, ends no
    later than both together.
    """
    if not phase.constant:
        return answer(phase, method, queuing=network, io=disk)
    n, delay = phase.bursts, phase.bursts * phase.delay
    lower = max(
        rounds(phase.sharing, delay + n * phase.shared, phase.io, phase.cycles).time,
        rounds(phase.groups, phase.delay, phase.shared, n * phase.cycles).time,
    )
    waiting = max(0.0, lower / phase.cycles - delay - network - disk)
    return answer(phase, method, queuing=network, io=disk, waiting=waiting, lower=lower)


def _one_constant_queue(phase: Demands) -> Answer:
    """Return the exact makespan over all cycles, spread over them."""
    if phase.io:
        whole = rounds(phase.sharing, phase.bursts * phase.delay, phase.io, phase.cycles)
    else:
        whole = rounds(
            phase.groups,
            phase.delay,
            phase.shared,
            phase.bursts * phase.cycles,
            shared=phase.fair,
        )
    cycle_time, at_queue = whole.time / phase.cycles, whole.queuing / phase.cycles
    waiting = max(0.0, cycle_time - phase.bursts * phase.delay - at_queue)
    return answer(
        phase,
        "constant",
        queuing=0.0 if phase.io else at_queue,
        io=at_queue if phase.io else 0.0,
        waiting=waiting,
    )


def notes(phase: Demands, result: Answer) -> Iterator[str]:
    """Yield what an answer assumes."""
    method = result.method
    means = method in {"mva", "integral", *APPROXIMATIONS}
    if (means or method == "delay") and phase.groups > 1 and not phase.constant:
        yield STEADY
    if method in APPROXIMATIONS:
        if method != phase.options.method:
            yield _OUTSIDE
        yield _APPROXIMATE
    if means and phase.constant:
        yield _PRODUCT_FORM
    if method.startswith("unequal"):
        yield _UNEQUAL
    if method == "unequal-approximate":
        yield _NOT_EXACT


BUS = PhaseModel(assumptions, solve_bus, notes)
CLU = PhaseModel(assumptions, solve_clu, notes)
