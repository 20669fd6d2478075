"""How every solver of the family works: phase by phase, each by the model that takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs

from parcast import Assumption, Prediction, Query, UnsupportedError
from parcast_spmd.models.demands import (
    Demands,
    Model,
    check_machine,
    contention_level,
    demands,
    model_of,
    shares_links,
)
from parcast_spmd.models.phase_answer import Answer
from parcast_spmd.solvers.prediction import Range, predict

#: What each model takes, as a refusal says it.
WORDS: Mapping[Model, str] = {
    "sio": "synchronous I/O",
    "bus": "asynchronous I/O and storage.layout 'bus'",
    "clu": "asynchronous I/O and storage.layout 'cluster'",
}

#: Seconds for a phase that has a formula: on one core, by ``core/benchmarks/costs.py``.
_FORMULA_SECONDS = 3e-5


def formula_cost(query: Query) -> float:
    """Return the seconds that formulas take: they solve phase by phase."""
    return _FORMULA_SECONDS * len(query.workload.content.phase)


def choose(query: Query) -> str:
    """Return the name of the solver that fits all phases of a ``phases`` workload."""
    models = {model_of(phase, query) for phase in query.workload.content.phase}
    return f"spmd.{models.pop()}" if len(models) == 1 else "spmd.mixed"


@attrs.frozen
class PhaseModel:
    """How phases of one model are solved."""

    assumptions: Callable[[Query], Iterable[Assumption]]
    solve: Callable[[Sequence[Demands]], list[Answer]]
    notes: Callable[[Demands, Answer], Iterable[str]]  #: what an answer assumes, in sentences


@attrs.frozen
class PhaseSolver:
    """Takes workloads for all of whose phases there is a model."""

    models: Mapping[Model, PhaseModel]
    options: Callable[[], Any]  #: where a query has none
    cost: Callable[[Query], float] = formula_cost
    #: From where to where a code is that the models take as random
    range_of: Callable[[Sequence[Demands], Sequence[Answer]], Range | None] | None = None
    #: What of its options the solver of one model alone has; None: they are of such a solver
    options_of: Callable[[Any, Model], Any] | None = None

    def supports(self, query: Query) -> str | None:
        """Return None, or the first thing that the models cannot express."""
        try:
            check_machine(query)
            for phase in self._variants(query)[0]:
                if phase.model not in self.models:
                    wanted = " or ".join(WORDS[model] for model in self.models)
                    return f"takes phases with {wanted}; this one has {WORDS[phase.model]}"
        except UnsupportedError as error:
            return str(error)
        return None

    def assumptions(self, query: Query) -> tuple[Assumption, ...]:
        """Return what the models that the phases need take for granted, each once."""
        names = {model_of(phase, query) for phase in query.workload.content.at(query)}
        needed = [
            model.assumptions(self._asked_alone(query, name))
            for name, model in self.models.items()
            if name in names
        ]
        return tuple(dict.fromkeys(chain.from_iterable(needed)))

    def _asked_alone(self, query: Query, model: Model) -> Query:
        """Return the query as the solver of one model alone is asked it."""
        if self.options_of is None or query.options is None:
            return query
        return query.with_options(self.options_of(query.options, model))

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        return self.solve_many([query])[0]

    def solve_many(self, queries: Sequence[Query]) -> list[Prediction]:
        """Return all predictions, every model solving all its phases at once."""
        variants = [self._variants(query) for query in queries]
        answers = iter(self._solve([phase for v in variants for phases in v for phase in phases]))
        return [
            self._predict(query, levels, [[next(answers) for _ in phases] for phases in levels])
            for query, levels in zip(queries, variants, strict=True)
        ]

    def _predict(
        self, query: Query, variants: Sequence[Sequence[Demands]], answers: Sequence[list[Answer]]
    ) -> Prediction:
        between = self.range_of(variants[0], answers[0]) if self.range_of else None
        notes = dict.fromkeys(self._notes(variants[0], answers[0]))
        return predict(query, variants, answers, tuple(notes), between)

    def _notes(self, phases: Sequence[Demands], answers: Sequence[Answer]) -> Iterator[str]:
        for phase, answer in zip(phases, answers, strict=True):
            yield from self.models[phase.model].notes(phase, answer)

    def _variants(self, query: Query) -> tuple[tuple[Demands, ...], ...]:
        """Return the demands of all phases at each contention level to answer at."""
        # Asked whether it can be answered, then for the answer
        return query.once(self.options, self._demands)

    def _demands(self, query: Query) -> tuple[tuple[Demands, ...], ...]:
        options = query.options or self.options()
        variants = tuple(demands(query, level, options) for level in _levels(query))
        own = self.options_of
        if own is None:
            return variants
        return tuple(
            tuple(attrs.evolve(phase, options=own(options, phase.model)) for phase in phases)
            for phases in variants
        )

    def _solve(self, phases: Sequence[Demands]) -> list[Answer]:
        """Return each phase's answer, in order."""
        answers: dict[int, Answer] = {}
        for name, model in self.models.items():
            chosen = [index for index, phase in enumerate(phases) if phase.model == name]
            if chosen:
                answers |= zip(chosen, model.solve([phases[i] for i in chosen]), strict=True)
        return [answers[index] for index in range(len(phases))]


def _levels(query: Query) -> tuple[float | None, ...]:
    """Return the level to answer at: None is that of the links; open: the middle and both ends."""
    level = contention_level(query)
    if level is not None or shares_links(query):
        return (level,)
    return (0.5, 0.0, 1.0)


def network_assumption(query: Query) -> Iterator[Assumption]:
    """Yield what all models take for granted of the network, where there are messages."""
    levels = _levels(query)
    if any(phase.messages or phase.bytes for phase in query.workload.content.at(query)):
        yield Assumption(
            "all processes send through one network, whose contention is one number w",
            "the machine states no w" if None not in levels and len(levels) > 1 else "",
        )


def bursts_vary(query: Query) -> bool:
    """Whether the bursts of a phase are random."""
    return any(phase.distribution.variance for phase in query.workload.content.at(query))


#: A note on asynchronous phases whose end is not counted.
STEADY = (
    "asynchronous phases are in steady state: waiting for the last process at the end is not "
    "counted, so few cycles take longer"
)
