"""``spmd.sio``: synchronous I/O, a fork-join around a shared network.

Phases are solved by equation 16 (the paper), by the exact chain of the paper's model, or with
exactly n_io bursts of the workload's law: in closed form where there is one, else by simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parcast import Assumption, Query, UnsupportedError
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.fork_join import ctmc, eq16, fixed_cycles, rounds
from parcast_spmd.models.phase_answer import Answer
from parcast_spmd.options import SioMethod, SioOptions
from parcast_spmd.solvers.phases import (
    PhaseModel,
    PhaseSolver,
    bursts_vary,
    network_assumption,
)
from parcast_spmd.solvers.prediction import Range

#: Methods whose bursts are exponential and geometric in number
_BY_MODEL = frozenset({"eq16", "ctmc"})

_EXPONENTIAL = (
    "passages of the network are exponential here; the workload says nothing of them (option "
    "service)"
)
_WITHIN_GROUP = (
    "bursts are of the workload's law within a synchronized group, exponential between groups"
)

#: What is said of a range, by the method: the same text in all rows of a surface
_RANDOM = {
    method: f"the time is for bursts of random length and number (the paper's model, by {model}); "
    "with all of them alike it is the lower end of between, and a balanced code is near that "
    '(distribution = "constant")'
    for method, model in {"eq16": "equation 16", "ctmc": "the exact chain"}.items()
}


def sio() -> PhaseSolver:
    """Return the solver of synchronous phases; it costs what formulas do."""
    return PhaseSolver({"sio": MODEL}, SioOptions, range_of=range_of)


def assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what equation 16 takes for granted."""
    yield from network_assumption(query)
    if getattr(query.options, "method", "auto") in ("auto", "eq16") and bursts_vary(query):
        laws = {phase.distribution.law for phase in query.workload.content.at(query)} - {"exp"}
        yield Assumption(
            "bursts before an I/O are exponential, and geometric in number (eq. 16)",
            f"their law is {' and '.join(sorted(laws))}" if laws else "",
        )


def solve(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer by the method that its options name."""
    methods = [method_of(phase) for phase in phases]
    by_eq16 = [phase for phase, method in zip(phases, methods, strict=True) if method == "eq16"]
    answers = iter(eq16(by_eq16) if by_eq16 else [])
    solvers = {"ctmc": ctmc, "fixed-cycles": _fixed_cycles}
    return [
        next(answers) if method == "eq16" else solvers[method](phase)
        for phase, method in zip(phases, methods, strict=True)
    ]


def method_of(phase: Demands) -> SioMethod:
    """Return the method that a phase is solved by.

    Raises
    ------
    UnsupportedError
        If the method that is asked for cannot take the phase.
    """
    options = phase.options
    if options.method == "auto":
        eq16 = phase.distribution.law == "exp" and options.service is None
        fixed = phase.uneven is not None or phase.constant or not eq16
        return "fixed-cycles" if fixed or not (phase.delay or phase.shared) else "eq16"
    if options.method != "fixed-cycles":
        if phase.uneven is not None:
            raise UnsupportedError(
                f"method {options.method!r} takes equal processes with a processor each, and these "
                "are not; use 'fixed-cycles'"
            )
        if options.service is not None:
            raise UnsupportedError(
                f"method {options.method!r} takes exponential passages of the network and no other "
                "law of service; use 'fixed-cycles'"
            )
    chosen: SioMethod = options.method
    return chosen


def _fixed_cycles(phase: Demands) -> Answer:
    if (answer := fixed_cycles(phase)) is not None:
        return answer
    from parcast_spmd.simulation.fork_join import simulate_fork_join  # which formulas do not need

    return simulate_fork_join(phase, "fixed-cycles", geometric=False)


def notes(phase: Demands, result: Answer) -> Iterator[str]:
    """Yield what an answer assumes."""
    if result.method in _BY_MODEL and phase.distribution.law != "exp":
        yield _WITHIN_GROUP
    open_law = phase.options.service is None and not phase.constant
    if result.method == "fixed-cycles" and phase.shared and result.sampled and open_law:
        yield _EXPONENTIAL


def range_of(phases: Sequence[Demands], answers: Sequence[Answer]) -> Range | None:
    """Return the time if all bursts were alike beside that of the paper's model.

    None where no phase is of bursts whose length and number are random in the model.
    """
    whole = constant = 0.0
    differs = False
    for phase, answer in zip(phases, answers, strict=True):
        by_model = answer.method in _BY_MODEL
        busy = phase.delay + phase.shared > 0
        differs |= by_model and busy and (phase.groups > 1 or phase.joining > 0)
        whole += answer.time
        constant += _with_constant_bursts(phase) if by_model else answer.time
    if not differs or constant == 0:
        return None
    by_eq16 = any(answer.method == "eq16" for answer in answers)
    return Range(min(constant, whole), max(constant, whole), _RANDOM["eq16" if by_eq16 else "ctmc"])


def _with_constant_bursts(phase: Demands) -> float:
    """Return the time of a synchronous phase in which nothing varies, exactly."""
    delay, passage = phase.compute + phase.free, phase.shared
    cycle = rounds(phase.groups, delay, passage, phase.bursts, shared=phase.fair)
    return phase.cycles * (cycle.time + phase.io)


MODEL = PhaseModel(assumptions, solve, notes)
