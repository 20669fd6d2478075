"""The solvers: which phases each takes, and the prediction made of the phases' answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import attrs

from parcast import Assumption, Prediction, Query, SolveError, Status, UnsupportedError
from parcast_spmd import advice
from parcast_spmd.models import aio
from parcast_spmd.models import phase_bounds as limits
from parcast_spmd.models import sio as synchronous
from parcast_spmd.models.demands import (
    Demands,
    check_machine,
    contention_level,
    demands,
    model_of,
    not_followed,
)
from parcast_spmd.models.phase_answer import Answer
from parcast_spmd.notes import OPEN_LEVEL, notes, sampled_levels
from parcast_spmd.options import AioOptions, BoundsOptions, MixedOptions, SimOptions, SioOptions
from parcast_spmd.simulation import solver as referee

_WORDS = {
    "sio": "synchronous I/O",
    "bus": "asynchronous I/O and storage.layout 'bus'",
    "clu": "asynchronous I/O and storage.layout 'cluster'",
}
#: Methods that leave nothing to bound
_CERTAIN = frozenset({"constant", "delay"})


def choose(query: Query) -> str:
    """Return the name of the solver that fits all phases of a ``phases`` workload."""
    models = {model_of(phase, query) for phase in query.workload.content.phase}
    return f"spmd.{models.pop()}" if len(models) == 1 else "spmd.mixed"


@attrs.frozen
class PhaseSolver:
    """Takes workloads for all of whose phases there is a model."""

    models: Mapping[str, Callable[[Sequence[Demands]], list[Answer]]]
    options: Callable[[], Any]  #: where a query has none
    cost: Callable[[Query], float] = advice.of_formulas
    assumptions: Callable[[Query], Iterable[Assumption]] = advice.of_mixed

    def supports(self, query: Query) -> str | None:
        """Return None, or the first thing that the models cannot express."""
        try:
            check_machine(query)
            for phase in self._variants(query)[0]:
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
        asked = [self._variants(query) for query in queries]
        answers = iter(self._solve([one for a in asked for variant in a for one in variant]))
        return [
            _prediction(query, one, [[next(answers) for _ in variant] for variant in one])
            for query, one in zip(queries, asked, strict=True)
        ]

    def _variants(self, query: Query) -> tuple[tuple[Demands, ...], ...]:
        """Return the demands of all phases at each contention level to answer at."""
        # Asked whether it can be answered, then for the answer
        return query.once(self.options, self._demanded)

    def _demanded(self, query: Query) -> tuple[tuple[Demands, ...], ...]:
        options = query.options or self.options()
        return tuple(demands(query, level, options) for level in _levels(query))

    def _solve(self, phases: Sequence[Demands]) -> list[Answer]:
        """Return each phase's answer, in order."""
        answers: dict[int, Answer] = {}
        for model, solve in self.models.items():
            chosen = [index for index, phase in enumerate(phases) if phase.model == model]
            if chosen:
                answers |= zip(chosen, solve([phases[index] for index in chosen]), strict=True)
        return [answers[index] for index in range(len(phases))]


sio = partial(PhaseSolver, {"sio": synchronous.solve}, SioOptions, assumptions=advice.of_sio)
bus = partial(PhaseSolver, {"bus": aio.solve_bus}, AioOptions, assumptions=advice.of_aio)
clu = partial(PhaseSolver, {"clu": aio.solve_clu}, AioOptions, assumptions=advice.of_aio)
mixed = partial(
    PhaseSolver,
    {"sio": synchronous.solve, "bus": aio.solve_bus, "clu": aio.solve_clu},
    MixedOptions,
)
bounds = partial(
    PhaseSolver,
    dict.fromkeys(_WORDS, limits.solve),
    BoundsOptions,
    assumptions=advice.of_bounds,
)
sim = partial(
    PhaseSolver,
    dict.fromkeys(_WORDS, referee.solve),
    SimOptions,
    cost=advice.of_playing,
    assumptions=advice.of_sim,
)


def _levels(query: Query) -> tuple[float, ...]:
    """Return the level to answer at; where it is open, the middle and both ends."""
    level = contention_level(query)
    return (0.5, 0.0, 1.0) if level is None else (level,)


def _prediction(
    query: Query, variants: Sequence[Sequence[Demands]], answers: Sequence[Sequence[Answer]]
) -> Prediction:
    phases, found = variants[0], answers[0]
    time = _total(found)
    if not math.isfinite(time):
        raise SolveError("the times overflow; check the units of workload and machine")
    lower, upper = _bounds(found)
    said = (*notes(phases, found), *not_followed(query))
    if len(variants) > 1 and any(phase.shared for phase in phases):
        free, bus = answers[1], answers[2]
        if any(one.sampled for one in (*found, *free, *bus)):
            said = (*said, sampled_levels(_total(free), _total(bus)))
        else:
            lower, upper = _least(free), _most(bus)
            said = (*said, OPEN_LEVEL)
    return Prediction(
        time=time,
        parts=reduce(add, [one.parts for one in found]),
        lower=lower,
        upper=upper,
        binding=max(found, key=lambda one: one.time).binding if time else None,
        notes=said,
        details={"phases": [_details(*pair) for pair in zip(phases, found, strict=True)]},
        **_spread(time, found),
    )


def _total(found: Sequence[Answer]) -> float:
    return sum(one.time for one in found)


def _bounds(found: Sequence[Answer]) -> tuple[float | None, float | None]:
    """Return what is proven of the whole, if there is more to say than the time."""
    lower, upper = set(), set()
    for one in found:
        if one.method not in _CERTAIN:
            lower.add(one.lower is not None)
            upper.add(one.upper is not None)
    return _least(found) if lower == {True} else None, _most(found) if upper == {True} else None


def _least(found: Sequence[Answer]) -> float:
    return sum(one.time if one.lower is None else one.lower for one in found)


def _most(found: Sequence[Answer]) -> float:
    return sum(one.time if one.upper is None else one.upper for one in found)


def _spread(time: float, found: Sequence[Answer]) -> dict[str, Any]:
    """Return deviation, interval and status where phases were sampled, one apart from the other."""
    sampled = [one.sampled for one in found if one.sampled is not None]
    if not sampled:
        return {}
    half = math.hypot(*(one.half for one in sampled))
    deviations = [one.std for one in sampled if one.std is not None]
    known = len(deviations) == len(found)
    spread: dict[str, Any] = {
        "ci": (time - half, time + half),
        "std": math.hypot(*deviations) if known else None,
    }
    if not all(one.converged for one in sampled):
        spread["status"] = Status.NOT_CONVERGED
        spread["message"] = (
            f"the 95 % interval is {half / time:.2%} of the time to either side and wider than "
            "asked, or the run too short to tell; allow more bursts or a larger tolerance"
        )
    return spread


def _details(phase: Demands, found: Answer) -> dict[str, object]:
    return {
        "model": phase.model,
        "method": found.method,
        "time": found.time,
        "binding": found.binding,
        "utilization": dict(found.utilization),
        "distribution": phase.distribution.law,
        "variance": phase.variance,
        "equal": phase.uneven is None,
        "cycles": phase.cycles,
        "bursts": phase.bursts,
        "groups": phase.groups,
        "members": phase.members,
        "disks": phase.disks,
        "compute": phase.compute,
        "delay": phase.delay,
        "network_service": phase.shared,
        "io_service": phase.io,
        **(found.sampled.details if found.sampled else {}),
    }
