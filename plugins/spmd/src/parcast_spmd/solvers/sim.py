"""``spmd.sim``: the three models simulated event by event, the referee of the formulas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parcast import Assumption, Query, UnsupportedError
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.phase_answer import Answer, answer
from parcast_spmd.options import SimOptions
from parcast_spmd.simulation.fork_join import simulate_fork_join
from parcast_spmd.simulation.statistics import make_stations, simulate_steady, simulate_to_the_end
from parcast_spmd.solvers.phases import STEADY, WORDS, PhaseModel, PhaseSolver, network_assumption

#: Seconds for a phase of random bursts, and for a constant one: on one core, by
#: ``core/benchmarks/costs.py``.
_RANDOM_SECONDS, _CONSTANT_SECONDS = 0.1, 2e-3

_SIMULATED = (
    "the paper's model is simulated: delays drawn as a whole, bursts geometric in number "
    "(spmd.sim.bursts=fixed simulates exactly as many as the workload says)"
)


def sim() -> PhaseSolver:
    """Return the solver that simulates any phases."""
    models = dict.fromkeys(WORDS, PhaseModel(assumptions, solve, notes))
    return PhaseSolver(models, SimOptions, cost=cost)


def assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what the simulation takes for granted."""
    yield from network_assumption(query)
    yield Assumption("who waits for whom is not modeled, only how many wait for each other")


def cost(query: Query) -> float:
    """Return the seconds that the runs take."""
    phases = query.workload.content.at(query)
    random = [phase.distribution.variance > 0 for phase in phases]
    return sum(_RANDOM_SECONDS if r else _CONSTANT_SECONDS for r in random)


def solve(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer with the interval that its runs give."""
    return [_solve(phase) for phase in phases]


def is_geometric(phase: Demands) -> bool:
    """Whether to simulate the paper's geometric number of bursts; see `SimOptions`.

    Raises
    ------
    UnsupportedError
        If the paper's model is asked for and processes differ.
    """
    options: SimOptions = phase.options
    if options.bursts == "auto":
        return phase.uneven is None and phase.distribution.law == "exp"
    if options.bursts == "geometric" and phase.uneven is not None:
        raise UnsupportedError(
            "the paper's model takes equal processes with a processor each, and these are not; "
            "use spmd.sim.bursts=fixed"
        )
    return options.bursts == "geometric"


def is_steady(phase: Demands) -> bool:
    """Whether an asynchronous phase is simulated in steady state; see `SimOptions`.

    Raises
    ------
    UnsupportedError
        If processes differ, which end at different times.
    """
    options: SimOptions = phase.options
    if options.span == "steady" and phase.uneven is not None:
        raise UnsupportedError(
            "processes that differ do equal work in unequal time and have no common steady "
            "state; use spmd.sim.span=whole"
        )
    return options.span != "whole" and phase.uneven is None


def _solve(phase: Demands) -> Answer:
    if not (phase.delay or phase.shared or phase.io):
        return answer(phase, "simulation", queuing=0.0, io=0.0)
    if phase.model == "sio":
        return simulate_fork_join(phase, "simulation", geometric=is_geometric(phase))
    if not is_steady(phase):
        return _whole(phase)
    simulated = simulate_steady(phase, make_stations(phase, geometric=is_geometric(phase)))
    sampled = simulated.sampled * phase.cycles
    return answer(
        phase, "simulation", queuing=simulated.network, io=simulated.disk, sampled=sampled
    )


def _whole(phase: Demands) -> Answer:
    """Return the answer of all cycles simulated, with the wait for the last process."""
    cycles = phase.cycles
    if cycles % 1:
        raise UnsupportedError(
            f"{cycles:g} cycles cannot be simulated as a whole; give a whole number"
        )
    simulated = simulate_to_the_end(
        phase, make_stations(phase, geometric=is_geometric(phase)), int(cycles)
    )
    spent = phase.bursts * phase.delay + simulated.network + simulated.disk + simulated.crowd
    return answer(
        phase,
        "simulation",
        queuing=simulated.network,
        io=simulated.disk,
        crowd=simulated.crowd,
        waiting=max(0.0, simulated.estimate.mean / cycles - spent),
        sampled=simulated.sampled,
    )


def notes(phase: Demands, _: Answer) -> Iterator[str]:
    """Yield what an answer assumes."""
    if phase.model != "sio" and is_steady(phase) and phase.groups > 1 and not phase.constant:
        yield STEADY
    if is_geometric(phase):
        yield _SIMULATED
