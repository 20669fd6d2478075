"""Advice: which solvers can answer a question, what each gives, assumes and costs here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.analysis.point import point
from parcast.comparison.grid import Placed
from parcast.comparison.lowering import default_of
from parcast.comparison.solving import resolve, solve_all
from parcast.comparison.tasks import Task, Tell, silent
from parcast.model.query import Assumption, Prediction, Query, Status, is_lower_bound
from parcast.plugins.entries import load
from parcast.quantities.units import format_seconds

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: A solver that states a cost of no more seconds is asked, be it its family's default or not.
CHEAP = 1.0

#: One that a comparison would ask is not, where it states a cost of more seconds.
DEAR = 10.0

#: Answers with times within this part of each other agree.
AGREE = 0.01


@attrs.frozen
class Advice:
    """What one solver can do for a question."""

    solver: str
    default: bool  #: it is what its family answers with here
    lowering: tuple[str, ...]
    exact: bool  #: the workload reaches the solver as it is
    prediction: Prediction  #: without a time where the solver was not asked
    seconds: float | None  #: the answer took
    cost: float | None = None  #: seconds that an answer takes, as the solver states it
    assumed: tuple[Assumption, ...] = ()  #: by the method, as the solver states it

    @property
    def has_answer(self) -> bool:
        """Whether there is an answer, or would be."""
        return self.prediction.status is Status.OK

    @property
    def was_asked(self) -> bool:
        """Whether the solver was asked, or refused before."""
        return self.seconds is not None or not self.has_answer

    @property
    def gives(self) -> tuple[str, ...]:
        """What the answer has beside the time."""
        prediction = self.prediction
        offers = {
            "lower bound": prediction.lower is not None,
            "upper bound": prediction.upper is not None,
            "parts": prediction.parts is not None,
            "interval": prediction.ci is not None,
            "quantiles": bool(prediction.quantiles),
            "bottleneck": prediction.binding is not None,
        }
        return tuple(word for word, offered in offers.items() if offered)

    @property
    def departures(self) -> tuple[str, ...]:
        """Where the method's assumptions do not hold, and what the answer says of itself."""
        broken = (
            f"assumes that {assumption}" for assumption in self.assumed if assumption.violated
        )
        return (*broken, *self.prediction.assumptions, *self.prediction.notes)

    @property
    def satisfied(self) -> tuple[str, ...]:
        """What the method assumes, and nothing here contradicts."""
        return tuple(assumption.text for assumption in self.assumed if not assumption.violated)


def advise(
    registry: Catalog,
    workload: Any,
    machine: Any,
    *,
    p: int | None = None,
    d: int | None = None,
    mapping: Placed = "block",
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    every: bool = False,
    tell: Tell = silent,
) -> list[Advice]:
    """Find what each solver can do at one point, and ask each family's default there.

    Parameters
    ----------
    registry
        Where names are looked up.
    workload, machine
        A name, path, mapping or value.
    p, d
        The point: a recorded workload's own p, or else 16, and the machine's own d, where not
        given.
    mapping, settings, seed
        As `parcast.comparison.compare.compare` takes them.
    every
        Ask every solver that does not run on request only, also where a workload must be
        written out for it.
    tell
        Hears what is being done, in words for people.

    Returns
    -------
    list of Advice
        First those that answered: with the fewest departures from the question, the quickest of
        these before; then those that could; then those that cannot. Asked are those that a
        comparison asks, unless they state a cost of ten seconds or more, and those that state one
        of a second at the most.

    Raises
    ------
    ParcastError
        If a name, a file, a setting, p or d is wrong.
    """
    scenario, query = point(
        registry, workload, machine, p, d, mapping=mapping, settings=settings, seed=seed
    )
    tasks = {}
    for name in registry.solvers:
        tell(f"{name}: checking")
        tasks[name] = resolve(registry, name, query, scenario.settings)
    able = {name: task for name, task in tasks.items() if isinstance(task, Task)}
    defaults = _defaults(registry, able, query)
    candidates = {name: _before(registry, name, task, defaults) for name, task in tasks.items()}
    asked_names = [
        name
        for name, task in able.items()
        if not task.entry.on_request and (every or _is_asked(registry, task, candidates[name]))
    ]
    outcomes = solve_all(registry, [able[name] for name in asked_names], tell)
    for name, outcome in zip(asked_names, outcomes, strict=True):
        candidates[name] = attrs.evolve(
            candidates[name], prediction=outcome.prediction, seconds=outcome.seconds
        )
    return sorted(candidates.values(), key=_rank)


