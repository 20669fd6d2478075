"""``spmd.bounds``: what no program of these demands can beat, and what none exceeds.

Asymptotic bounds hold for any law, and for a run as a whole as much as for steady state: a job
takes its own demands at least, a station all demands at it; and the last job ends no later than
after its own delays and all passages and accesses of all jobs, one after the other.
Balanced-job bounds (Zahorjan, Sevcik, Eager and Galler 1982, with a delay as in Lazowska and
others 1984, chapter 5) are tighter and hold for the means of a product-form network with one
class of jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parcast import UnsupportedError
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.order_statistics import harmonic, highest_mean, mean_maximum
from parcast_spmd.models.phase_answer import Answer, answer
from parcast_spmd.options import BoundsOptions
from parcast_spmd.solvers.phases import WORDS, PhaseModel, PhaseSolver, network_assumption

_LOWER = "the time is the lower bound"
_PRODUCT_FORM = (
    "balanced-job bounds hold for means in steady state with exponential passages and accesses"
)


def bounds() -> PhaseSolver:
    """Return the solver that bounds any phases; it costs what formulas do."""
    return PhaseSolver(
        dict.fromkeys(WORDS, PhaseModel(network_assumption, solve, notes)), BoundsOptions
    )


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
    else:
        lower, upper = asymptotic(phase)
    upper = max(lower, upper)
    queuing, io = phase.bursts * phase.shared, phase.io
    bound = answer(
        phase,
        kind,
        queuing=queuing,
        io=io,
        waiting=max(0.0, lower - phase.bursts * phase.delay - queuing - io),
    )
    return bound.between(bound.time, max(bound.time, phase.cycles * upper))


def asymptotic(phase: Demands) -> tuple[float, float]:
    """Return bounds of a mean cycle: the last process's where all wait for it before each I/O."""
    delay, network = phase.bursts * phase.delay, phase.bursts * phase.shared
    at_network = phase.groups * network
    if phase.model == "sio":
        lower = max(delay + network, at_network)
        return lower + phase.io, longest_delay(phase, 1) + at_network + phase.io
    at_disk = phase.sharing * phase.io
    lower = max(delay + network + phase.io, at_network, at_disk)
    return lower, longest_delay(phase, phase.cycles) + at_network + at_disk


def longest_delay(phase: Demands, cycles: float) -> float:
    """Return what the longest sum of delays of any group takes at the most, a mean cycle of it.

    Sums over ``cycles`` cycles with nobody waiting: no longer than the sum of the longest of
    each, and no longer than their variance allows. Where bursts are exponential the bound is of
    the paper's model as well: a geometric number of them, whose sum is exponential.
    """
    n, groups, law = phase.bursts, phase.groups, phase.distribution
    mean = n * phase.delay
    if law.law == "exp":
        longest, variance = mean * harmonic(groups), mean**2
    else:
        longest = n * (phase.free + phase.compute * mean_maximum(law, groups * phase.members))
        # The variance of a maximum is no more than the sum of all (Efron and Stein 1981)
        variance = n * phase.members * phase.variance * phase.compute**2
    return min(longest, highest_mean(mean, variance / cycles, groups))


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
    largest, mean = max(demands), whole / len(demands)
    lower = whole + delay + (jobs - 1) * mean / (1 + delay / whole)
    upper = whole + delay + (jobs - 1) * largest / (1 + delay / (jobs * whole))
    return max(jobs * largest, lower), upper


def notes(_: Demands, bound: Answer) -> Iterator[str]:
    """Yield what an answer assumes."""
    yield _LOWER
    if bound.method == "balanced-job":
        yield _PRODUCT_FORM
