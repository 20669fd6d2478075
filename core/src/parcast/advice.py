"""Advice: which solvers can answer a question, what each gives, assumes and costs here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.asking import Line, Placed, check_mapping, check_seed, check_settings
from parcast.query import Prediction, Status, is_lower_bound
from parcast.settings import Settings
from parcast.tasks import Outcome, Task, Tell, resolve, silent, solve_all
from parcast.units import format_seconds

if TYPE_CHECKING:
    from parcast.registry import Registry

#: How many processes are asked about where nothing says.
USUAL_P = 16

#: A solver that states a cost of no more seconds is asked, be it its family's default or not.
CHEAP = 1.0

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

    @property
    def can(self) -> bool:
        """Whether there is an answer, or would be."""
        return self.prediction.status is Status.OK

    @property
    def asked(self) -> bool:
        """Whether the solver was asked, or refused before."""
        return self.seconds is not None or not self.can

    @property
    def gives(self) -> tuple[str, ...]:
        """What the answer has beside the time."""
        found = self.prediction
        there = {
            "lower bound": found.lower is not None,
            "upper bound": found.upper is not None,
            "parts": found.parts is not None,
            "interval": found.ci is not None,
            "quantiles": bool(found.quantiles),
            "what binds": found.binding is not None,
        }
        return tuple(word for word, known in there.items() if known)

    @property
    def departures(self) -> tuple[str, ...]:
        """What the answer assumes of the question, or changes in it."""
        return (*self.prediction.assumptions, *self.prediction.notes)


def advise(
    registry: Registry,
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
        As `parcast.compare.compare` takes them.
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
        comparison asks, and those that state a cost of a second at the most.

    Raises
    ------
    ParcastError
        If a name, a file, a setting, p or d is wrong.
    """
    work, mach = registry.workload(workload), registry.machine(machine)
    check_mapping(mapping)
    check_settings(settings)
    check_seed(seed)
    chosen = Settings.sort(settings or {}, registry, [work])
    line = Line(workload=work, machine=mach, settings=chosen, mapping=mapping, seed=seed)
    (processes,) = line.processes((work.processes or USUAL_P) if p is None else p)
    (disks,) = line.disks(d, processes)
    query = line.query(registry, processes, disks)
    tasks = {}
    for name in registry.solvers:
        tell(f"{name}: is it able")
        tasks[name] = resolve(registry, name, query, chosen)
    usual = [entry for entry in registry.solvers.values() if not entry.on_request]
    picked = [resolve(registry, one, query, chosen) for one in {e.family for e in usual}]
    defaults = {task.entry.name for task in picked if isinstance(task, Task)}
    able = {name: task for name, task in tasks.items() if isinstance(task, Task)}
    costs = {name: _stated(registry, task, "cost", None) for name, task in able.items()}
    asked = [
        entry.name
        for entry in usual
        if entry.name in able
        and (every or _is_cheap(registry, able[entry.name], entry.name in defaults, costs))
    ]
    outcomes = dict(
        zip(asked, solve_all(registry, [able[name] for name in asked], tell), strict=True)
    )
    found = [
        _advice(name, task, outcomes.get(name) or _unasked(registry, task), defaults, costs)
        for name, task in tasks.items()
    ]
    return sorted(found, key=_rank)


def _is_cheap(
    registry: Registry, task: Task, default: bool, costs: Mapping[str, float | None]
) -> bool:
    """Return whether the solver is asked without being named: its cost says so, or `compare`."""
    stated = costs[task.entry.name]
    if stated is not None:
        return stated <= CHEAP
    return default and not any(registry.lowerings[step].on_request for step in task.steps)


def _stated(registry: Registry, task: Task, method: str, otherwise: Any) -> Any:
    """Return what an optional method of the solver says of its query."""
    state = getattr(registry.solver(task.entry.name), method, None)
    return state(task.query) if state else otherwise


def _unasked(registry: Registry, task: Task | Prediction) -> Outcome:
    """Return what is known of an answer that was not asked for."""
    if isinstance(task, Prediction):
        return Outcome(task)
    assumed = tuple(_stated(registry, task, "assumptions", ()))
    return Outcome(Prediction(notes=task.notes, assumptions=assumed))


def _advice(
    name: str,
    task: Task | Prediction,
    outcome: Outcome,
    defaults: set[str],
    costs: Mapping[str, float | None],
) -> Advice:
    steps, exact = (task.steps, task.exact) if isinstance(task, Task) else ((), True)
    own = name in defaults
    return Advice(name, own, steps, exact, outcome.prediction, outcome.seconds, costs.get(name))


def _rank(one: Advice) -> tuple[bool, bool, bool, int, float, str]:
    took = one.seconds or one.cost or 0.0
    return (not one.can, not one.asked, not one.exact, len(one.departures), took, one.solver)


def said_by(found: Sequence[Advice]) -> dict[str, list[str]]:
    """Return every assumption and note of those that can answer, with the solvers that say it."""
    said: dict[str, list[str]] = {}
    for one in found:
        for text in dict.fromkeys(one.departures if one.can else ()):
            said.setdefault(text, []).append(one.solver)
    return said


def disagreement(found: Sequence[Advice]) -> list[str]:
    """Return sentences about how far answers are apart, and what may be why.

    Answers within 1 % are taken together; what only those of one time say may be why they
    differ from others. Lower bounds disagree with nobody.
    """
    timed = [one for one in found if one.can and one.prediction.time]
    bounds = [one.solver for one in timed if is_lower_bound(one.prediction)]
    groups = _agreeing([one for one in timed if one.solver not in bounds])
    said = []
    if len(groups) > 1:
        said = list(_why(groups))
    elif groups and len(groups[0]) > 1:
        said = ["All answers are within 1 % of each other."]
    if bounds and len(timed) > 1:
        said.append(f"No estimates but lower bounds are the times of {', '.join(bounds)}.")
    return said


def _agreeing(timed: Sequence[Advice]) -> list[list[Advice]]:
    """Return the answers in groups of one time, the shortest first."""
    groups: list[list[Advice]] = []
    for one in sorted(timed, key=_time):
        if groups and _time(one) <= (1 + AGREE) * _time(groups[-1][0]):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _why(groups: Sequence[Sequence[Advice]]) -> Iterator[str]:
    ends = [_time(group[0]) for group in (groups[0], groups[-1])]
    at = [
        f"{format_seconds(_time(group[0]))} by {', '.join(one.solver for one in group)}"
        for group in groups
    ]
    yield f"Answers differ by a factor of {ends[1] / ends[0]:.3g}: {'; '.join(at)}."
    for group in groups:
        others = [one for other in groups if other is not group for one in other]
        heard = {text for one in others for text in one.departures}
        for text, solvers in said_by(group).items():
            if text not in heard:
                yield f"Only {', '.join(solvers)}: {text}"


def _time(one: Advice) -> float:
    return one.prediction.time or 0.0
