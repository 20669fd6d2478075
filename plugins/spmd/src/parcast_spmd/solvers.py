"""The solvers: which phases each takes, and the prediction made of the phases' answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from parcast import Parts, Prediction, Query, SolveError, UnsupportedError
from parcast_spmd import aio
from parcast_spmd import sio as synchronous
from parcast_spmd.cycles import Answer
from parcast_spmd.demands import (
    Demands,
    check_machine,
    contention_level,
    demands,
    model_of,
    not_followed,
)

_MODELS: Mapping[str, Callable[[Sequence[Demands]], list[Answer]]] = {
    "sio": synchronous.solve,
    "bus": aio.solve_bus,
    "clu": aio.solve_clu,
}

_WORDS = {
    "sio": "synchronous I/O",
    "bus": "asynchronous I/O and storage.layout 'bus'",
    "clu": "asynchronous I/O and storage.layout 'cluster'",
}

_PESSIMISTIC = (
    "eq. 16 takes bursts as exponential and their number as geometric; a balanced code may run "
    'several times faster (distribution = "constant" in its file gives the other extreme)'
)
_STEADY = (
    "asynchronous phases are in steady state: waiting for the last process at the end is not "
    "counted, so few cycles take longer"
)
_WITHIN_GROUP = "bursts are uniform within a synchronized group, exponential between groups"
_PRODUCT_FORM = (
    "constant bursts queue as exponential ones at network and disk (product form), which is "
    "good over many cycles; the lower bound is certain"
)
_OPEN_LEVEL = (
    "the machine states no contention level w: the time is at w = 1/2, the bounds at 0 and 1"
)


def choose(query: Query) -> str:
    """Return the name of the solver that fits all phases of a ``phases`` workload."""
    models = {model_of(phase, query) for phase in query.workload.content.phase}
    return f"spmd.{models.pop()}" if len(models) == 1 else "spmd.mixed"


@attrs.frozen
class PhaseSolver:
    """Takes workloads all of whose phases have one of ``models``."""

    models: tuple[str, ...]

    def supports(self, query: Query) -> str | None:
        """Return None, or the first thing that the models cannot express."""
        try:
            check_machine(query)
            contention_level(query)
            for phase in demands(query, 0.0):
                if phase.model not in self.models:
                    wanted = " or ".join(_WORDS[model] for model in self.models)
                    return f"takes phases with {wanted}; this one has {_WORDS[phase.model]}"
        except UnsupportedError as error:
            return str(error)
        return None

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        return self.solve_many([query])[0]

    def solve_many(self, queries: Sequence[Query]) -> list[Prediction]:
        """Return all predictions, every model solving all its phases at once."""
        asked = [[demands(query, level) for level in _levels(query)] for query in queries]
        answers = iter(_solve([phase for one in asked for variant in one for phase in variant]))
        return [
            _prediction(query, one, [[next(answers) for _ in variant] for variant in one])
            for query, one in zip(queries, asked, strict=True)
        ]


sio = partial(PhaseSolver, ("sio",))
bus = partial(PhaseSolver, ("bus",))
clu = partial(PhaseSolver, ("clu",))
mixed = partial(PhaseSolver, ("sio", "bus", "clu"))


def _levels(query: Query) -> tuple[float, ...]:
    """Return the level to answer at; where it is open, the middle and both ends."""
    level = contention_level(query)
    return (0.5, 0.0, 1.0) if level is None else (level,)


def _solve(phases: Sequence[Demands]) -> list[Answer]:
    """Return each phase's answer, in order."""
    answers: dict[int, Answer] = {}
    for model, solve in _MODELS.items():
        chosen = [index for index, phase in enumerate(phases) if phase.model == model]
        if chosen:
            answers |= zip(chosen, solve([phases[index] for index in chosen]), strict=True)
    return [answers[index] for index in range(len(phases))]


def _prediction(
    query: Query, variants: Sequence[Sequence[Demands]], answers: Sequence[Sequence[Answer]]
) -> Prediction:
    phases, found = variants[0], answers[0]
    time = sum(one.time for one in found)
    if not math.isfinite(time):
        raise SolveError("the times overflow; check the units of workload and machine")
    parts = sum((one.parts for one in found), start=Parts())
    lower = upper = None
    notes = (*_notes(phases, found), *not_followed(query))
    if any(one.lower is not None for one in found) and all(map(_has_certain_bound, found)):
        lower = _least(found)
    if len(variants) > 1 and any(phase.shared for phase in phases):
        lower, upper = _least(answers[1]), sum(one.time for one in answers[2])
        notes = (*notes, _OPEN_LEVEL)
    return Prediction(
        time=time,
        parts=parts,
        lower=lower,
        upper=upper,
        binding=max(found, key=lambda one: one.time).binding if time else None,
        notes=notes,
        details={"phases": [_details(*pair) for pair in zip(phases, found, strict=True)]},
    )


def _has_certain_bound(found: Answer) -> bool:
    return found.lower is not None or found.method in {"constant", "delay"}


def _least(found: Sequence[Answer]) -> float:
    return sum(one.time if one.lower is None else one.lower for one in found)


def _notes(phases: Sequence[Demands], found: Sequence[Answer]) -> tuple[str, ...]:
    by_eq16 = [phase for phase, one in zip(phases, found, strict=True) if one.method == "eq16"]
    notes = {
        _PESSIMISTIC: any(phase.groups > 1 or phase.joining for phase in by_eq16),
        _WITHIN_GROUP: any(phase.distribution == "uniform" for phase in by_eq16),
        _STEADY: any(
            phase.model != "sio" and phase.distribution != "constant" and phase.groups > 1
            for phase in phases
        ),
        _PRODUCT_FORM: any(one.lower is not None for one in found),
    }
    return tuple(note for note, applies in notes.items() if applies)


def _details(phase: Demands, found: Answer) -> dict[str, object]:
    return {
        "model": phase.model,
        "method": found.method,
        "time": found.time,
        "binding": found.binding,
        "utilization": dict(found.utilization),
        "distribution": phase.distribution,
        "cycles": phase.cycles,
        "bursts": phase.bursts,
        "groups": phase.groups,
        "disks": phase.disks,
        "delay": phase.delay,
        "network_service": phase.shared,
        "io_service": phase.io,
    }
