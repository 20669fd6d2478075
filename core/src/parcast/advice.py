"""Advice: which solvers can answer a question, what each gives, assumes and costs here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.asking import Line, Placed, check_mapping, check_seed, check_settings
from parcast.query import Prediction, Status
from parcast.settings import Settings
from parcast.tasks import Outcome, Task, resolve, solve_all
from parcast.units import format_seconds

if TYPE_CHECKING:
    from parcast.registry import Registry

#: How many processes are asked about where nothing says.
USUAL_P = 16


@attrs.frozen
class Advice:
    """What one solver can do for a question."""

    solver: str
    default: bool  #: it is what its family answers with here
    lowering: tuple[str, ...]
    exact: bool  #: the workload reaches the solver as it is
    prediction: Prediction
    seconds: float | None  #: the answer took

    @property
    def can(self) -> bool:
        """Whether there is an answer."""
        return self.prediction.status is Status.OK

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
) -> list[Advice]:
    """Ask every solver about one point, and return what each can do there.

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

    Returns
    -------
    list of Advice
        First those that answer: with the fewest departures from the question, the quickest of
        these before. Solvers that run only when named are asked nothing.

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
    names = [entry.name for entry in registry.solvers.values() if not entry.on_request]
    tasks = {name: resolve(registry, name, query, chosen) for name in names}
    outcomes = dict(zip(tasks, solve_all(registry, list(tasks.values())), strict=True))
    families = {registry.solvers[name].family for name in names}
    picked = [resolve(registry, family, query, chosen) for family in families]
    defaults = {task.entry.name for task in picked if isinstance(task, Task)}
    found = [_advice(name, tasks[name], outcomes[name], defaults) for name in names]
    return sorted(found, key=_rank)


def _advice(name: str, task: Task | Prediction, outcome: Outcome, defaults: set[str]) -> Advice:
    steps, exact = (task.steps, task.exact) if isinstance(task, Task) else ((), True)
    return Advice(name, name in defaults, steps, exact, outcome.prediction, outcome.seconds)


def _rank(one: Advice) -> tuple[bool, bool, int, float, str]:
    return (not one.can, not one.exact, len(one.departures), one.seconds or 0.0, one.solver)


def disagreement(found: Sequence[Advice]) -> list[str]:
    """Return sentences about how far answers are apart, and what may be why."""
    timed = [one for one in found if one.can and one.prediction.time]
    if len(timed) < 2:
        return []
    low, high = (way(timed, key=lambda one: one.prediction.time or 0.0) for way in (min, max))
    ends = [one.prediction.time or 0.0 for one in (low, high)]
    if ends[1] <= 1.01 * ends[0]:
        return ["All answers are within 1 % of each other."]
    apart = f"a factor of {ends[1] / ends[0]:.3g}"
    by = [
        f"{format_seconds(end)} by {one.solver}" for end, one in zip(ends, (low, high), strict=True)
    ]
    said = [f"Answers are from {' to '.join(by)}, {apart}."]
    for one, other in ((low, high), (high, low)):
        own = [text for text in one.departures if text not in other.departures]
        said += [f"{one.solver} alone: {text}" for text in own]
    return said