def _defaults(registry: Catalog, able: Mapping[str, Task], query: Query) -> set[str]:
    """Return the solver that each family answers with here; it is lowered as its solvers were."""
    defaults = set()
    for family in {task.entry.family for task in able.values() if not task.entry.on_request}:
        members = [task for task in able.values() if task.entry.family == family]
        if family not in registry.families:
            defaults.add(default_of(registry, family, query.workload.kind).name)
            continue
        entry = registry.families[family]
        of_kind = [task.query for task in members if entry.kind == task.entry.kind]
        defaults.add(load(entry.target)(of_kind[0] if of_kind else query))
    return defaults


def _is_asked(registry: Catalog, task: Task, candidate: Advice) -> bool:
    """Return whether the solver is asked without being named: its cost says so, or `compare`."""
    if candidate.cost is not None and (candidate.cost <= CHEAP or candidate.cost > DEAR):
        return candidate.cost <= CHEAP
    return candidate.default and not any(registry.lowerings[step].on_request for step in task.steps)


def _before(
    registry: Catalog, name: str, task: Task | Prediction, defaults: Collection[str]
) -> Advice:
    """Return what is known of an answer before anybody is asked for it."""
    if isinstance(task, Prediction):
        return Advice(name, name in defaults, (), True, task, None)
    solver = registry.solver(name)
    cost = solver.cost(task.query) if hasattr(solver, "cost") else None
    assumed = solver.assumptions(task.query) if hasattr(solver, "assumptions") else ()
    prediction = Prediction(notes=task.notes)
    is_default = name in defaults
    return Advice(name, is_default, task.steps, task.exact, prediction, None, cost, tuple(assumed))


def _rank(candidate: Advice) -> tuple[bool, bool, bool, int, float, str]:
    took = candidate.seconds or candidate.cost or 0.0
    return (
        not candidate.has_answer,
        not candidate.was_asked,
        not candidate.exact,
        len(candidate.departures),
        took,
        candidate.solver,
    )


def solvers_by_text(
    candidates: Sequence[Advice], attribute: str = "departures"
) -> dict[str, list[str]]:
    """Return each departure (or ``satisfied`` assumption) with the solvers that state it."""
    solvers: dict[str, list[str]] = {}
    for candidate in candidates:
        for text in dict.fromkeys(getattr(candidate, attribute) if candidate.has_answer else ()):
            solvers.setdefault(text, []).append(candidate.solver)
    return solvers


def disagreement(candidates: Sequence[Advice]) -> list[str]:
    """Return sentences about how far answers are apart, and what may be why.

    Answers within 1 % are taken together; what only those of one time say may be why they
    differ from others. Lower bounds disagree with nobody.
    """
    timed = [
        candidate for candidate in candidates if candidate.has_answer and candidate.prediction.time
    ]
    bounds = [candidate.solver for candidate in timed if is_lower_bound(candidate.prediction)]
    groups = _agreeing([candidate for candidate in timed if candidate.solver not in bounds])
    sentences = []
    if len(groups) > 1:
        sentences = list(_why(groups))
    elif groups and len(groups[0]) > 1:
        sentences = ["All answers are within 1 % of each other."]
    if bounds and len(timed) > 1:
        sentences.append(f"Lower bounds, not estimates, are the times of {', '.join(bounds)}.")
    return sentences


def _agreeing(timed: Sequence[Advice]) -> list[list[Advice]]:
    """Return the answers in groups of one time, the shortest first."""
    groups: list[list[Advice]] = []
    for candidate in sorted(timed, key=_time):
        if groups and _time(candidate) <= (1 + AGREE) * _time(groups[-1][0]):
            groups[-1].append(candidate)
        else:
            groups.append([candidate])
    return groups


def _why(groups: Sequence[Sequence[Advice]]) -> Iterator[str]:
    ends = [_time(group[0]) for group in (groups[0], groups[-1])]
    at = [
        f"{format_seconds(_time(group[0]))} by {', '.join(candidate.solver for candidate in group)}"
        for group in groups
    ]
    yield f"Answers differ by a factor of {ends[1] / ends[0]:.3g}: {'; '.join(at)}."
    for group in groups:
        others = [candidate for another in groups if another is not group for candidate in another]
        heard = {text for candidate in others for text in candidate.departures}
        for text, solvers in solvers_by_text(group).items():
            if text not in heard:
                yield f"Only {', '.join(solvers)}: {text}"


def _time(candidate: Advice) -> float:
    return candidate.prediction.time or 0.0
